/** The interfaces of stores on servers. */
import type { Config } from "../config/schema.ts";
import type { Platform } from "../platform/platform.ts";
import type { CommonCounts, CountsOptions } from "./counts.ts";
import type { Store } from "./store.ts";

/** The configured server. It is connected to when it is first needed. */
export interface StoreServer {
  /** `now`: milliseconds since the epoch. */
  openStore(now: () => number): Store;
  openCounts(options: Omit<CountsOptions, "counter">): CommonCounts;
  /** The settings by which the server may lose values. Throws if it does not answer, or forbids the question. */
  readRisks(): Promise<StoreRisk[]>;
}

/** One kind of server. Its module is loaded only if such a store is configured. */
export interface StoreServerKind {
  /** Loads the client library. A caller with a time limit calls this before the limit starts. */
  loadClient(platform: Pick<Platform, "storeClient">): Promise<unknown>;
  /** Throws if the configuration's variable does not hold the URL of such a server. */
  at(store: Config["store"], platform: Pick<Platform, "readText" | "storeClient">, env: Platform["env"]): StoreServer;
}

export interface StoreRisk {
  /** The name of the risk, which never changes. */
  name: "store-evicts" | "store-not-persistent";
  /** One sentence without a full stop at its end. */
  message: string;
  cure: string;
}
