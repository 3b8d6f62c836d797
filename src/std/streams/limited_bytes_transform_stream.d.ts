/** The signatures of `@std/streams/limited-bytes-transform-stream` (1.0) that are used. */

/** Passes on whole chunks up to `size` bytes. A longer stream then ends or, with `error`, fails with a `RangeError`. */
export class LimitedBytesTransformStream extends TransformStream<Uint8Array, Uint8Array> {
  constructor(size: number, options?: { error?: boolean });
}
