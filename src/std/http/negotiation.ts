/** `@std/http/negotiation`. */
// @ts-types="./negotiation.d.ts"
export { accepts, acceptsEncodings } from "deno-std/http/negotiation.js";
