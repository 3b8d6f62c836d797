/** Puts the originals back in the place of their placeholders. */
import { LONGEST, PLACEHOLDER } from "./placeholder.ts";

/** A place in a text that became longer or shorter. Offsets count in the text with placeholders. */
export interface Shift {
  /** The end of the placeholder. */
  at: number;
  by: number;
}

export class Originals {
  readonly #texts: ReadonlyMap<string, string>;
  /** The placeholders in order, for the search of one that begins in a certain way. */
  #sorted: string[] | undefined;

  constructor(texts: ReadonlyMap<string, string>) {
    this.#texts = texts;
  }

  /** The text with its originals. `asJson`: the text is JSON, whose strings have escapes. */
  restore(text: string, asJson: boolean, shifts?: Shift[], offset = 0): string {
    PLACEHOLDER.lastIndex = 0;
    let restored = "";
    let copied = 0;
    for (let found = PLACEHOLDER.exec(text); found; found = PLACEHOLDER.exec(text)) {
      const original = this.#texts.get(found[0].toLowerCase());
      if (original === undefined) {
        // Another one may begin inside.
        PLACEHOLDER.lastIndex = found.index + 1;
        continue;
      }
      const written = asJson ? JSON.stringify(original).slice(1, -1) : original;
      restored += text.slice(copied, found.index) + written;
      copied = found.index + found[0].length;
      shifts?.push({ at: offset + copied, by: written.length - found[0].length });
    }
    return copied === 0 ? text : restored + text.slice(copied);
  }

  /** How many characters at the end of the text may be the beginning of a placeholder. */
  begunAt(text: string): number {
    for (let length = Math.min(LONGEST - 1, text.length); length > 0; length--) {
      const code = text.charCodeAt(text.length - length);
      if (code !== 0x72 && code !== 0x52) continue; // "r", "R"
      if (this.#begins(text.slice(-length).toLowerCase())) return length;
    }
    return 0;
  }

  /** Whether a placeholder begins with the text and is longer. */
  #begins(text: string): boolean {
    const sorted = this.#sorted ??= [...this.#texts.keys()].sort();
    let [low, high] = [0, sorted.length];
    while (low < high) {
      const middle = low + high >> 1;
      if (sorted[middle]! < text) low = middle + 1;
      else high = middle;
    }
    const next = sorted[low];
    return next !== undefined && next.length > text.length && next.startsWith(text);
  }
}

/** One text that arrives piece by piece. A placeholder may be cut anywhere. */
export class RestoredText {
  readonly #originals: Originals;
  readonly #asJson: boolean;
  /** The end that may be the beginning of a placeholder. */
  #held = "";
  /** The length of the text before that end, with placeholders. */
  #read = 0;
  readonly shifts: Shift[] = [];

  constructor(originals: Originals, asJson: boolean) {
    this.#originals = originals;
    this.#asJson = asJson;
  }

  /** The text as far as it is certain. */
  push(piece: string): string {
    const text = this.#held + piece;
    const begun = this.#originals.begunAt(text);
    this.#held = begun === 0 ? "" : text.slice(-begun);
    return this.#restored(begun === 0 ? text : text.slice(0, -begun));
  }

  /** The rest, since no more follows. */
  end(): string {
    const rest = this.#held;
    this.#held = "";
    return this.#restored(rest);
  }

  #restored(text: string): string {
    const restored = this.#originals.restore(text, this.#asJson, this.shifts, this.#read);
    this.#read += text.length;
    return restored;
  }
}

/** An offset in the text with placeholders, as one in the text with originals. Inside a placeholder it is moved to its end. */
export function shifted(offset: number, shifts: readonly Shift[]): number {
  let moved = offset;
  for (const { at, by } of shifts) if (at <= offset) moved += by;
  return moved;
}
