/** Bytes that are kept as they pass, as far as there is room for them. */

/** The memory of all records. */
export interface Room {
  /** The most of one body, in bytes. */
  readonly mostBytes: number;
  /** Sets so many bytes aside; whether there is room for them. */
  take(bytes: number): boolean;
  giveBack(bytes: number): void;
}

const [SMALLEST_BLOCK, LARGEST_BLOCK] = [512, 65_536];

const encoder = new TextEncoder();

export class Capture {
  /** How many bytes passed, whether they are kept or not. */
  length = 0;
  /** What has passed is a description, and not the bytes themselves. */
  isDescription = false;
  readonly #room: Room;
  /** Full but for the last one, of which `#used` bytes are. */
  #blocks: Uint8Array[] = [];
  #used = 0;
  #kept = 0;
  #isCut = false;
  #isOver = false;

  constructor(room: Room) {
    this.#room = room;
  }

  /** How many of the first bytes are kept. */
  get kept(): number {
    return this.#kept;
  }

  /** `isOurs`: nobody is going to write anything else into them. Others are copied. */
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
    // Of a huge text no more is encoded than can be kept.
    const most = this.#room.mostBytes;
    if (text.length <= most) return this.add(encoder.encode(text), true);
    this.add(encoder.encode(text.slice(0, most)), true);
    this.length += text.length - most;
    this.#isCut = true;
  }

  /** Facts, in place of bytes that nobody could read. */
  describe(facts: unknown): void {
    this.isDescription = true;
    this.addText(JSON.stringify(facts));
  }

  /** All has passed: what comes later is none of it. */
  end(): void {
    this.trim();
    this.#isOver = true;
  }

  /** What was set aside for more is given back. */
  trim(): void {
    const last = this.#blocks.at(-1);
    if (!last || this.#used === last.length) return;
    this.#room.giveBack(last.length - this.#used);
    this.#blocks[this.#blocks.length - 1] = last.slice(0, this.#used);
  }

  /** Nothing is kept, now and later. Who calls it accounts for the room. */
  drop(): void {
    this.#isCut = true;
    this.#blocks = [];
    this.#kept = 0;
    this.#used = 0;
  }

  /** What is kept, in one piece. */
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

  /** As they are. */
  #keep(bytes: Uint8Array): void {
    if (!this.#room.take(bytes.length)) {
      this.#isCut = true;
      return;
    }
    this.#blocks.push(bytes);
    this.#kept = this.#used = bytes.length;
  }

  /** One with room in it; nothing where there is none any more. */
  #block(wanted: number): Uint8Array | undefined {
    const last = this.#blocks.at(-1);
    if (last && this.#used < last.length) return last;
    const usual = Math.min(LARGEST_BLOCK, Math.max(SMALLEST_BLOCK, this.#kept));
    // A body that is there at once takes exactly what it is.
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
