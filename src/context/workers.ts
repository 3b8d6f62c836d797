/** The processes that serve together, at one port and on one store. */
import type { ErrorCode } from "../errors.ts";

/** How one process is, for operators. */
export interface ProcessStatus {
  status: "ready" | "draining";
  requestsRunning: number;
  streamsOpen: number;
  webSocketsOpen: number;
  memoryBytes: number;
  upstreams: UpstreamStatus[];
}

export interface UpstreamStatus {
  name: string;
  driver: string;
  /** The variable that has its secret, where that is not set. */
  missingSecret?: string;
  /** Models that rest. */
  resting: string[];
  running?: number;
  waiting?: number;
  latencyMs?: number;
  lastError?: { code: ErrorCode; time: string };
}

export interface WorkerReport {
  status: ProcessStatus;
  /** The page of metrics; empty where nothing is counted. */
  metrics: string;
}

/** One of the others. */
export interface OtherWorker extends WorkerReport {
  worker: number;
  pid: number;
  /** Whether it has reported lately. One that has not hangs, or is gone. */
  isFresh: boolean;
}

/** What one process knows of those that serve beside it. */
export interface Workers {
  /** Its own number, from 1. */
  worker: number;
  pid: number;
  /** How many there are. */
  count: number;
  /** What processes counted whose place this one has taken: a page of metrics. */
  inherited: string;
  /** From now on this is what the others read of this process. */
  publish(report: WorkerReport): Promise<void>;
  others(): Promise<OtherWorker[]>;
}
