/** `@std/streams/to-text`. */
// @ts-types="./to_text.d.ts"
export { toText } from "deno-std/streams/to_text.js";
