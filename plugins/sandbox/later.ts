export { complete } from "./complete.ts";
export { draw } from "./draw.ts";
export { rerank } from "./rerank.ts";
export { speak } from "./speak.ts";
export { transcribe } from "./transcribe.ts";
