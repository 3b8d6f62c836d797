/** Randomness that a seed decides. */

/** A source of random numbers for one purpose: what another purpose takes does not change it. */
export class Random {
  #state: number;

  constructor(seed: number, ...purpose: readonly (string | number)[]) {
    this.#state = hashOf(`${seed}/${purpose.join("/")}`);
  }

  /** At least 0 and less than 1 (mulberry32). */
  readonly next = (): number => {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };

  /** A whole number from `least` to `most`, both included. */
  int(least: number, most: number): number {
    return least + Math.floor(this.next() * (most - least + 1));
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(list: readonly T[]): T {
    return list[Math.floor(this.next() * list.length)]!;
  }

  /** So many of the list, in its order. */
  some<T>(list: readonly T[], count: number): T[] {
    let left = count;
    return list.filter((_, at) => this.next() * (list.length - at) < left && left-- > 0);
  }

  bytes(into: Uint8Array): void {
    for (let at = 0; at < into.length; at++) into[at] = this.int(0, 255);
  }

  uuid(): `${string}-${string}-${string}-${string}-${string}` {
    const bytes = new Uint8Array(16);
    this.bytes(bytes);
    bytes[6] = (bytes[6]! & 0x0f) | 0x40;
    bytes[8] = (bytes[8]! & 0x3f) | 0x80;
    const hex = bytes.toHex();
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
  }
}

/** FNV-1a, mixed once more so that texts that hardly differ have numbers far apart. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  return hash ^ (hash >>> 13);
}
