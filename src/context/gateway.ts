import type { SharedCounts } from "../contract/shared_counts.ts";
import type { Driver } from "../contract/driver.ts";
import type { Registry } from "../contract/registry.ts";
import type { Admission } from "../http/admission.ts";
import type { Authenticate, Caller } from "../http/auth.ts";
import type { Load, LoadLimits } from "../http/load_shedding.ts";
import type { SizeLimits } from "../http/size.ts";
import type { HostedRunner } from "../hosted/runner.ts";
import type { Service } from "../http/service.ts";
import type { Sockets } from "../http/sockets.ts";
import type { Peer, Platform } from "../platform/platform.ts";
import type { Uploads } from "../http/uploads.ts";
import type { SessionAffinity } from "../routing/session_affinity.ts";
import type { Lane } from "../lanes/lane.ts";
import type { Prices } from "../lanes/prices.ts";
import type { Feed } from "../observe/feed.ts";
import type { LogEntry } from "../observe/log.ts";
import type { Audit } from "../observe/audit.ts";
import type { Meter } from "../observe/meter.ts";
import type { BudgetState } from "../state/budget/budget.ts";
import type { Reservation } from "../state/budget/page.ts";
import type { Tracing } from "../observe/trace.ts";
import type { Continuity } from "../state/continuity.ts";
import type { Conversations } from "../state/conversations.ts";
import type { RunLimits, Runs } from "../state/runs.ts";
import type { LoadSealer } from "../state/seal.ts";
import type { UsageRow } from "../state/usage_book.ts";
import type { Calibration } from "../tokens/calibration.ts";
import type { ExactCounts } from "../tokens/exact.ts";
import type { Tokenizers } from "../tokens/tokenizers.ts";
import type { Breaker } from "../routing/circuit_breaker.ts";
import type { HedgeBudget } from "../routing/hedging.ts";
import type { Dependents } from "../util/abort.ts";
import type { Recording } from "./recording.ts";
import type { ConsoleParts } from "./console.ts";
import type { Rehearsals } from "./rehearsal.ts";
import type { Workers } from "./workers.ts";
import type { RetryPolicy } from "../routing/failover.ts";
import type { Upstream } from "../upstream/send.ts";

/** All that requests share; made once, by `app.ts`. */
export interface Gateway {
  /** Answers a request as one that came from outside, by this gateway or one that is changed. */
  answer(request: Request, peer: Peer | undefined, gateway: Gateway): Promise<Response>;
  /** What operators ask, apart from every lane. */
  service: Service;
  registry: Registry;
  lanes: ReadonlyMap<string, Lane>;
  /** What models cost, where the configuration does not say it. */
  prices: Prices;
  /** Where conversations were answered last. */
  affinity: SessionAffinity;
  /** In which clients of any protocol say which conversation a request belongs to. */
  sessionHeaders: readonly string[];
  upstreams: ReadonlyMap<string, Upstream>;
  /** What no answer may hold: the secrets of upstreams, catalogs and keys. */
  secrets: readonly string[];
  /** By name; for the places behind an upstream, which may speak otherwise than it does. */
  drivers: ReadonlyMap<string, Driver>;
  /** Which targets fail. */
  breaker: Breaker;
  retry: RetryPolicy;
  hosted: HostedRunner;
  /** How long one answer may go on running hosted tools. */
  hostedLimits: { rounds: number; calls: number; deadlineMs: number };
  hedges: HedgeBudget;
  authenticate: Authenticate;
  admission: Admission;
  /** Absent where there are none. */
  budgets?: BudgetBook;
  load: Load;
  limits: LoadLimits & SizeLimits & RunLimits & {
    headerBytes: number;
    bodyBytes: number;
    sendStallMs: number;
    sockets: number;
  };
  continuity: Continuity;
  runs: Runs;
  conversations: Conversations;
  sealer: LoadSealer;
  calibration: Calibration;
  /** What upstreams counted. */
  upstreamCounts: ExactCounts;
  /** What was counted by models' own vocabularies. */
  tokenizerCounts: ExactCounts;
  tokenizers: Tokenizers;
  uploads: Uploads;
  sockets: Sockets;
  /** Makes a WebSocket of a request that asks for one; absent where the platform has none. */
  upgrade?: Platform["upgrade"];
  pace: Pace;
  /** Milliseconds since the epoch. */
  now(): number;
  /** Milliseconds by a clock that never steps: how long things take. */
  monotonic(): number;
  /** A new random id, without a prefix. */
  newId(): string;
  log(entry: LogEntry): void;
  /** Counts what happens; absent where nothing is to be counted. */
  meter?: Meter;
  /** What runs and what ended, for the console; absent where there is none. */
  feed?: Feed;
  /** Finds out what the gateway would do; absent where there is no console. */
  rehearsals?: Rehearsals;
  /** What was sent, for the console; absent where it is not kept. It is loaded with the first request. */
  recording?: RecordingPart;
  /** What the console needs beside; absent where there is none. */
  console?: () => Promise<ConsoleParts>;
  /** Who was given or refused a key; absent where nobody wants to know. */
  audit?: Audit;
  /** Makes spans; absent where the process was started without OpenTelemetry. */
  tracing?: Tracing;
  /** What keys used, of the last days; absent where it is not kept. */
  usage?: { read(days: number, key?: string): Promise<UsageRow[]>; retentionDays: number };
  /** Those that serve beside this process; absent where it serves alone. */
  workers?: Workers;
  /** What it counts together with other gateways; absent where it counts alone. */
  shared?: Pick<SharedCounts, "isAlone" | "gateways"> & { begin(): void };
  /** The bytes of memory that the process takes. */
  memory(): number;
  /** How often a new server has taken the place of the last one. */
  renewals(): number;
  /** Aborted when the gateway is to stop, once what runs has ended. */
  draining: AbortSignal;
  /** Aborted when the gateway stops without waiting. */
  signal: AbortSignal;
  /** The requests that run, which end with that. */
  running: Dependents;
}

export interface RecordingPart {
  loaded?: Recording;
  load(): Promise<Recording>;
}

/** What a request is paid from. */
export interface Payer {
  /** Whether it may use no target without a price. */
  refusesUnpriced: boolean;
  /**
   * Sets an amount in pico-dollars aside; at once where nobody has to be asked. Throws `budget_exceeded`, or `unavailable` where
   * nobody knows what is left.
   */
  reserve(amount: bigint): Reservation | Promise<Reservation>;
}

export interface BudgetBook {
  /** Nothing where the caller may spend as much as it wants. */
  payerOf(caller: Caller): Promise<Payer | undefined>;
  /** What is known here of the budgets that the caller spends from, or of all. */
  known(caller?: Caller): BudgetState[];
  /** What the store knows of the caller's own budgets, or of all. */
  read(caller?: Caller): Promise<BudgetState[]>;
  /** Resolves once the store knows all, or has failed. */
  close(): Promise<void>;
}

export interface Pace {
  /** Silence of the upstream after which the client gets its response head, in milliseconds. */
  headAfterMs: number;
  /** Silence towards the client after which a keep-alive goes out, in milliseconds. */
  keepAliveMs: number;
  /** How long a request waits for the store, in milliseconds. */
  storeMs: number;
  /** How long what was used may wait for what is used next before it is written to the store, in milliseconds. */
  gatherMs: number;
  /** How long a WebSocket may be open, in milliseconds. */
  socketMs: number;
}
