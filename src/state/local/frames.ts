/** Messages between two processes of one machine: JSON, and bytes that are passed on as they are. */
import type { LocalSocket } from "../../platform/local_socket.ts";
import { failAfter } from "../../util/timeout.ts";

/** A part that is absent is `undefined` on the other side, too. */
export type Parts = readonly (Uint8Array | undefined)[];

export interface Frame {
  head: unknown;
  parts: Parts;
  /** The length of the whole frame. */
  bytes: number;
}

/** The prefix holds the length of the frame after it, and the length of the frame's JSON. */
const PREFIX_BYTES = 8;
const BUFFER_BYTES = 65_536;
/** Pieces up to this length are joined, so that they need one write. */
const SHORT_BYTES = 16_384;
/** How long a write may make no progress, in milliseconds. Otherwise frames for a hanging process would pile up. */
const STALL_MS = 10_000;

export class FrameConnection {
  readonly #socket: LocalSocket;
  readonly #stallMs: number;
  #buffer = new Uint8Array(BUFFER_BYTES);
  /** The part of the buffer that was received and not used yet. */
  #from = 0;
  #to = 0;
  #unsent: Uint8Array[] = [];
  #writing: Promise<void> | undefined;

  constructor(socket: LocalSocket, stallMs = STALL_MS) {
    this.#socket = socket;
    this.#stallMs = stallMs;
  }

  /** Resolves once the frame is written. Frames of one turn of the event loop are written together. A failure ends the connection. */
  send(head: unknown, parts: Parts = []): Promise<void> {
    this.#unsent.push(...frameOf(head, parts));
    return this.#writing ??= Promise.resolve().then(() => this.#writeAll());
  }

  /** The next frame. Absent if the other side has ended the connection. */
  async read(): Promise<Frame | undefined> {
    if (!await this.#fill(PREFIX_BYTES)) return undefined;
    const view = new DataView(this.#buffer.buffer, this.#from);
    const [bytes, headBytes] = [view.getUint32(0), view.getUint32(4)];
    if (!await this.#fill(PREFIX_BYTES + bytes)) return undefined;
    const start = this.#from + PREFIX_BYTES;
    const buffer = this.#buffer;
    this.#from = start + bytes;
    const isLong = buffer.length > BUFFER_BYTES;
    // A long frame has its buffer to itself.
    if (isLong) [this.#buffer, this.#from, this.#to] = [new Uint8Array(BUFFER_BYTES), 0, 0];
    const [head, lengths] = JSON.parse(DECODER.decode(buffer.subarray(start, start + headBytes)));
    let at = start + headBytes;
    const parts = (lengths as (number | null)[]).map((length) => {
      if (length === null) return undefined;
      at += length;
      // A short part is copied, so that keeping it does not keep all of a long frame in memory.
      return isLong && length > BUFFER_BYTES ? buffer.subarray(at - length, at) : buffer.slice(at - length, at);
    });
    return { head, parts, bytes };
  }

  close(): void {
    this.#socket.close();
  }

  async #writeAll(): Promise<void> {
    try {
      while (this.#unsent.length > 0) {
        for (const bytes of gathered(this.#unsent.splice(0))) {
          for (let at = 0; at < bytes.length;) at += await this.#write(bytes.subarray(at));
        }
      }
    } catch (error) {
      // The frame may be half written, so nothing can follow it.
      this.close();
      this.#unsent = [];
      throw error;
    } finally {
      this.#writing = undefined;
    }
  }

  #write(bytes: Uint8Array): Promise<number> {
    const stalled = () => new Error(`The other process read nothing for ${this.#stallMs} ms`);
    return failAfter(this.#stallMs, this.#socket.write(bytes), stalled);
  }

  /** Waits for `bytes` bytes. Returns whether they came. */
  async #fill(bytes: number): Promise<boolean> {
    if (this.#to - this.#from >= bytes) return true;
    this.#makeRoom(bytes);
    while (this.#to - this.#from < bytes) {
      const count = await this.#socket.read(this.#buffer.subarray(this.#to));
      if (count === null) return false;
      this.#to += count;
    }
    return true;
  }

  /** A long frame gets a buffer of exactly its length. */
  #makeRoom(bytes: number): void {
    const rest = this.#buffer.subarray(this.#from, this.#to);
    if (bytes > this.#buffer.length) this.#buffer = new Uint8Array(bytes);
    this.#buffer.set(rest);
    [this.#from, this.#to] = [0, rest.length];
  }
}

function frameOf(head: unknown, parts: Parts): Uint8Array[] {
  const json = ENCODER.encode(JSON.stringify([head, parts.map((part) => part?.length ?? null)]));
  const present = parts.filter((part) => part !== undefined);
  const prefix = new Uint8Array(PREFIX_BYTES);
  const view = new DataView(prefix.buffer);
  view.setUint32(0, present.reduce((sum, { length }) => sum + length, json.length));
  view.setUint32(4, json.length);
  return [prefix, json, ...present];
}

/** Joins short pieces, so that fewer writes are needed. */
function gathered(pieces: readonly Uint8Array[]): Uint8Array[] {
  const gathered: Uint8Array[] = [];
  let short: Uint8Array[] = [];
  const join = () => {
    const bytes = new Uint8Array(short.reduce((sum, { length }) => sum + length, 0));
    short.reduce((at, piece) => (bytes.set(piece, at), at + piece.length), 0);
    if (bytes.length > 0) gathered.push(bytes);
    short = [];
  };
  for (const piece of pieces) {
    if (piece.length <= SHORT_BYTES) {
      short.push(piece);
      continue;
    }
    join();
    gathered.push(piece);
  }
  join();
  return gathered;
}

const [ENCODER, DECODER] = [new TextEncoder(), new TextDecoder()];
