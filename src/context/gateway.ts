import type { Driver } from "../contract/driver.ts";
import type { Registry } from "../contract/registry.ts";
import type { SharedCounts } from "../contract/shared_counts.ts";
import type { Stage } from "../contract/stage.ts";
import type { ReadDocument } from "../hosted/read_document.ts";
import type { HostedRunner } from "../hosted/runner.ts";
import type { OperatorEndpoints } from "../http/operator_endpoints.ts";
import type { Sockets } from "../http/sockets.ts";
import type { AgeingCatalog } from "../lanes/catalog.ts";
import type { Lane } from "../lanes/lane.ts";
import type { Prices } from "../lanes/prices.ts";
import type { Peer, Platform } from "../platform/platform.ts";
import type { Breaker } from "../routing/circuit_breaker.ts";
import type { RetryPolicy } from "../routing/failover.ts";
import type { HedgeBudget } from "../routing/hedging.ts";
import type { SessionAffinity } from "../routing/session_affinity.ts";
import type { Continuity } from "../state/continuity.ts";
import type { Conversations } from "../state/conversations.ts";
import type { LoadFiles } from "../state/files.ts";
import type { Runs } from "../state/runs.ts";
import type { LoadSealer } from "../state/seal.ts";
import type { Threads } from "../state/threads.ts";
import type { Calibration } from "../tokens/calibration.ts";
import type { ExactCounts } from "../tokens/exact_counts.ts";
import type { Tokenizers } from "../tokens/tokenizers.ts";
import type { Upstream } from "../upstream/send.ts";
import type { Dependents } from "../util/abort.ts";
import type { Clocks } from "../util/clocks.ts";
import type { ConsoleParts } from "./console.ts";
import type { DryRuns } from "./dry_run.ts";
import type { Caller } from "../http/auth.ts";
import type { Guards } from "./guards.ts";
import type { Observers } from "./observers.ts";
import type { Hide } from "./secrets.ts";
import type { Workers } from "./workers.ts";

/** Everything that requests share. Created once, in `app.ts`. */
export interface Gateway {
  /**
   * Answers a request as if it came from outside, with this gateway or a modified copy. `known`: the caller, if already
   * authenticated.
   */
  answer(request: Request, peer: Peer | undefined, gateway: Gateway, known?: Caller): Promise<Response>;
  /** The endpoints for operators, outside all lanes. */
  operatorEndpoints: OperatorEndpoints;
  registry: Registry;
  lanes: ReadonlyMap<string, Lane>;
  upstreams: ReadonlyMap<string, Upstream>;
  /** The drivers by name, for providers behind an upstream that need a different driver. */
  drivers: ReadonlyMap<string, Driver>;
  /** The configured catalogs by name. */
  catalogs: ReadonlyMap<string, { list: AgeingCatalog }>;
  /** The prices of models that the configuration does not specify. */
  prices: Prices;
  /** Secrets of upstreams, catalogs and keys, which no answer may contain. */
  secrets: readonly string[];
  /** Returns the text without these secrets. */
  hide: Hide;
  guards: Guards;
  routing: Routing;
  hosted: HostedTools;
  /** Reads documents, which models do not. Absent if the configuration does not want it. */
  documents?(): Promise<ReadDocument>;
  /** The stages of plugins, which change each request at its target. */
  stages: readonly Stage[];
  state: StoredState;
  counting: Counting;
  sockets: SocketsPart;
  observe: Observers;
  /** Absent if there is no console. */
  console?: ConsolePart;
  process: Process;
  clocks: Clocks;
  pace: Pace;
  /** A new random id without a prefix. */
  newId(): string;
}

/** The parts that decide which target a request tries next. */
export interface Routing {
  /** The target that answered each conversation last. */
  affinity: SessionAffinity;
  /** The headers in which clients of any protocol identify a conversation. */
  sessionHeaders: readonly string[];
  /** Tracks which targets fail. */
  breaker: Breaker;
  retry: RetryPolicy & {
    /** How many calls of upstreams one answer may take. */
    calls: number;
  };
  hedges: HedgeBudget;
  /** Whether the configuration lets any answer that breaks off go on. */
  continues: boolean;
}

/** The tools that the gateway runs itself while a model answers. */
export interface HostedTools {
  runner: HostedRunner;
  /** The service that searches: its backend, or the server whose tool does it. */
  searchService?: string;
  /** How many rounds and calls one answer may take, and how long it may go on with them. */
  limits: {
    rounds: number;
    calls: number;
    deadlineMs: number;
    codeExecution?: { fileBytes: number; keys?: readonly string[] };
  };
  /** The model that draws pictures. Absent if the gateway draws none. */
  drawer?: { model: string; lane?: string };
}

/** The state of earlier requests in the store. */
export interface StoredState {
  /** Responses, for requests that continue one. */
  continuity: Continuity;
  conversations: Conversations;
  /** Conversations each of whose answers is continued once. */
  threads(): Promise<Threads>;
  /** Responses that are made in the background. */
  runs: Runs;
  /** Files that clients upload. Absent if the configuration turns them off. */
  files?: LoadFiles;
  /** Encrypts what upstreams want to get back from clients. */
  sealer: LoadSealer;
}

/** The parts that count the tokens of requests. */
export interface Counting {
  /** Corrects the estimates. */
  calibration: Calibration;
  /** Token counts from upstreams. */
  upstreamCounts: ExactCounts;
  /** Token counts by the models' own vocabularies. */
  tokenizerCounts: ExactCounts;
  tokenizers: Tokenizers;
}

/** The WebSockets of all callers. Their code is loaded with the first one. */
export interface SocketsPart {
  loaded?: Sockets;
  load(): Promise<Sockets>;
  /** Upgrades a request to a WebSocket. Absent if the platform does not support it. */
  upgrade?: Platform["upgrade"];
}

/** The parts that only the console needs. */
export interface ConsolePart {
  parts(): Promise<ConsoleParts>;
  /** Finds out what the gateway would do. */
  dryRuns: DryRuns;
}

/** This process, its end, and the processes beside it. */
export interface Process {
  /** The bytes of memory that it uses. */
  memory(): number;
  /** The processes beside this one. Absent if it serves alone. */
  workers?: Workers;
  /** Counts shared with other gateways. Absent if this one counts alone. */
  shared?: Pick<SharedCounts, "isAlone" | "gateways"> & { begin(): void };
  /** How many times the server has been replaced. */
  readonly renewals: { readonly count: number };
  /** Aborted when the gateway should stop once its running requests have ended. */
  draining: AbortSignal;
  /** Aborted when the gateway stops without waiting. */
  signal: AbortSignal;
  /** The running requests, which that signal aborts. */
  running: Dependents;
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
