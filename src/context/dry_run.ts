/** Copies of the gateway that call no upstream and store nothing, with which it finds out what it would do. */
import type { PlannedTarget } from "../contract/planned_target.ts";
import type { Fidelity } from "../contract/fidelity.ts";
import type { LogEntry } from "../observe/log.ts";
import type { Fetch } from "../platform/fetch_transport.ts";
import type { Store } from "../state/store.ts";

export interface DryRunWorld {
  /** Answers instead of the upstream. */
  fetch: Fetch;
  store: Store;
  log(entry: LogEntry): void;
}

export interface DryRunGateway {
  fetch(request: Request): Promise<Response>;
  /** Resolves once no background answer is being made. */
  settled(): Promise<void>;
}

export type StartDryRun = (world: DryRunWorld) => DryRunGateway;

export interface DryRuns {
  tables(): Promise<Fidelity>;
  /** The copies know only this model of this lane at this target. */
  of(lane: string, model: string, target: PlannedTarget): StartDryRun;
}
