import type { DryRuns } from "../context/dry_run.ts";
import type { Config } from "../config/schema.ts";
import type { ConfigurationDesk } from "../context/console.ts";
import type { SetupDesk } from "../context/setup.ts";
import type { Pace } from "../context/gateway.ts";
import type { Observers } from "../context/observers.ts";
import type { Workers } from "../context/workers.ts";
import type { StoreWarning, Warning } from "../observe/log.ts";
import type { Platform } from "../platform/platform.ts";
import type { Store } from "../state/store.ts";
import type { Clocks } from "../util/clocks.ts";
import type { StoreLosses } from "./store.ts";
import type { PartKeeper } from "./kept_parts.ts";
import type { Plugins } from "./plugins.ts";
import type { Shared } from "./shared.ts";
import type { Transports } from "./transports.ts";
import type { UsageKeeper } from "./usage.ts";

/** Everything that the parts of a gateway are made from. */
export interface World extends PartKeeper {
  config: Config;
  plugins: Plugins;
  platform: Platform;
  env(name: string): string | undefined;
  /** The text of a file that holds a secret. Throws if it cannot be read. */
  readText(path: string): string;
  /** How upstreams and catalogs are called. */
  transports: Transports;
  clocks: Clocks;
  newId(): string;
  observe: WorldObservers;
  /** Absent if there is no console. */
  dryRuns?: DryRuns;
  pace: Pace;
  store: Store;
  storeLosses: StoreLosses;
  process: ProcessControls;
  /** The configuration file. Absent if a program passed the configuration. */
  configuration?: () => Promise<ConfigurationDesk>;
  /** The launcher, for the console's guide. Absent if a program passed the configuration. */
  setup?: () => Promise<SetupDesk>;
}

export interface WorldObservers extends Observers {
  /** Reports a problem to operators. */
  warn(warning: Warning | StoreWarning): void;
  usage?: UsageKeeper;
}

/** The end of this process's gateway, and the state that it shares with others. */
export interface ProcessControls {
  /** The state shared with other gateways. Absent if this gateway shares none. */
  shared?: Shared;
  /** The processes beside this one. Absent if it serves alone. */
  workers?: Workers;
  areDescriptorsScarce: (() => boolean) | undefined;
  /** Aborted when the gateway stops without waiting. */
  stop: AbortController;
  /** Aborted when the gateway should stop once its running requests have ended. */
  draining: AbortController;
  /** How many times the server has been replaced. */
  renewals: { count: number };
}
