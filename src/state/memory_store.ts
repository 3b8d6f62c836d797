import { parseExactly } from "../canonical/raw_number.ts";
import type { Store, StoreKey } from "./store.ts";

interface Entry {
  text: string;
  expiresAt: number;
}

export interface MemoryStoreOptions {
  /** Milliseconds since the epoch. */
  now(): number;
  /** The length of all keys and values as JSON; above it, what was written first goes first. */
  limitBytes: number;
}

/** A store that ends with the process. */
export function createMemoryStore(options: MemoryStoreOptions): Store {
  const entries = new Entries(options);
  // Async functions, so that a failure is a rejection here as it is in a store on a disk.
  return {
    // deno-lint-ignore require-await -- see above
    get: async (key) => entries.read(key),
    // deno-lint-ignore require-await -- see above
    set: async (key, value, expiresAt) => entries.write(key, value, expiresAt),
    // deno-lint-ignore require-await -- see above
    async ensure(key, value) {
      if (entries.read(key) === undefined) entries.write(key, value, Infinity);
      return entries.read(key);
    },
    // deno-lint-ignore require-await -- see above
    update: async (key, change) => entries.write(key, change(entries.read(key)), Infinity),
    // deno-lint-ignore require-await -- see above
    delete: async (key) => entries.delete(key),
    close: () => entries.clear(),
  };
}

class Entries {
  readonly #options: MemoryStoreOptions;
  readonly #entries = new Map<string, Entry>();
  #held = 0;

  constructor(options: MemoryStoreOptions) {
    this.#options = options;
  }

  read(key: StoreKey): unknown {
    const name = JSON.stringify(key);
    const entry = this.#entries.get(name);
    if (!entry) return undefined;
    if (this.#isFresh(entry)) return parseExactly(entry.text);
    this.#remove(name);
  }

  write(key: StoreKey, value: unknown, expiresAt: number): void {
    const { limitBytes } = this.#options;
    const name = JSON.stringify(key);
    const entry = { text: JSON.stringify(value), expiresAt };
    const size = sizeOf(name, entry);
    if (size > limitBytes) throw new Error(`Cannot store ${size} bytes: the store holds ${limitBytes} in all`);
    this.#remove(name);
    this.#entries.set(name, entry);
    this.#held += size;
    for (const oldest of this.#entries.keys()) {
      if (this.#held <= limitBytes) break;
      this.#remove(oldest);
    }
  }

  /** Whether there was one. */
  delete(key: StoreKey): boolean {
    const entry = this.#remove(JSON.stringify(key));
    return entry !== undefined && this.#isFresh(entry);
  }

  clear(): void {
    this.#entries.clear();
    this.#held = 0;
  }

  #remove(name: string): Entry | undefined {
    const entry = this.#entries.get(name);
    if (entry && this.#entries.delete(name)) this.#held -= sizeOf(name, entry);
    return entry;
  }

  #isFresh({ expiresAt }: Entry): boolean {
    return expiresAt > this.#options.now();
  }
}

function sizeOf(name: string, { text }: Entry): number {
  return name.length + text.length;
}
