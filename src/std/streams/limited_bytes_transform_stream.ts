/** `@std/streams/limited-bytes-transform-stream`. */
// @ts-types="./limited_bytes_transform_stream.d.ts"
export { LimitedBytesTransformStream } from "deno-std/streams/limited_bytes_transform_stream.js";
