/** The kinds of servers that a store may be on. The code of a kind is loaded only if such a store is configured. */
import type { Config } from "../config/schema.ts";
import type { ServerKindName } from "../config/store_kinds.ts";
import type { StoreServerKind } from "./store_server.ts";

const KINDS: Record<ServerKindName, () => Promise<StoreServerKind>> = {
  redis: async () => (await import("./redis/server.ts")).redisServerKind,
};

/** The kind of the configured store's server. `undefined` if the store is not on a server. */
export async function loadServerKind({ kind }: Config["store"]): Promise<StoreServerKind | undefined> {
  return Object.hasOwn(KINDS, kind) ? await KINDS[kind as ServerKindName]() : undefined;
}
