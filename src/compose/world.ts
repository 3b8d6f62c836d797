import type { DryRuns } from "../context/dry_run.ts";
import type { Feed } from "../observe/feed.ts";
import type { Config } from "../config/schema.ts";
import type { ConfigurationDesk } from "../context/console.ts";
import type { CaptureStorePart, Pace } from "../context/gateway.ts";
import type { Workers } from "../context/workers.ts";
import type { LogEntry, StoreWarning, Warning } from "../observe/log.ts";
import type { Audit } from "../observe/audit.ts";
import type { Meter } from "../observe/meter.ts";
import type { Tracing } from "../observe/trace.ts";
import type { Platform } from "../platform/platform.ts";
import type { Store } from "../state/store.ts";
import type { StoreLosses } from "./store.ts";
import type { PartKeeper } from "./parts.ts";
import type { Plugins } from "./plugins.ts";
import type { Shared } from "./shared.ts";
import type { Transports } from "./transports.ts";
import type { UsageKeeper } from "./usage.ts";

/** What every part of a gateway is made from. */
export interface World extends PartKeeper {
  config: Config;
  plugins: Plugins;
  platform: Platform;
  env(name: string): string | undefined;
  /** How upstreams and catalogs are called. */
  transports: Transports;
  /** Milliseconds since the epoch. */
  now(): number;
  /** Milliseconds by a clock that never steps. */
  monotonic(): number;
  newId(): string;
  log(entry: LogEntry): void;
  /** What operators should look at. */
  warn(warning: Warning | StoreWarning): void;
  /** Absent where nothing is to be counted. */
  meter?: Meter;
  /** Absent where the configuration wants none. */
  audit?: Audit;
  /** Absent where the process was started without OpenTelemetry. */
  tracing?: Tracing;
  /** Absent where it is not kept. */
  usage?: UsageKeeper;
  /** What runs and what ended, for the console. */
  feed?: Feed;
  /** For the console, too. */
  dryRuns?: DryRuns;
  /** What was sent, where it is kept. */
  captures?: CaptureStorePart;
  pace: Pace;
  store: Store;
  storeLosses: StoreLosses;
  /** What it has in common with other gateways; absent where it has nothing. */
  shared?: Shared;
  areDescriptorsScarce(): boolean;
  /** Those that serve beside this process; absent where it serves alone. */
  workers?: Workers;
  /** The file of the configuration; absent where a program gave it. */
  configuration?: () => Promise<ConfigurationDesk>;
  /** Aborted when the gateway stops without waiting. */
  stop: AbortController;
  /** Aborted when the gateway is to stop, once what runs has ended. */
  draining: AbortController;
  /** How often a new server has taken the place of the last one. */
  renewals: { count: number };
}
