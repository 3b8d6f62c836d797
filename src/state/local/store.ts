/** The store of a worker, which asks the keeper. */
import { builtin } from "../../util/builtin.ts";
import { AS_JSON } from "../kv_values.ts";
import type { Store, StoreEntry, StoreKey } from "../store.ts";
import { type LocalLink, Refusal } from "./link.ts";

/** How long a call may take, in milliseconds. Callers have shorter limits of their own. */
const LIMIT_MS = 10_000;

export function createLocalStore(link: LocalLink): Store {
  const call = (name: string, args: readonly unknown[], ...values: readonly Uint8Array[]) =>
    link.call(name, args, LIMIT_MS, values);
  const read = async (key: StoreKey) => (await call("get", [key])).parts[0];
  return {
    get: async (key) => valueOf(await read(key)),
    getRange: async (list, from, to) => (await call("getRange", [list, from, to])).parts.map(valueOf),

    async add(entries: readonly StoreEntry[], expiresAt, renewal) {
      const values = entries.map(([, value]) => AS_JSON.toBytes(value));
      const renewed = renewal && { keys: renewal.keys, expiresAt: timeOf(renewal.expiresAt) };
      const args = [entries.map(([key]) => key), timeOf(expiresAt), ...renewed ? [renewed] : []];
      return (await call("add", args, ...values)).result === true;
    },

    ensure: async (key, value) => valueOf((await call("ensure", [key], AS_JSON.toBytes(value))).parts[0]),

    async update(key, change) {
      while (true) {
        const before = await read(key);
        const after = AS_JSON.toBytes(change(valueOf(before)));
        try {
          const { result } = await call("replace", [key], ...before ? [after, before] : [after]);
          if (result === true) return;
        } catch (error) {
          // It is unknown whether the change was made, and making it again could count twice.
          if (error instanceof Refusal || isSame(await read(key), before)) throw error;
          return;
        }
      }
    },

    delete: async (...keys) => (await call("delete", [keys])).result === true,
    close: () => link.close(),
  };
}

function valueOf(bytes: Uint8Array | undefined): unknown {
  return bytes && AS_JSON.fromBytes(bytes as Uint8Array<ArrayBuffer>);
}

export function isSame(one: Uint8Array | undefined, other: Uint8Array | undefined): boolean {
  return one && other ? builtin("node:buffer").Buffer.compare(one, other) === 0 : one === other;
}

/** In JSON, null stands for `Infinity`. */
function timeOf(expiresAt: number): number | null {
  return expiresAt === Infinity ? null : expiresAt;
}
