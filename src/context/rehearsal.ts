/** Copies of the gateway that call nobody and keep nothing, by which it finds out what it would do. */
import type { Destination } from "../contract/destination.ts";
import type { Fidelity } from "../contract/fidelity.ts";
import type { LogEntry } from "../observe/log.ts";
import type { Fetch } from "../platform/fetch_transport.ts";
import type { Store } from "../state/store.ts";

export interface RehearsalWorld {
  /** Answers in place of the upstream. */
  fetch: Fetch;
  store: Store;
  log(entry: LogEntry): void;
}

export interface Rehearsed {
  fetch(request: Request): Promise<Response>;
  /** Resolves once no answer is made in the background. */
  settled(): Promise<void>;
}

export type Rehearse = (world: RehearsalWorld) => Rehearsed;

export interface Rehearsals {
  tables(): Promise<Fidelity>;
  /** The copies know that model of that lane at that target, and nothing else. */
  of(lane: string, model: string, target: Destination): Rehearse;
}
