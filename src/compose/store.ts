import type { Config } from "../config/schema.ts";
import type { Platform } from "../platform/platform.ts";
import { defaultStorePath } from "../platform/store_path.ts";
import { isOnDeploy, openHostedKv, openKvFile } from "../state/kv_file.ts";
import { createKvStore } from "../state/kv_store.ts";
import { createMemoryStore } from "../state/memory_store.ts";
import type { Store } from "../state/store.ts";

/** What a store in memory may hold, in bytes. */
const MEMORY_STORE_BYTES = 256 * 1024 * 1024;

export type StorePlace = "memory" | "hosted" | { path: string };

/** For people: `in memory`. */
export function describePlace(place: StorePlace): string {
  if (place === "memory") return "in memory";
  return place === "hosted" ? "in the host's database" : `in ${place.path}`;
}

type Env = Platform["env"];
type Kind = Pick<Platform, "os" | "hasDatabase">;

/** The configured store. It opens when the first conversation is to be stored. */
export function createStore({ store }: Config, platform: Kind, env: Env, now: () => number): Store {
  const place = placeOfStore(store, platform, env);
  return place === "memory"
    ? createMemoryStore({ now, limitBytes: MEMORY_STORE_BYTES })
    : createKvStore({ open: () => place === "hosted" ? openHostedKv() : openKvFile(place.path), now });
}

/**
 * Where conversations are stored: what hosts the gateway has a place of its own, and without a home or a database there is no
 * file.
 */
export function placeOfStore({ kind, path }: Config["store"], { os, hasDatabase }: Kind, env: Env): StorePlace {
  if (kind === "memory" || !hasDatabase) return "memory";
  if (isOnDeploy(env)) return "hosted";
  const file = path ?? defaultStorePath(os, env);
  return file === undefined ? "memory" : { path: file };
}
