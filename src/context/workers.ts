/** The processes that serve together, on the same port and store. */
import type { ErrorCode } from "../errors.ts";
import type { CatalogState } from "../lanes/catalog.ts";
import type { RefusedPart } from "../upstream/learnt.ts";

/** The state of one process, for operators. */
export interface ProcessStatus {
  status: "ready" | "draining";
  requestsRunning: number;
  streamsOpen: number;
  webSocketsOpen: number;
  memoryBytes: number;
  upstreams: UpstreamStatus[];
  /** The lists of models that this process has loaded. */
  catalogs?: ({ name: string } & CatalogState)[];
  /** The public prices that come with the gateway. Absent if they are not used. */
  prices?: { version: string; date: string };
}

export interface UpstreamStatus {
  name: string;
  driver: string;
  /** The environment variable of its secret, if the variable is not set. */
  missingSecret?: string;
  /** The file of its secret, if the file holds none. */
  missingFile?: string;
  /** Models that are resting after failures. */
  resting: string[];
  running?: number;
  waiting?: number;
  latencyMs?: number;
  lastError?: { code: ErrorCode; time: string };
  /** The parts that its models were found to refuse. Absent if there are none. */
  refused?: RefusedPart[];
}

export interface WorkerReport {
  status: ProcessStatus;
  /** The metrics page. Empty if there are no metrics. */
  metrics: string;
}

/** Another process. */
export interface OtherWorker extends WorkerReport {
  worker: number;
  pid: number;
  /** Whether it has reported recently. If not, it hangs or has ended. */
  isFresh: boolean;
}

/** One process's view of the others. */
export interface Workers {
  /** Its own number, starting at 1. */
  worker: number;
  pid: number;
  /** The number of processes. */
  count: number;
  /** The socket of the keeper, which opens the store for all processes. Not used if the store is on a server. */
  keeper?: string;
  /** A metrics page with the counts of earlier processes that this one has replaced. */
  inherited: string;
  /** Publishes the report that the other processes read about this one. */
  publish(report: WorkerReport): Promise<void>;
  others(): Promise<OtherWorker[]>;
}
