export { complete } from "./complete.ts";
export { decide } from "./decide.ts";
export { draw } from "./draw.ts";
export { rerank } from "./rerank.ts";
export { speak } from "./speak.ts";
export { transcribe } from "./transcribe.ts";
