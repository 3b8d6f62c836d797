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

/** Everything that the parts of a gateway are made from. */
export interface World extends PartKeeper {
  config: Config;
  plugins: Plugins;
  platform: Platform;
  env(name: string): string | undefined;
  /** How upstreams and catalogs are called. */
  transports: Transports;
  /** Milliseconds since the epoch. */
  now(): number;
  /** Milliseconds by a monotonic clock. */
  monotonic(): number;
  newId(): string;
  log(entry: LogEntry): void;
  /** Reports a problem to operators. */
  warn(warning: Warning | StoreWarning): void;
  /** Absent if metrics are disabled. */
  meter?: Meter;
  /** Absent if the audit log is disabled. */
  audit?: Audit;
  /** Absent if the process was started without OpenTelemetry. */
  tracing?: Tracing;
  /** Absent if usage is not kept. */
  usage?: UsageKeeper;
  /** The running and the finished requests, for the console. */
  feed?: Feed;
  /** The dry runs of the console. */
  dryRuns?: DryRuns;
  /** The captures of requests. Absent if they are not kept. */
  captures?: CaptureStorePart;
  pace: Pace;
  store: Store;
  storeLosses: StoreLosses;
  /** The state shared with other gateways. Absent if this gateway shares none. */
  shared?: Shared;
  areDescriptorsScarce(): boolean;
  /** The processes that serve beside this one. Absent if it serves alone. */
  workers?: Workers;
  /** The configuration file. Absent if a program passed the configuration. */
  configuration?: () => Promise<ConfigurationDesk>;
  /** Aborted when the gateway stops without waiting. */
  stop: AbortController;
  /** Aborted when the gateway should stop once its running requests have ended. */
  draining: AbortController;
  /** How often a new server has replaced the last one. */
  renewals: { count: number };
}
