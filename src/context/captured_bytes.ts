/** Keeps a copy of bytes as they pass, as far as there is room. */
import type { TransportRequest } from "../platform/transport.ts";

/** The shared memory of all records. */
export interface Room {
  /** The limit of one body in bytes. */
  readonly mostBytes: number;
  /** Reserves bytes. False if there is no room. */
  take(bytes: number): boolean;
  giveBack(bytes: number): void;
}

const [SMALLEST_BLOCK, LARGEST_BLOCK] = [512, 65_536];

const encoder = new TextEncoder();

export class CapturedBytes {
  /** How many bytes have passed, including those that were not kept. */
  length = 0;
  /** Whether the content is a description instead of the bytes themselves. */
  isDescription = false;
  readonly #room: Room;
  /** All blocks are full except the last, of which `#used` bytes are. */
  #blocks: Uint8Array[] = [];
  #used = 0;
  #kept = 0;
  #isCut = false;
  #isOver = false;

  constructor(room: Room) {
    this.#room = room;
  }

  /** How many bytes are kept. They are always the first ones. */
  get kept(): number {
    return this.#kept;
  }

  /** `isOurs`: nothing else will overwrite these bytes. Others are copied. */
  add(bytes: Uint8Array, isOurs = false): void {
    if (this.#isOver) return;
    this.length += bytes.length;
    if (this.#isCut || bytes.length === 0) return;
    const room = this.#room.mostBytes - this.#kept;
    if (isOurs && this.#kept === 0 && bytes.length === bytes.buffer.byteLength && bytes.length <= room) {
      return this.#keep(bytes);
    }
    const open = this.#blocks.at(-1);
    if (open && bytes.length <= open.length - this.#used) {
      open.set(bytes, this.#used);
      this.#used += bytes.length;
      this.#kept += bytes.length;
      return;
    }
    let rest = bytes.length > room ? bytes.subarray(0, room) : bytes;
    this.#isCut = bytes.length > room;
    while (rest.length > 0) {
      const block = this.#block(rest.length);
      if (!block) return;
      const piece = rest.subarray(0, block.length - this.#used);
      block.set(piece, this.#used);
      this.#used += piece.length;
      this.#kept += piece.length;
      rest = rest.subarray(piece.length);
    }
  }

  addText(text: string): void {
    // Only as much of a huge text is encoded as can be kept.
    const most = this.#room.mostBytes;
    if (text.length <= most) return this.add(encoder.encode(text), true);
    this.add(encoder.encode(text.slice(0, most)), true);
    this.length += text.length - most;
    this.#isCut = true;
  }

  /** Records facts instead of bytes that nobody could read. */
  describe(facts: unknown): void {
    this.isDescription = true;
    this.addText(JSON.stringify(facts));
  }

  /** Ends the capture. Later bytes are ignored. */
  end(): void {
    this.trim();
    this.#isOver = true;
  }

  /** Releases unused room. */
  trim(): void {
    const last = this.#blocks.at(-1);
    if (!last || this.#used === last.length) return;
    this.#room.giveBack(last.length - this.#used);
    this.#blocks[this.#blocks.length - 1] = last.slice(0, this.#used);
  }

  /** Discards everything, now and in future. The caller accounts for the room. */
  drop(): void {
    this.#isCut = true;
    this.#blocks = [];
    this.#kept = 0;
    this.#used = 0;
  }

  /** Everything kept, in one piece. */
  bytes(): Uint8Array<ArrayBuffer> {
    const all = new Uint8Array(this.#kept);
    let at = 0;
    for (const block of this.#blocks) {
      const piece = block.subarray(0, this.#kept - at);
      all.set(piece, at);
      at += piece.length;
    }
    return all;
  }

  /** Keeps the bytes without copying them. */
  #keep(bytes: Uint8Array): void {
    if (!this.#room.take(bytes.length)) {
      this.#isCut = true;
      return;
    }
    this.#blocks.push(bytes);
    this.#kept = this.#used = bytes.length;
  }

  /** A block with free space. `undefined` if there is no more room. */
  #block(wanted: number): Uint8Array | undefined {
    const last = this.#blocks.at(-1);
    if (last && this.#used < last.length) return last;
    const usual = Math.min(LARGEST_BLOCK, Math.max(SMALLEST_BLOCK, this.#kept));
    // A body that arrives in one piece gets a block of its exact size.
    const size = this.#kept === 0 && wanted > SMALLEST_BLOCK ? wanted : Math.max(usual, wanted);
    const most = Math.min(size, this.#room.mostBytes - this.#kept);
    if (most <= 0 || !this.#room.take(most)) {
      this.#isCut = true;
      return undefined;
    }
    const block = new Uint8Array(most);
    this.#blocks.push(block);
    this.#used = 0;
    return block;
  }
}

/** Captures a body. A form's fields are kept, but not the contents of its files. */
export function captureBody(body: TransportRequest["body"], into: CapturedBytes): void {
  if (typeof body === "string") into.addText(body);
  else if (body instanceof Uint8Array) into.add(body);
  else if (body instanceof Blob) into.describe([{ type: body.type, bytes: body.size }]);
  else if (body) {
    into.describe(
      Array.from(
        body,
        ([name, value]) =>
          typeof value === "string"
            ? { name, value }
            : { name, file: { name: value.name, type: value.type, bytes: value.size } },
      ),
    );
  }
  into.end();
}
