/**
 * The kinds of stores, and what each can do. Nothing else asks which kind a store is. The launcher reads this file, too: it
 * imports nothing but what imports nothing.
 */
import { parseRedisUrl } from "./redis_url.ts";

/** How stores of one kind are reached that are on a server. */
interface ServerFacts {
  /** What the configuration says only of such servers. */
  fields: readonly string[];
  /** A variable that may hold its URL, and such a URL: both for messages. */
  example: { variable: string; url: string };
  /** The server that a URL names; nothing where it names none of this kind. */
  read(url: string): { hosts: { host: string; port: number }[]; database?: number } | undefined;
  /** Variables that its client looks at when it is loaded. */
  variables: readonly string[];
}

interface StoreFacts {
  /** Whether what is kept outlives the process. */
  isLasting: boolean;
  /** Whether it is a file, which `store.path` names. */
  hasFile: boolean;
  /** How long an answer waits at most for what is kept before it goes out, in milliseconds. A file takes longer when others write, too. */
  waitMs: number;
  /** What one key may keep by default, in bytes: a disk has room for many keys; a server keeps all in its memory. */
  bytesPerKey: number;
}

/** What is shared is on a server: gateways on any number of machines keep the same entries there, and count in common. */
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
      fields: ["url", "ca", "sentinel", "cluster", "servers"],
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

/** What a store of this kind can do. A configuration that was not checked may name none, or one that there is not. */
export function storeKind(name: unknown): StoreKind {
  return STORE_KINDS[STORE_KIND_NAMES.find((kind) => kind === name) ?? DEFAULT_STORE_KIND];
}

/** For people: `"kv" or "redis"`. */
export function kindsThat(can: "isShared" | "isLasting"): string {
  return STORE_KIND_NAMES.filter((name) => STORE_KINDS[name][can]).map((name) => `"${name}"`).join(" or ");
}
