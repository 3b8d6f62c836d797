/** The signatures of `@std/streams/to-text` (1.0) that are used. */

/** It has no limit: put one before it. */
export function toText(stream: ReadableStream<Uint8Array>): Promise<string>;
