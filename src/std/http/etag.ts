/** `@std/http/etag`. */
// @ts-types="./etag.d.ts"
export { eTag, ifNoneMatch } from "deno-std/http/etag.js";
