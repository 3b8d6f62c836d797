import type { JsonLimits } from "../canonical/json_limits.ts";
import type { SecretPlace } from "../contract/call.ts";
import type { Driver, Target } from "../contract/driver.ts";
import type { Quirks } from "../contract/quirks.ts";
import type { Transport } from "../platform/transport.ts";
import type { Timeouts } from "./deadlines.ts";
import type { LearntRelaxations } from "../relaxations/learnt.ts";

/** One configured service, ready to be called. */
export interface Upstream {
  name: string;
  driver: Driver;
  /** Without a query and a trailing slash; absent if the driver makes no calls. */
  baseUrl?: string;
  /** Follows the path of every call below the base URL. */
  query?: string;
  /** Sent only to this upstream. */
  secret?: string;
  /** The header or parameter of the secret. If absent, it is sent as `Authorization: Bearer`. */
  secretPlace?: SecretPlace;
  /** The environment variable of the secret, if it is unset, or its file, if that holds none. */
  missingSecret?: string;
  /** Whether the secret is in a file. */
  hasSecretFile?: boolean;
  /** Whether it receives the caller's token instead of a configured secret. */
  takesTokens: boolean;
  /** The most calls at a time; unlimited if absent. */
  concurrency?: {
    acquire(caller: string, signal: AbortSignal, isExtra?: boolean): Promise<() => void>;
    load(): { running: number; waiting: number };
  };
  /** Completions have a limit of their own. */
  completionConcurrency?: Upstream["concurrency"];
  headers: Readonly<Record<string, string>>;
  /** Whether the trace context is sent to it. */
  propagateTrace?: boolean;
  /** The transport for its calls. */
  transport: Transport;
  /** Top-level body fields that it refuses. They are left out and noted. */
  refuses: readonly string[];
  /** Remembers what it was found to refuse. */
  refusals: LearntRelaxations;
  /** Whether it is asked again without what it refuses. What one key's request taught holds for all keys if `trusted`. */
  relax: "auto" | "trusted" | "off";
  /** How answers that broke off are continued. */
  continuation: "auto" | "prefill" | "instruction" | "off";
  /** Defaults for models without settings of their own. */
  quirks: Quirks & Pick<Target, "systemMessages">;
  /**
   * For an upstream that chooses among providers: how it reports its choice, and which suffixes after a model's colon
   * are policies rather than providers.
   */
  providers?: { servedBy: string; policies: readonly string[] };
  /** The catalog with the tokenizer files of its models. */
  tokenizers?: string;
  /** Whether it keeps files itself, so that ids unknown here may be known there. */
  fileIds: boolean;
  /** The origins that results may be fetched from if the upstream returns URLs. `*.` stands for all subdomains. */
  resultsFrom: readonly string[];
  timeouts: Timeouts;
  /** The longest whole answer, in bytes. */
  answerBytes: number;
  /** The longest text of one answer, in characters. */
  answerText: number;
  /** The longest answer that is passed through, in bytes. */
  streamBytes: number;
  /** The longest line or event of a stream, in characters. */
  frameBytes: number;
  /** Limits on the JSON of an answer or of one event of a stream. */
  json: JsonLimits;
}

/** The parts of an upstream that a call's URL, headers and transport come from. */
export type Callee = Addressed & Pick<Upstream, "name" | "resultsFrom" | "transport">;
export type Addressed = Pick<Upstream, "baseUrl" | "query" | "headers" | "secret" | "secretPlace">;
