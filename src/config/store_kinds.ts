/**
 * The kinds of stores and their properties. All other code reads these properties instead of comparing the kind.
 * The launcher loads this file, too, so it may import only modules without imports.
 */
import { parseRedisUrl } from "./redis_url.ts";

/** The properties of a kind of server. */
interface ServerFacts {
  /** An example for messages: a variable that may hold the server's URL, and such a URL. */
  example: { variable: string; url: string };
  /** Parses a URL. `undefined` if it names no server of this kind. */
  read(url: string): { hosts: { host: string; port: number }[]; database?: number } | undefined;
  /** The variables that the client library reads when it is loaded. */
  variables: readonly string[];
}

interface StoreFacts {
  /** Whether the entries outlive the process. */
  isLasting: boolean;
  /** Whether the store is a file, which `store.path` names. */
  hasFile: boolean;
  /**
   * How long an answer waits at most until its entries are stored, in milliseconds.
   * A file takes longer if other processes write, too.
   */
  waitMs: number;
  /** The default quota of one key, in bytes. A disk has room for many keys, but a server keeps all entries in its memory. */
  bytesPerKey: number;
}

/** A shared store is on a server. Gateways on any number of machines share its entries and counts. */
export type StoreKind =
  & StoreFacts
  & ({ isShared: false; server?: undefined } | { isShared: true; server: ServerFacts });

const MIB = 1024 * 1024;

export const STORE_KINDS = {
  kv: { isShared: false, isLasting: true, hasFile: true, waitMs: Infinity, bytesPerKey: 1024 * MIB },
  memory: { isShared: false, isLasting: false, hasFile: false, waitMs: Infinity, bytesPerKey: 192 * MIB },
  redis: {
    isShared: true,
    isLasting: true,
    hasFile: false,
    waitMs: 950,
    bytesPerKey: 256 * MIB,
    server: {
      example: { variable: "REDIS_URL", url: "redis://user:password@store.example.com:6379/0" },
      read: parseRedisUrl,
      variables: ["REDIS_DEBUG_MAINTENANCE"],
    },
  },
} as const satisfies Record<string, StoreKind>;

export type StoreKindName = keyof typeof STORE_KINDS;

/** The kinds that are on a server. */
export type ServerKindName = { [K in StoreKindName]: typeof STORE_KINDS[K] extends { server: object } ? K : never }[
  StoreKindName
];

export const STORE_KIND_NAMES = Object.keys(STORE_KINDS) as [StoreKindName, ...StoreKindName[]];

export const DEFAULT_STORE_KIND = "kv";

/** The properties of a kind. An unchecked configuration may name no kind or an unknown one; the default kind stands in for it. */
export function storeKind(name: unknown): StoreKind {
  return STORE_KINDS[STORE_KIND_NAMES.find((kind) => kind === name) ?? DEFAULT_STORE_KIND];
}

/** The names of the kinds with a property, for messages: `"kv" or "redis"`. */
export function kindsThat(can: "isShared" | "isLasting"): string {
  return STORE_KIND_NAMES.filter((name) => STORE_KINDS[name][can]).map((name) => `"${name}"`).join(" or ");
}
