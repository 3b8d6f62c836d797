import { parseExactly } from "../canonical/raw_number.ts";
import { sliced } from "../util/sliced_work.ts";
import type { Renewal, Store, StoreEntry, StoreKey } from "./store.ts";

/** What a store in memory may hold, in bytes. */
export const MEMORY_STORE_BYTES = 256 * 1024 * 1024;

interface Entry {
  owner: string;
  text: string;
  expiresAt: number;
}

export interface MemoryStoreOptions {
  /** Milliseconds since the epoch. */
  now(): number;
  /** The length of all keys and values as JSON; above it, what the owner of the most wrote first goes first. */
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
      Array.fromAsync(sliced(positions(from, to)), (position) => entries.read([...list, position])),
    // deno-lint-ignore require-await -- see above
    add: async (added, expiresAt, renewal) => entries.add(added, expiresAt, renewal),
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
  /** Those that were written first are the first ones. */
  readonly #entries = new Map<string, Entry>();
  /** What each owner has, in the same order. */
  readonly #owners = new Map<string, { names: Set<string>; held: number }>();
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
  add(entries: readonly StoreEntry[], expiresAt: number, renewal?: Renewal): boolean {
    if (renewal) this.#renew(renewal);
    if (entries.some(([key]) => this.#isHeld(JSON.stringify(key)))) return false;
    this.write(entries, expiresAt);
    return true;
  }

  /** What is renewed is among the last that make room. */
  #renew({ keys, expiresAt }: Renewal): void {
    for (const key of keys) {
      const name = JSON.stringify(key);
      const entry = this.#isHeld(name) ? this.#entries.get(name)! : undefined;
      if (!entry || entry.expiresAt >= expiresAt) continue;
      this.#remove(name);
      this.#set(name, { ...entry, expiresAt });
    }
  }

  write(entries: readonly StoreEntry[], expiresAt: number): void {
    const { limitBytes } = this.#options;
    const written = entries.map(([key, value]) =>
      [JSON.stringify(key), { owner: ownerOf(key), text: this.#form.toText(value), expiresAt }] as const
    );
    const size = written.reduce((sum, [name, entry]) => sum + sizeOf(name, entry), 0);
    if (size > limitBytes) throw new Error(`Cannot store ${size} bytes: the store holds ${limitBytes} in all`);
    for (const [name, entry] of written) {
      this.#remove(name);
      this.#set(name, entry);
    }
    while (this.#held > limitBytes) this.#remove(this.#nextToGo());
  }

  #nextToGo(): string {
    let largest = { names: new Set<string>(), held: 0 };
    for (const owned of this.#owners.values()) if (owned.held > largest.held) largest = owned;
    const [oldest] = largest.names;
    return oldest!;
  }

  #set(name: string, entry: Entry): void {
    const owned = this.#owners.get(entry.owner) ?? { names: new Set(), held: 0 };
    const size = sizeOf(name, entry);
    this.#entries.set(name, entry);
    this.#owners.set(entry.owner, owned);
    owned.names.add(name);
    owned.held += size;
    this.#held += size;
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
    this.#owners.clear();
    this.#held = 0;
  }

  #remove(name: string): void {
    const entry = this.#entries.get(name);
    if (!entry) return;
    const owned = this.#owners.get(entry.owner)!;
    const size = sizeOf(name, entry);
    this.#entries.delete(name);
    owned.names.delete(name);
    owned.held -= size;
    if (owned.names.size === 0) this.#owners.delete(entry.owner);
    this.#held -= size;
  }

  /** What has expired makes room. */
  #isHeld(name: string): boolean {
    const entry = this.#entries.get(name);
    if (entry && entry.expiresAt > this.#options.now()) return true;
    this.#remove(name);
    return false;
  }
}

/** The second text of a key says whose it is, if it is anybody's. */
function ownerOf(key: StoreKey): string {
  return String(key[1] ?? "");
}

function* positions(from: number, to: number): Generator<number> {
  for (let position = from; position <= to; position++) yield position;
}

function sizeOf(name: string, { text }: Entry): number {
  return name.length + text.length;
}
