/** Each kind of server that a store may be on. Its code is loaded where such a store is configured. */
import type { Config } from "../config/schema.ts";
import type { ServerKindName } from "../config/store_kinds.ts";
import type { StoreServerKind } from "./store_server.ts";

const KINDS: Record<ServerKindName, () => Promise<StoreServerKind>> = {
  redis: async () => (await import("./redis/server.ts")).redisServers,
};

/** The kind of the configured server; nothing where the store is on none. */
export async function loadServers({ kind }: Config["store"]): Promise<StoreServerKind | undefined> {
  return Object.hasOwn(KINDS, kind) ? await KINDS[kind as ServerKindName]() : undefined;
}
