/** A body that arrives in these pieces, and then ends, or breaks with `failure`. */
export function bodyOf(chunks: Iterable<Uint8Array<ArrayBuffer>>, failure?: unknown): ReadableStream<Uint8Array> {
  const iterator = chunks[Symbol.iterator]();
  return new ReadableStream<Uint8Array>({
    pull(controller) {
      const { value, done } = iterator.next();
      if (!done) controller.enqueue(value);
      else if (failure === undefined) controller.close();
      else controller.error(failure);
    },
  });
}

/** The bytes in pieces of `size`. */
export function* piecesOf(bytes: Uint8Array<ArrayBuffer>, size: number): Generator<Uint8Array<ArrayBuffer>> {
  for (let start = 0; start < bytes.length; start += size) yield bytes.subarray(start, start + size);
}

export async function* fromArray<T>(items: Iterable<T>, failure?: unknown): AsyncGenerator<T> {
  for (const item of items) yield item;
  if (failure !== undefined) throw failure;
}

export async function toArray<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

/** One character for each byte. */
export function latin1(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
}

/** Where the frames of a stream begin and end: at 0, after each blank line, and at the end. */
export function boundariesOf(bytes: Uint8Array): number[] {
  const ends = [...latin1(bytes).matchAll(/\r\n\r\n|\n\n|\r\r/g)].map(({ index, 0: { length } }) => index + length);
  return [...new Set([0, ...ends, bytes.length])];
}
