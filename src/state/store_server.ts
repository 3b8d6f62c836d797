/** Stores on servers: what each kind of them can open. */
import type { Config } from "../config/schema.ts";
import type { Platform } from "../platform/platform.ts";
import type { CommonCounts, CountsOptions } from "./counts.ts";
import type { Store } from "./store.ts";

/** The configured server. Nothing connects to it before the first need. */
export interface StoreServer {
  /** `now`: milliseconds since the epoch. */
  openStore(now: () => number): Store;
  openCounts(options: Omit<CountsOptions, "counter">): CommonCounts;
  /** By what it may lose what it is given. Throws if the server cannot be asked. */
  readRisks(): Promise<StoreRisk[]>;
}

/** One kind of server. Its module is loaded only where such a store is configured. */
export interface StoreServerKind {
  /** Loads what speaks to such servers. Whoever is under a limit of time loads it before. */
  loadClient(): Promise<unknown>;
  /** Throws if the configuration's variable does not hold the URL of such a server. */
  at(store: Config["store"], platform: Pick<Platform, "readText">, env: Platform["env"]): StoreServer;
}

export interface StoreRisk {
  /** What was found, as a name that never changes. */
  name: "store-evicts" | "store-not-persistent";
  /** One sentence without a full stop at its end. */
  message: string;
  cure: string;
}
