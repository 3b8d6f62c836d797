/** Finds any of many words in a text. One pass is enough, however many words there are (Aho–Corasick). */
import type { SlicedWork } from "./sliced_work.ts";

/** How many letters are read between two pauses while a finder is made. */
const SLICE_LETTERS = 4_096;
/** Multipliers that spread similar values over a table. */
const [SPREAD, SPREAD_LETTER] = [0x9e3779b1, 0x85ebca6b];
/** The size of the table of pairs, in bits, and the most letters that are skipped at once. */
const [PAIR_BITS, MOST_SKIPPED] = [12, 32];

/** The state at the beginning of a text. */
export const NOTHING_READ = 0;

/**
 * A tree of the words, letter by letter, where a letter is a UTF-16 unit. A state is a node of the tree: the longest beginning of
 * a word with which the text so far ends.
 */
export class WordFinder {
  /** The parent of each node, and the letter that leads to the node. */
  readonly #parents: Int32Array;
  readonly #letters: Uint16Array;
  /**
   * The node to continue from if no child fits, for each node: the longest beginning of a word with which this node's
   * text ends.
   */
  readonly #fallbacks: Int32Array;
  /** The length of the longest word that ends at each node. */
  readonly #longest: Int32Array;
  /** The first child of each node, negative if there are more. */
  readonly #firsts: Int32Array;
  /** The further children by their parent and letter. The table is mostly empty, because most nodes have one child. */
  readonly #table: Int32Array;
  readonly #shift: number;
  #count = 1;
  /**
   * How many letters can be skipped, by the last two letters of the window that is looked at. No word begins at the
   * skipped letters.
   */
  readonly #skips = new Uint8Array(2 ** PAIR_BITS);
  readonly #seen: number;

  private constructor(words: readonly string[]) {
    const most = words.reduce((sum, { length }) => sum + length, 1);
    this.#parents = new Int32Array(most);
    this.#letters = new Uint16Array(most);
    this.#fallbacks = new Int32Array(most);
    this.#longest = new Int32Array(most);
    this.#firsts = new Int32Array(most);
    const bits = Math.ceil(Math.log2(most)) + 1;
    this.#table = new Int32Array(2 ** bits);
    this.#shift = 32 - bits;
    this.#seen = words.reduce((least, { length }) => Math.min(least, length), MOST_SKIPPED);
    this.#skips.fill(this.#seen - 1);
  }

  /** No word may be empty. A finder takes about 30 bytes per letter of the words. */
  static *of(words: readonly string[]): SlicedWork<WordFinder> {
    const finder = new WordFinder(words);
    // All words are added together, letter by letter, because fallbacks lead to nodes that are nearer to the root.
    let open = words.map((word) => ({ word, node: NOTHING_READ }));
    for (let depth = 1, read = 0; open.length > 0; depth++) {
      for (const one of open) {
        one.node = finder.#grow(one.node, one.word, depth);
        if (++read % SLICE_LETTERS === 0) yield;
      }
      open = open.filter(({ word }) => word.length > depth);
    }
    return finder;
  }

  /** The node of the word's beginning of that length. */
  #grow(parent: number, word: string, depth: number): number {
    const letter = word.charCodeAt(depth - 1);
    const node = this.#child(parent, letter) || this.#add(parent, letter);
    if (word.length === depth) this.#longest[node] = depth;
    if (depth > 1 && depth <= this.#seen) {
      const pair = pairOf(word.charCodeAt(depth - 2), letter);
      this.#skips[pair] = Math.min(this.#skips[pair]!, this.#seen - depth);
    }
    return node;
  }

  #add(parent: number, letter: number): number {
    const node = this.#count++;
    const fallback = parent === NOTHING_READ ? NOTHING_READ : this.#next(this.#fallbacks[parent]!, letter);
    this.#parents[node] = parent;
    this.#letters[node] = letter;
    this.#fallbacks[node] = fallback;
    this.#longest[node] = this.#longest[fallback]!;
    const first = this.#firsts[parent]!;
    this.#firsts[parent] = first === 0 ? node : -Math.abs(first);
    if (first !== 0) this.#addFurther(node);
    return node;
  }

  #addFurther(node: number): void {
    const last = this.#table.length - 1;
    let place = this.#placeOf(this.#parents[node]!, this.#letters[node]!);
    while (this.#table[place] !== 0) place = (place + 1) & last;
    this.#table[place] = node;
  }

  #placeOf(parent: number, letter: number): number {
    return (Math.imul(parent, SPREAD) ^ Math.imul(letter, SPREAD_LETTER)) >>> this.#shift;
  }

  /** The child of a node by its letter; 0 if there is none. */
  #child(parent: number, letter: number): number {
    const first = this.#firsts[parent]!;
    const child = Math.abs(first);
    if (this.#letters[child] === letter) return child;
    if (first >= 0) return 0;
    const table = this.#table;
    const last = table.length - 1;
    for (let place = this.#placeOf(parent, letter);; place = (place + 1) & last) {
      const node = table[place]!;
      if (node === 0 || this.#parents[node] === parent && this.#letters[node] === letter) return node;
    }
  }

  #next(state: number, letter: number): number {
    for (let from = state;; from = this.#fallbacks[from]!) {
      const node = this.#child(from, letter);
      if (node !== 0 || from === NOTHING_READ) return node;
    }
  }

  /**
   * Reads the text from `begin` to `end`, and returns the state after that. `places` receives the beginning and the end
   * of each place with a word. Words that overlap are one place.
   */
  find(text: string, begin: number, end: number, state: number, places: number[]): number {
    const whole = end - this.#seen;
    let reached = state;
    for (let at = begin; at < end; at++) {
      if (reached === NOTHING_READ && at <= whole) {
        const seen = at + this.#seen;
        const skip = this.#skips[pairOf(text.charCodeAt(seen - 2), text.charCodeAt(seen - 1))]!;
        if (skip > 0) {
          at += skip - 1;
          continue;
        }
      }
      reached = this.#next(reached, text.charCodeAt(at));
      const length = this.#longest[reached]!;
      if (length > 0) addPlace(places, at + 1 - length, at + 1);
    }
    return reached;
  }

  /** Whether any of the words is in the text. */
  isIn(text: string): boolean {
    const places: number[] = [];
    this.find(text, 0, text.length, NOTHING_READ, places);
    return places.length > 0;
  }

  /** The length of the longest beginning of a word with which the text ends. It may be a whole word. */
  lengthOf(state: number): number {
    let length = 0;
    for (let node = state; node !== NOTHING_READ; node = this.#parents[node]!) length++;
    return length;
  }
}

function pairOf(first: number, second: number): number {
  return (Math.imul(first, SPREAD) ^ Math.imul(second, SPREAD_LETTER)) >>> (32 - PAIR_BITS);
}

/** Adds a place that ends after all others. Places that it overlaps become part of it. */
export function addPlace(places: number[], begin: number, end: number): void {
  let first = begin;
  while (places.length > 0 && places.at(-1)! > first) {
    places.pop();
    first = Math.min(first, places.pop()!);
  }
  places.push(first, end);
}
