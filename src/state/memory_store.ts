import { parseExactly } from "../canonical/raw_number.ts";
import { paced } from "../util/work.ts";
import type { Store, StoreEntry, StoreKey } from "./store.ts";

/** What a store in memory may hold, in bytes. */
export const MEMORY_STORE_BYTES = 256 * 1024 * 1024;

interface Entry {
  text: string;
  expiresAt: number;
}

export interface MemoryStoreOptions {
  /** Milliseconds since the epoch. */
  now(): number;
  /** The length of all keys and values as JSON; above it, what was written first goes first. */
  limitBytes: number;
  /** The text of a value that is kept; JSON by default. */
  form?: TextForm;
}

export interface TextForm {
  toText(value: unknown): string;
  fromText(text: string): unknown;
}

const AS_JSON: TextForm = { toText: JSON.stringify, fromText: parseExactly };

/** A store that ends with the process. */
export function createMemoryStore(options: MemoryStoreOptions): Store {
  const entries = new Entries(options);
  // Async functions, so that a failure is a rejection here as it is in a store on a disk.
  return {
    // deno-lint-ignore require-await -- see above
    get: async (key) => entries.read(key),
    getRange: (list, from, to) =>
      Array.fromAsync(paced(positions(from, to)), (position) => entries.read([...list, position])),
    // deno-lint-ignore require-await -- see above
    add: async (added, expiresAt) => entries.add(added, expiresAt),
    // deno-lint-ignore require-await -- see above
    async ensure(key, value) {
      if (entries.read(key) === undefined) entries.write([[key, value]], Infinity);
      return entries.read(key);
    },
    // deno-lint-ignore require-await -- see above
    update: async (key, change) => entries.write([[key, change(entries.read(key))]], Infinity),
    // deno-lint-ignore require-await -- see above
    delete: async (...keys) => entries.delete(keys),
    close: () => entries.clear(),
  };
}

class Entries {
  readonly #options: MemoryStoreOptions;
  readonly #form: TextForm;
  readonly #entries = new Map<string, Entry>();
  #held = 0;

  constructor(options: MemoryStoreOptions) {
    this.#options = options;
    this.#form = options.form ?? AS_JSON;
  }

  read(key: StoreKey): unknown {
    const name = JSON.stringify(key);
    return this.#isHeld(name) ? this.#form.fromText(this.#entries.get(name)!.text) : undefined;
  }

  /** Whether none of them was there. */
  add(entries: readonly StoreEntry[], expiresAt: number): boolean {
    if (entries.some(([key]) => this.#isHeld(JSON.stringify(key)))) return false;
    this.write(entries, expiresAt);
    return true;
  }

  write(entries: readonly StoreEntry[], expiresAt: number): void {
    const { limitBytes } = this.#options;
    const written = entries.map(([key, value]) =>
      [JSON.stringify(key), { text: this.#form.toText(value), expiresAt }] as const
    );
    const size = written.reduce((sum, [name, entry]) => sum + sizeOf(name, entry), 0);
    if (size > limitBytes) throw new Error(`Cannot store ${size} bytes: the store holds ${limitBytes} in all`);
    for (const [name, entry] of written) {
      this.#remove(name);
      this.#entries.set(name, entry);
    }
    this.#held += size;
    for (const oldest of this.#entries.keys()) {
      if (this.#held <= limitBytes) break;
      this.#remove(oldest);
    }
  }

  /** Whether the first was there. */
  delete(keys: readonly StoreKey[]): boolean {
    const [first, ...others] = keys.map((key) => JSON.stringify(key));
    const wasHeld = first !== undefined && this.#isHeld(first);
    for (const name of wasHeld ? [first, ...others] : []) this.#remove(name);
    return wasHeld;
  }

  clear(): void {
    this.#entries.clear();
    this.#held = 0;
  }

  #remove(name: string): void {
    const entry = this.#entries.get(name);
    if (entry && this.#entries.delete(name)) this.#held -= sizeOf(name, entry);
  }

  /** What has expired makes room. */
  #isHeld(name: string): boolean {
    const entry = this.#entries.get(name);
    if (entry && entry.expiresAt > this.#options.now()) return true;
    this.#remove(name);
    return false;
  }
}

function* positions(from: number, to: number): Generator<number> {
  for (let position = from; position <= to; position++) yield position;
}

function sizeOf(name: string, { text }: Entry): number {
  return name.length + text.length;
}
