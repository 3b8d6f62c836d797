/** The signatures of `@std/streams/limited-bytes-transform-stream` (1.0) that are used. */

/** Passes on whole chunks up to `size` bytes. With `error`, the stream then fails with a `RangeError`; else it ends there. */
export class LimitedBytesTransformStream extends TransformStream<Uint8Array, Uint8Array> {
  constructor(size: number, options?: { error?: boolean });
}
