/** Reads and writes streams of `node:` modules with back-pressure. */
import type { Readable, Writable } from "node:stream";
import { ByteBuffer } from "../util/byte_reader.ts";
import type { ByteSource } from "./transport.ts";

/** Resolves once more can be written, or the stream is closed. */
export function drained(stream: Writable): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const over = () => {
    stream.off("drain", over).off("close", over);
    resolve();
  };
  stream.on("drain", over).on("close", over);
  if (stream.destroyed) over();
  return promise;
}

/** A source that can be paused. */
export interface Valve {
  pause(): unknown;
  resume(): unknown;
}

/** How much may wait for the reader, in bytes. Above it, the sender has to wait. */
const MOST_WAITING = 32 * 1024;

/**
 * The bytes of a stream that pushes data. All data since the last read is one piece: a server may send hundreds of chunks at once,
 * and each would otherwise be a buffer, a wait and a write of its own.
 */
export class PushedBytes implements ByteSource {
  readonly #signal: AbortSignal;
  readonly #end: () => void;
  #valve: Valve | undefined;
  /** The first piece since the last read, as long as it is the only one. */
  #first: Uint8Array | undefined;
  readonly #more = new ByteBuffer();
  #isPaused = false;
  #isOver = false;
  #failure: { reason: unknown } | undefined;
  #wake: (() => void) | undefined;

  /** `end` ends the exchange that the bytes belong to. */
  constructor(signal: AbortSignal, end: () => void) {
    this.#signal = signal;
    this.#end = end;
  }

  /** Takes the stream's data from now on. Pauses it by the valve. */
  attach(stream: Readable, valve: Valve): void {
    this.#valve = valve;
    stream.on("data", (bytes: Uint8Array) => this.#push(bytes));
    stream.once("end", () => this.finish());
  }

  /** Marks the regular end. */
  finish(): void {
    this.#isOver = true;
    this.#wake?.();
  }

  /** Marks a premature end. Data that has arrived is still read. */
  fail(reason: unknown): void {
    if (this.#isOver) return;
    this.#failure = { reason };
    this.finish();
  }

  read(): Promise<Uint8Array | undefined> {
    if (this.#first || this.#isOver || this.#signal.aborted) return Promise.try(this.#next);
    // All data that comes before the reader's turn is one piece.
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    return promise.then(this.#next);
  }

  readonly #next = (): Uint8Array | undefined => {
    this.#signal.throwIfAborted();
    const bytes = this.#take();
    if (bytes) return bytes;
    if (this.#failure) throw this.#failure.reason;
    return undefined;
  };

  cancel(): Promise<void> {
    if (!this.#isOver) this.#end();
    this.finish();
    return Promise.resolve();
  }

  #push(bytes: Uint8Array): void {
    if (!this.#first) this.#first = bytes;
    else {
      if (this.#more.length === 0) this.#more.append(this.#first);
      this.#more.append(bytes);
    }
    if (Math.max(this.#first.length, this.#more.length) >= MOST_WAITING && !this.#isPaused) {
      this.#isPaused = true;
      this.#valve?.pause();
    }
    this.#wake?.();
  }

  #take(): Uint8Array | undefined {
    const bytes = this.#more.length > 0 ? this.#more.take() : this.#first;
    this.#first = undefined;
    if (bytes && this.#isPaused) {
      this.#isPaused = false;
      this.#valve?.resume();
    }
    return bytes;
  }
}
