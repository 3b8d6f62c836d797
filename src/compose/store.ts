import { parseRedisUrl } from "../config/redis_url.ts";
import type { Config } from "../config/schema.ts";
import type { Platform } from "../platform/platform.ts";
import { defaultStorePath } from "../platform/store_path.ts";
import { isOnDeploy, openHostedKv, openKvFile } from "../state/kv_file.ts";
import { createKvStore } from "../state/kv_store.ts";
import { createMemoryStore, MEMORY_STORE_BYTES } from "../state/memory_store.ts";
import type { RedisPlace } from "../state/redis/open.ts";
import type { Store } from "../state/store.ts";

export type StorePlace = "memory" | "hosted" | { path: string } | { server: string };

/** For people: `in memory`. */
export function describePlace(place: StorePlace): string {
  if (place === "memory") return "in memory";
  if (place === "hosted") return "in the host's database";
  return "path" in place ? `in ${place.path}` : `on ${place.server}`;
}

type Env = Platform["env"];
type Kind = Pick<Platform, "os" | "hasDatabase">;
type Runtime = Kind & Pick<Platform, "readText">;

/**
 * The configured store. It opens when the first conversation is to be stored. `keeper`: the socket of the process that keeps the
 * store for several, unless it is on a server.
 */
export function createStore(
  { store }: Config,
  platform: Runtime,
  env: Env,
  now: () => number,
  keeper?: string,
): Store {
  if (keeper !== undefined && store.kind !== "redis") {
    return loadedLater(async () => (await import("./kept.ts")).openKeptStore(keeper));
  }
  const place = placeOfStore(store, platform, env);
  if (place === "memory") return createMemoryStore({ now, limitBytes: MEMORY_STORE_BYTES });
  if (place === "hosted") return createKvStore({ open: openHostedKv, now });
  if ("path" in place) return createKvStore({ open: () => openKvFile(place.path), now });
  return loadedLater(async () => {
    const { loadClient, openRedisStore } = await import("../state/redis/open.ts");
    await loadClient(); // before its limits of time begin
    return openRedisStore({ ...serverOf(store, platform, env), now });
  });
}

/** A store whose code is loaded at the first need. */
function loadedLater(load: () => Promise<Store>): Store {
  let loading: Promise<Store> | undefined;
  let isClosed = false;
  const loaded = async () => {
    if (isClosed) throw new Error("Cannot use the store: it is closed");
    loading ??= load();
    // What was wrong may be put right, such as a file that is not there yet.
    loading.catch(() => loading = undefined);
    return await loading;
  };
  return {
    get: async (...args) => (await loaded()).get(...args),
    getRange: async (...args) => (await loaded()).getRange(...args),
    add: async (...args) => (await loaded()).add(...args),
    ensure: async (...args) => (await loaded()).ensure(...args),
    update: async (...args) => (await loaded()).update(...args),
    delete: async (...args) => (await loaded()).delete(...args),
    close() {
      isClosed = true;
      loading?.then((store) => store.close(), () => {});
    },
  };
}

/**
 * Where conversations are stored: what hosts the gateway has a place of its own, and without a home or a database there is no
 * file.
 */
export function placeOfStore(store: Config["store"], { os, hasDatabase }: Kind, env: Env): StorePlace {
  const { kind, path } = store;
  if (kind === "redis") return { server: serverName(store, env) };
  if (kind === "memory" || !hasDatabase) return "memory";
  if (isOnDeploy(env)) return "hosted";
  const file = path ?? defaultStorePath(os, env);
  return file === undefined ? "memory" : { path: file };
}

/** Without the credentials that the URL may hold. */
function serverName({ url }: Config["store"], env: Env): string {
  const hosts = parseRedisUrl(env(url?.env ?? "") ?? "")?.hosts ?? [];
  return hosts.map(({ host, port }) => `${host}:${port}`).join(", ") || `the server that ${url?.env} names`;
}

/** The server that is configured, and who may have signed its certificate. */
export function serverOf(
  { url, ca, sentinel, cluster }: Config["store"],
  platform: Pick<Platform, "readText">,
  env: Env,
): RedisPlace {
  const address = parseRedisUrl(env(url?.env ?? "") ?? "");
  if (!address) throw new Error(`Environment variable "${url?.env}" does not hold the URL of a server`);
  const password = sentinel?.password && env(sentinel.password.env);
  return {
    address,
    ca: ca === undefined ? undefined : platform.readText(ca),
    isCluster: cluster,
    ...(sentinel && { sentinel: { name: sentinel.name, password } }),
  };
}
