import { Slice, yieldToEventLoop } from "./sliced_work.ts";

/**
 * Reads a stream of bytes through a single buffer. Without one, Deno allocates 64 kB for every read, whether it is a token of a
 * stream or an upload. The result of a read is valid until the next one. Streams of other kinds are read as usual. A stream that
 * delivers as fast as it is read, such as a gigabyte of compressed zeros, still lets others run.
 */
export class ByteReader {
  readonly #reader: ReadableStreamBYOBReader | ReadableStreamDefaultReader<Uint8Array>;
  #buffer: ArrayBuffer;
  readonly #mostBytes: number;
  readonly #slice = new Slice();
  /** When the latest read began, if its time is taken: that of each long piece, and of one short one in many. */
  #asked: number | undefined;
  #isTimed = true;

  /** When a read fills the buffer, the next one is twice its size, up to `mostBytes`. */
  constructor(body: ReadableStream<Uint8Array>, bufferBytes: number, mostBytes = bufferBytes) {
    this.#reader = openReader(body);
    this.#buffer = new ArrayBuffer(bufferBytes);
    this.#mostBytes = mostBytes;
  }

  /** The next bytes. `undefined` at the end. */
  read(): Promise<Uint8Array | undefined> {
    this.#asked = this.#isTimed ? performance.now() : undefined;
    const reader = this.#reader;
    if (reader instanceof ReadableStreamDefaultReader) return reader.read().then(this.#take);
    return reader.read(new Uint8Array(this.#buffer)).then(this.#takeBuffer);
  }

  readonly #take = ({ value }: ReadableStreamReadResult<Uint8Array>): Uint8Array | Promise<Uint8Array> | undefined => {
    if (!value) return undefined;
    const asked = this.#asked;
    this.#isTimed = this.#slice.isDue(value.length);
    return asked !== undefined && this.#slice.isOverAfterWait(asked) ? yieldToEventLoop().then(() => value) : value;
  };

  readonly #takeBuffer = (result: ReadableStreamReadResult<Uint8Array<ArrayBuffer>>) => {
    const { done, value } = result;
    if (done || !value) {
      // At the end the buffer comes back as well, and on Node it is the only one that can be read into once more.
      this.#buffer = value?.buffer ?? new ArrayBuffer(1);
      return undefined;
    }
    const { byteLength } = value.buffer;
    const isFull = value.length === byteLength && byteLength < this.#mostBytes;
    this.#buffer = isFull ? new ArrayBuffer(2 * byteLength) : value.buffer;
    return this.#take(result);
  };

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

/** The allocator returns a block above 32 MiB to the system as soon as it is freed, and keeps smaller ones. */
const LARGE_BYTES = 8 * 2 ** 20;
const RETURNED_BYTES = 2 ** 25 + 1;

/**
 * Collects pieces of bytes. Each piece is copied immediately, because a retained piece keeps the whole buffer alive into which
 * it was read. That buffer may be thousands of times larger than a small piece.
 */
export class ByteBuffer {
  #bytes: Uint8Array<ArrayBuffer>;
  #length = 0;
  readonly #mostBytes: number;

  /** Allocates `expectedBytes` immediately and grows as needed. The caller never appends more than `mostBytes`. */
  constructor(expectedBytes = 0, mostBytes = Infinity) {
    this.#mostBytes = mostBytes;
    const capacity = expectedBytes < LARGE_BYTES ? expectedBytes : Math.max(expectedBytes, RETURNED_BYTES);
    this.#bytes = new Uint8Array(capacity);
  }

  get length(): number {
    return this.#length;
  }

  append(piece: Uint8Array): void {
    const end = this.#length + piece.length;
    if (end > this.#bytes.length) {
      this.#bytes = new Uint8Array(
        this.#bytes.buffer.transfer(Math.max(end, Math.min(2 * this.#bytes.length, this.#mostBytes))),
      );
    }
    this.#bytes.set(piece, this.#length);
    this.#length = end;
  }

  /** Everything appended so far. The buffer is empty afterwards. */
  take(): Uint8Array<ArrayBuffer> {
    const bytes = this.#bytes.subarray(0, this.#length);
    this.#bytes = new Uint8Array();
    this.#length = 0;
    return bytes;
  }
}
