import { parseExactly } from "../canonical/raw_number.ts";
import type { Store, StoreKey } from "./store.ts";

interface Entry {
  text: string;
  expiresAt: number;
}

/**
 * A store that ends with the process. Above `limitBytes`, the length of all keys and values as JSON, what was written
 * first goes first.
 */
export function createMemoryStore({ now, limitBytes }: { now: () => number; limitBytes: number }): Store {
  const entries = new Map<string, Entry>();
  let held = 0;

  function remove(name: string): Entry | undefined {
    const entry = entries.get(name);
    if (entry && entries.delete(name)) held -= sizeOf(name, entry);
    return entry;
  }

  function read(key: StoreKey): unknown {
    const name = JSON.stringify(key);
    const entry = entries.get(name);
    if (!entry) return undefined;
    if (entry.expiresAt > now()) return parseExactly(entry.text);
    remove(name);
  }

  function write(key: StoreKey, value: unknown, expiresAt: number): void {
    const name = JSON.stringify(key);
    const entry = { text: JSON.stringify(value), expiresAt };
    const size = sizeOf(name, entry);
    if (size > limitBytes) throw new Error(`Cannot store ${size} bytes: the store holds ${limitBytes} in all`);
    remove(name);
    entries.set(name, entry);
    held += size;
    for (const oldest of entries.keys()) {
      if (held <= limitBytes) break;
      remove(oldest);
    }
  }

  // Async functions, so that a failure is a rejection here as it is in a store on a disk.
  return {
    // deno-lint-ignore require-await -- see above
    async get(key) {
      return read(key);
    },
    // deno-lint-ignore require-await -- see above
    async set(key, value, expiresAt) {
      write(key, value, expiresAt);
    },
    // deno-lint-ignore require-await -- see above
    async ensure(key, value) {
      if (read(key) === undefined) write(key, value, Infinity);
      return read(key);
    },
    // deno-lint-ignore require-await -- see above
    async update(key, change) {
      write(key, change(read(key)), Infinity);
    },
    // deno-lint-ignore require-await -- see above
    async delete(key) {
      const entry = remove(JSON.stringify(key));
      return entry !== undefined && entry.expiresAt > now();
    },
    close() {
      entries.clear();
      held = 0;
    },
  };
}

function sizeOf(name: string, { text }: Entry): number {
  return name.length + text.length;
}
