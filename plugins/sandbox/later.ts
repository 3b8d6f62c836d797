export { complete } from "./complete.ts";
export { rerank } from "./rerank.ts";
