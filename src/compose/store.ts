import type { Config } from "../config/schema.ts";
import { secretAt, type SecretSource } from "../config/secrets.ts";
import { STORE_KINDS, storeKind } from "../config/store_kinds.ts";
import type { Platform } from "../platform/platform.ts";
import { defaultStorePath } from "../platform/store_path.ts";
import { fileLost, isOnDeploy, kvFile, openHostedKv } from "../state/kv_file.ts";
import { createKvStore } from "../state/kv_store.ts";
import { createMemoryStore, MEMORY_STORE_BYTES } from "../state/memory_store.ts";
import type { Store } from "../state/store.ts";
import { loadServerKind } from "../state/server_kinds.ts";
import type { StoreRisk } from "../state/store_server.ts";
import type { StoreWarning } from "../observe/log.ts";
import type { Meter } from "../observe/meter.ts";
import type { Keep } from "./kept_parts.ts";

/** The bytes that each key may store. */
export function bytesPerKey({ kind, bytesPerKey }: Config["store"], database: Platform["database"]): number {
  const able = storeKind(kind);
  return bytesPerKey ?? (able.hasFile && !database ? STORE_KINDS.memory : able).bytesPerKey;
}

export type StorePlace = "memory" | "hosted" | { path: string } | { server: string };

/** Describes the place for people, such as `in memory`. */
export function describePlace(place: StorePlace): string {
  if (place === "memory") return "in memory";
  if (place === "hosted") return "in the host's database";
  return "path" in place ? `in ${place.path}` : `on ${place.server}`;
}

type Env = Platform["env"];
type Runtime = Pick<Platform, "os" | "database" | "readText" | "memoryLimit" | "storeClient">;

interface StoreOptions {
  /** The socket of the keeper, which opens the store for several workers. Not used if the store is on a server. */
  keeper?: string;
  /** Called with a sentence when the store has lost data. */
  onLost?(message: string): void;
}

/** The configured store. It is opened at its first use. */
export function createStore(
  { store }: Config,
  platform: Runtime,
  env: Env,
  now: () => number,
  { keeper, onLost }: StoreOptions = {},
): Store {
  const place = placeOfStore(store, platform, env);
  const lost = (path: string) => onLost?.(fileLost(path));
  if (keeper !== undefined && !storeKind(store.kind).isShared) {
    const lostThere = () => typeof place === "object" && "path" in place && lost(place.path);
    return loadedLater(async () => (await import("./keeper_client.ts")).openKeeperStore(keeper, lostThere));
  }
  if (place === "memory") return createMemoryStore({ now, limitBytes: memoryStoreBytes(platform) });
  if (place === "hosted") return createKvStore({ open: openHostedKv, now });
  if ("path" in place) return openFile(place.path, platform, { now, onLost: () => lost(place.path) });
  return loadedLater(async () => {
    const kind = (await loadServerKind(store))!;
    await kind.loadClient(platform); // before its time limits begin
    return kind.at(store, platform, env).openStore(now);
  });
}

function memoryStoreBytes({ memoryLimit = Infinity }: Runtime): number {
  return Math.min(MEMORY_STORE_BYTES, memoryLimit / 4);
}

function openFile(path: string, { database }: Runtime, options: { now(): number; onLost(): void }): Store {
  if (database === "kv") return createKvStore({ ...kvFile(path), ...options });
  return loadedLater(async () => {
    const { createSqliteStore, sqliteFile } = await import("../state/sqlite_store.ts");
    return createSqliteStore({ ...sqliteFile(path), ...options });
  });
}

/** The settings by which the configured store may lose data. Throws if its server does not answer. */
export async function risksOfStore(
  { store }: Config,
  platform: Pick<Platform, "readText" | "storeClient">,
  env: Env,
): Promise<StoreRisk[]> {
  const kind = await loadServerKind(store);
  await kind?.loadClient(platform);
  return await kind?.at(store, platform, env).readRisks() ?? [];
}

/** The losses of the store since the gateway began. */
export interface StoreLosses {
  /** The latest loss, in one sentence for operators. Absent if nothing was lost. */
  last?: string;
  add(message: string): void;
}

interface StoreParts {
  config: Config;
  platform: Runtime;
  env: Env;
  /** Milliseconds since the epoch. */
  now(): number;
  /** The socket of the keeper of several workers. */
  keeper?: string;
  keep: Keep;
  meter?: Meter;
  warn(warning: StoreWarning): void;
}

/** The store of a gateway, or `given` in its place, and its losses from now on. */
export function keepStore(
  given: Store | undefined,
  { config, platform, env, now, keeper, keep, meter, warn }: StoreParts,
): { store: Store; storeLosses: StoreLosses } {
  const storeLosses = keep("store losses", null, () => {
    const losses: StoreLosses = {
      add(message) {
        losses.last = message;
        warn({ time: new Date(now()).toISOString(), warning: "store", message });
      },
    };
    return losses;
  });
  const store = keep("store", null, () => {
    const made = given ?? createStore(config, platform, env, now, { keeper, onLost: storeLosses.add });
    return meter ? metered(made, meter) : made;
  });
  return { store, storeLosses };
}

/** A store whose code is loaded at the first need. */
function loadedLater(load: () => Promise<Store>): Store {
  let loading: Promise<Store> | undefined;
  let isClosed = false;
  const loaded = async () => {
    if (isClosed) throw new Error("Cannot use the store: it is closed");
    loading ??= load();
    // The next call tries again: the fault may be gone by then, such as a file that is missing.
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
 * The place where conversations are stored. Deno Deploy has a database of its own. Without a home directory or a
 * database, they are in memory.
 */
export function placeOfStore(store: Config["store"], platform: Runtime, env: Env): StorePlace {
  const { os, database, readText } = platform;
  const { hasFile, isShared } = storeKind(store.kind);
  if (isShared) return { server: serverName(store, { env, readText }) };
  if (!hasFile || !database) return "memory";
  if (isOnDeploy(env)) return "hosted";
  const file = store.path ?? defaultStorePath(os, env, database);
  return file === undefined ? "memory" : { path: file };
}

/** The hosts of the server, without the credentials that its URL may hold. */
function serverName({ kind, url = {} }: Config["store"], source: SecretSource): string {
  const hosts = storeKind(kind).server?.read(secretAt(url, source) ?? "")?.hosts ?? [];
  return hosts.map(({ host, port }) => `${host}:${port}`).join(", ") || `the server that ${url.file ?? url.env} names`;
}

/** Counts the calls of the store. */
function metered(store: Store, meter: Meter): Store {
  const timed = async <T>(operation: string, call: () => Promise<T>): Promise<T> => {
    const since = performance.now();
    let failed = true;
    try {
      const result = await call();
      failed = false;
      return result;
    } finally {
      meter.count({ type: "store", operation, seconds: (performance.now() - since) / 1000, failed });
    }
  };
  return {
    get: (...args) => timed("get", () => store.get(...args)),
    getRange: (...args) => timed("getRange", () => store.getRange(...args)),
    add: (...args) => timed("add", () => store.add(...args)),
    ensure: (...args) => timed("ensure", () => store.ensure(...args)),
    update: (...args) => timed("update", () => store.update(...args)),
    delete: (...args) => timed("delete", () => store.delete(...args)),
    close: () => store.close(),
  };
}
