/**
 * Reads a stream of bytes through one buffer of our own: Deno sets 64 kB aside for every read without one, a token of a
 * stream as much as an upload. What a read gives is good until the next one. Streams that are not of bytes are read as usual.
 */
export class ByteReader {
  readonly #reader: ReadableStreamBYOBReader | ReadableStreamDefaultReader<Uint8Array>;
  #buffer: ArrayBuffer;

  constructor(body: ReadableStream<Uint8Array>, bufferBytes: number) {
    this.#reader = openReader(body);
    this.#buffer = new ArrayBuffer(bufferBytes);
  }

  /** The next bytes; `undefined` at the end. */
  async read(): Promise<Uint8Array | undefined> {
    if (this.#reader instanceof ReadableStreamDefaultReader) return (await this.#reader.read()).value;
    const { done, value } = await this.#reader.read(new Uint8Array(this.#buffer));
    if (done || !value) return undefined;
    this.#buffer = value.buffer;
    return value;
  }

  cancel(): Promise<void> {
    return this.#reader.cancel();
  }
}

function openReader(body: ReadableStream<Uint8Array>) {
  try {
    return body.getReader({ mode: "byob" });
  } catch (error) {
    if (error instanceof TypeError && !body.locked) return body.getReader();
    throw error;
  }
}
