import type { SharedCounts } from "../contract/shared_counts.ts";
import type { Input, ModelOperation } from "../canonical/operations.ts";
import type { Price } from "../canonical/price.ts";
import type { Driver, Target } from "../contract/driver.ts";
import type { Registry } from "../contract/registry.ts";
import type { Admission } from "../http/admission.ts";
import type { Authenticate, Caller } from "../http/auth.ts";
import type { LoadLimits, LoadShedder } from "../http/load_shedding.ts";
import type { SizeLimits } from "../http/size.ts";
import type { HostedRunner } from "../hosted/runner.ts";
import type { OperatorEndpoints } from "../http/operator_endpoints.ts";
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
import type { Reserving, Wanted } from "../state/budget/wanted.ts";
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
import type { CaptureStore } from "./capture_store.ts";
import type { ConsoleParts } from "./console.ts";
import type { DryRuns } from "./dry_run.ts";
import type { Workers } from "./workers.ts";
import type { RetryPolicy } from "../routing/failover.ts";
import type { Upstream } from "../upstream/send.ts";

/** Everything that requests share. Created once, in `app.ts`. */
export interface Gateway {
  /** Answers a request as if it came from outside, with this gateway or a modified copy. */
  answer(request: Request, peer: Peer | undefined, gateway: Gateway): Promise<Response>;
  /** The endpoints for operators, outside all lanes. */
  operatorEndpoints: OperatorEndpoints;
  registry: Registry;
  lanes: ReadonlyMap<string, Lane>;
  /** The prices of models that the configuration does not specify. */
  prices: Prices;
  /** The target that answered each conversation last. */
  affinity: SessionAffinity;
  /** The headers in which clients of any protocol identify a conversation. */
  sessionHeaders: readonly string[];
  upstreams: ReadonlyMap<string, Upstream>;
  /** Secrets of upstreams, catalogs and keys, which no answer may contain. */
  secrets: readonly string[];
  /** The drivers by name, for providers behind an upstream that need a different driver. */
  drivers: ReadonlyMap<string, Driver>;
  /** Tracks which targets fail. */
  breaker: Breaker;
  retry: RetryPolicy;
  hosted: HostedRunner;
  /** How long one answer may continue to run hosted tools. */
  hostedLimits: { rounds: number; calls: number; deadlineMs: number };
  hedges: HedgeBudget;
  authenticate: Authenticate;
  admission: Admission;
  /** Absent if no budgets are configured. */
  budgets?: BudgetBook;
  loadShedder: LoadShedder;
  limits: LoadLimits & SizeLimits & RunLimits & {
    headerBytes: number;
    bodyBytes: number;
    sendStallMs: number;
    sockets?: number;
    socketBytes: number;
  };
  continuity: Continuity;
  runs: Runs;
  conversations: Conversations;
  sealer: LoadSealer;
  calibration: Calibration;
  /** Token counts from upstreams. */
  upstreamCounts: ExactCounts;
  /** Token counts by the models' own vocabularies. */
  tokenizerCounts: ExactCounts;
  tokenizers: Tokenizers;
  uploads: Uploads;
  sockets: SocketsPart;
  /** Whether there can be several callers, so that each gets only its share of what has a limit (`util/shares.ts`). */
  hasSeveralCallers: boolean;
  /** Upgrades a request to a WebSocket. Absent if the platform does not support it. */
  upgrade?: Platform["upgrade"];
  pace: Pace;
  /** Milliseconds since the epoch. */
  now(): number;
  /** Milliseconds by a monotonic clock, for durations. */
  monotonic(): number;
  /** A new random id without a prefix. */
  newId(): string;
  log(entry: LogEntry): void;
  /** Counts events. Absent if metrics are disabled. */
  meter?: Meter;
  /** Running and finished requests for the console. Absent if there is no console. */
  feed?: Feed;
  /** Finds out what the gateway would do. Absent if there is no console. */
  dryRuns?: DryRuns;
  /** Records of what was sent, for the console. Absent if nothing is recorded. Loaded with the first request. */
  captures?: CaptureStorePart;
  /** Further parts of the console. Absent if there is no console. */
  console?: () => Promise<ConsoleParts>;
  /** Records which keys were issued or refused. Absent if the audit log is disabled. */
  audit?: Audit;
  /** Creates spans. Absent if the process was started without OpenTelemetry. */
  tracing?: Tracing;
  /** The usage of keys in recent days. Absent if it is not kept. */
  usage?: { read(days: number, key?: string): Promise<UsageRow[]>; retentionDays: number };
  /** The processes beside this one. Absent if it serves alone. */
  workers?: Workers;
  /** Counts shared with other gateways. Absent if this one counts alone. */
  shared?: Pick<SharedCounts, "isAlone" | "gateways"> & { begin(): void };
  /** The bytes of memory that the process uses. */
  memory(): number;
  /** How many times the server has been replaced. */
  renewals(): number;
  /** Aborted when the gateway should stop once its running requests have ended. */
  draining: AbortSignal;
  /** Aborted when the gateway stops without waiting. */
  signal: AbortSignal;
  /** The running requests, which that signal aborts. */
  running: Dependents;
}

/** The WebSockets of all callers. Their code is loaded with the first one. */
export interface SocketsPart {
  loaded?: Sockets;
  load(): Promise<Sockets>;
}

export interface CaptureStorePart {
  loaded?: CaptureStore;
  load(): Promise<CaptureStore>;
}

/** The budgets that pay for a request. */
export interface Payer {
  /** Whether it may not use targets without a price. */
  refusesUnpriced: boolean;
  /**
   * How much to reserve for an answer. It is a member of the payer because its code is loaded with the first budget
   * that is spent from.
   */
  reservingFor<K extends ModelOperation>(
    operation: K,
    input: Input<K>,
    inputTokens: number,
    price: Price,
    target: Pick<Target, "answerRoom" | "defaultMaxTokens">,
  ): Reserving | undefined;
  /**
   * Reserves an amount, synchronously if no other process must be asked. Throws `budget_exceeded`, or `unavailable` if
   * the remaining amount is unknown.
   */
  reserve(wanted: Wanted): Reservation | Promise<Reservation>;
}

export interface BudgetBook {
  /** Resolves to `undefined` if the caller's spending is not limited. */
  payerOf(caller: Caller): Promise<Payer | undefined>;
  /** The state of the caller's budgets, or of all budgets, as far as this process knows it. */
  known(caller?: Caller): BudgetState[];
  /** The state of the caller's own budgets, or of all budgets, from the store. */
  read(caller?: Caller): Promise<BudgetState[]>;
  /** Resolves once everything is written to the store, or has failed. */
  close(): Promise<void>;
}

export interface Pace {
  /** The upstream's silence after which the response head is sent, in milliseconds. */
  headAfterMs: number;
  /** The idle time towards the client after which a keep-alive is sent, in milliseconds. */
  keepAliveMs: number;
  /** How long a request waits for the store, in milliseconds. */
  storeMs: number;
  /** How long usage is collected before it is written to the store, in milliseconds. */
  gatherMs: number;
  /** How long a WebSocket may stay open, in milliseconds. */
  socketMs: number;
}
