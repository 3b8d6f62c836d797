/** Collects what is learned about one request: its notes, attempts and usage, and finally its log line. */
import { addUsage, completeUsage, type CountedBy, type ReportedUsage, type Usage } from "../canonical/usage.ts";
import type { Count } from "../canonical/usage.ts";
import { type PlannedTarget, type Price, targetName } from "../contract/planned_target.ts";
import type { GatewayError } from "../errors.ts";
import { addCosts, type Cost, type ListedPrice } from "../observe/cost.ts";
import type { AttemptReason } from "../observe/metric_events.ts";
import type { LogEntry } from "../observe/log.ts";
import type { AttemptTrace, RequestTrace } from "../observe/trace.ts";
import type { Dependent, Dependents } from "../util/abort.ts";
import { formatDollars } from "../util/dollars.ts";
import { Bill, type Pricing } from "./bill.ts";
import type { Payer } from "./guards.ts";
import { chargeFor } from "./charge.ts";
import type { Capture } from "./capture.ts";

/** The tokens of a conversation, as the gateway counts them for one target. */
export interface Counted extends Count {
  /** The estimate by the length of the texts alone. */
  estimate: number;
  /** Whether the conversation has no files. Only then is its count used for calibration. */
  isText: boolean;
  /** Whether the count was used to read the upstream's answer. */
  used: boolean;
}

/** The record of one target while it is tried. Changes made for this target do not apply to any other. */
export interface AttemptRecord {
  /** `upstream/model`. */
  target: string;
  /** The provider that served the request, if the upstream chose one and named it. */
  provider?: string;
  notes: Set<string>;
  /** The target's price, if it is configured. */
  price?: Price;
  /** The price in published lists. */
  listed?: ListedPrice;
  /** The tokens of its request. Absent if it is not a conversation. */
  counted?: Counted;
  /** How many tokens the answer may have for what a budget reserved, if the client set no limit. */
  answerLimit?: number;
  /** The attempt's span, if the request is traced. */
  trace?: AttemptTrace;
}

export function newAttemptRecord(where: PlannedTarget): AttemptRecord {
  return { target: targetName(where), notes: new Set(), ...(where.price && { price: where.price }) };
}

/** Limits the notes, so that a request with very many unsupported fields cannot flood the log. */
const MOST_NOTES = 100;
const LONGEST_NOTE = 200;

/** Adds a note, unless there are too many. */
export function addNote(notes: Set<string>, text: string): void {
  if (notes.size < MOST_NOTES) notes.add(text.slice(0, LONGEST_NOTE));
}

export interface RequestLogOptions {
  /** The facts about the request when it arrives. */
  entry: Pick<LogEntry, "time" | "id" | "method" | "path">;
  log(entry: LogEntry): void;
  /** Milliseconds since the request arrived. */
  elapsedMs(): number;
  /** How many calls of upstreams an answer may take. */
  mostCalls?: number;
  trace?: RequestTrace;
  /** Returns the text without the gateway's secrets. */
  hide?(text: string): string;
  /** The request among the running ones, from which it is removed when it is over. */
  running?: { all: Dependents; own: Dependent };
}

/** The log of one request. */
export class RequestLog {
  /** The known parts of the log line. */
  readonly entry: Partial<LogEntry>;
  /** The target that answers, or the one tried last. */
  attempt?: AttemptRecord;
  /** Whether a target has started to answer. */
  isAnswered = false;
  /** How many attempts were made. */
  asked = 0;
  /** How many attempts were the first of an answer: each round of hosted tools has its own. */
  firsts = 0;
  repeated = 0;
  /** How often its answer broke off and went on. */
  continued = 0;
  /** The reason for the next attempt. */
  reason: AttemptReason = "first";
  /** Present if the request is traced. */
  readonly trace?: RequestTrace;
  /** Present if the request is captured for the console. */
  capture?: Capture;
  /** Whether an operator sent it from the console and therefore wants to see it there. */
  isFromConsole = false;
  /** Whether its body is so large that it takes turns with other large bodies when it is sent. */
  isLarge = false;
  /** The estimate of the request's tokens at admission. */
  estimate = 0;
  /** The budgets that pay for it, if it is limited by any. */
  payer?: Payer;
  /** Whether its tokens are charged to a key. */
  isMetered = false;
  /** The estimated tokens of the answer so far, for answers that never report their usage. */
  emittedTokens = 0;
  /** Why it failed, if it did. */
  failure?: GatewayError;
  /** How the tokens at the beginning of the answer were counted. */
  countedBy?: CountedBy;
  /** How long the request has waited for the store so far, in milliseconds. */
  storeMs = 0;
  readonly #notes = new Set<string>();
  /** The latest attempt at each target. */
  readonly #attempts = new Map<PlannedTarget, AttemptRecord>();
  readonly elapsedMs: RequestLogOptions["elapsedMs"];
  readonly #log: RequestLogOptions["log"];
  readonly #hide: (text: string) => string;
  readonly #mostCalls: number;
  #charge?: number;
  /** The bills of all answers requested from upstreams. */
  readonly #bills: Bill[] = [];
  readonly #running: RequestLogOptions["running"];
  #atEnd: (() => void)[] = [];

  constructor(
    { entry, log, elapsedMs, trace, running, mostCalls = Infinity, hide = (text) => text }: RequestLogOptions,
  ) {
    this.#mostCalls = mostCalls;
    this.#hide = hide;
    this.entry = { ...entry };
    this.trace = trace;
    this.#running = running;
    this.#log = log;
    this.elapsedMs = elapsedMs;
  }

  /** Notes what was dropped, clamped or changed for all targets. Duplicates are ignored. */
  note(text: string): void {
    addNote(this.#notes, text);
  }

  /** The notes for the client, in order. Only one attempt counts: `attempt`. */
  notes(attempt = this.attempt): string[] {
    const own = attempt?.notes ?? this.#notes;
    if (own === this.#notes || own.size === 0) return [...this.#notes];
    return [...new Set([...this.#notes, ...own])];
  }

  /** Starts an attempt at the target. */
  begin(where: PlannedTarget): AttemptRecord {
    const attempt = newAttemptRecord(where);
    this.attempt = attempt;
    this.#attempts.set(where, attempt);
    return attempt;
  }

  /** The attempt at a target. */
  attemptAt(where: PlannedTarget): AttemptRecord | undefined {
    return this.#attempts.get(where);
  }

  /** Marks the target as the one that answers. From now on its notes are those of the answer. */
  serve(where: PlannedTarget): AttemptRecord | undefined {
    const attempt = this.#attempts.get(where);
    if (!attempt) return undefined;
    this.attempt = attempt;
    this.isAnswered = true;
    for (const note of attempt.notes) this.note(note);
    attempt.notes = this.#notes;
    return attempt;
  }

  /** Whether it may cause no further calls of upstreams. */
  areCallsSpent(): boolean {
    return this.asked + this.repeated - this.firsts >= this.#mostCalls - 1;
  }

  firstEvent(): void {
    this.entry.firstEventMs ??= this.elapsedMs();
  }

  /**
   * Takes the upstream's counts for the log and calculates the charge, which is limited. `emitted`: the estimated tokens of the
   * answer.
   */
  settle(reported: ReportedUsage, emitted: () => number): void {
    const weight = reported.outputTokens === undefined ? emitted() : 0;
    const usage = completeUsage(reported, { inputTokens: this.estimate }, weight);
    this.entry.usage = usage.reportedCost === undefined ? usage : withoutCost(usage);
    if (this.isMetered) this.#chargeFor(usage, emitted);
  }

  #chargeFor(usage: Usage, emitted: () => number): void {
    const charge = chargeFor(usage, () => this.estimate + emitted());
    this.#charge = charge.tokens;
    if (charge.reported === undefined) return;
    this.note(`charged ${charge.tokens} tokens of the ${charge.reported} that the upstream reported`);
  }

  /** Called before an answer is requested from an upstream. `inputTokens`: the estimated tokens of that request. */
  open(inputTokens: number, pricing: Pricing): Bill {
    const bill = new Bill(inputTokens, pricing);
    this.#bills.push(bill);
    return bill;
  }

  /** The known cost of all requests to upstreams so far. */
  get cost(): Cost | undefined {
    return this.#bills.length > 1 ? addCosts(this.#bills) : this.#bills[0]?.cost;
  }

  /** Ends the open bills, whose answers are no longer wanted. The log of an answer that never completed gets their usage. */
  closeBills(): void {
    for (const bill of this.#bills) if (!bill.isOver) bill.end(true);
    if (this.entry.usage) return;
    const used = this.#bills.flatMap(({ usage }) => usage ?? []);
    if (used.length === 0) return;
    this.entry.usage = withoutCost(used.reduce(addUsage));
  }

  /**
   * The tokens that a metered request is charged at its end. A request that failed before anything was emitted is free,
   * because the failure was not the caller's fault. A client that disconnects pays for its request and for what was
   * emitted, because disconnecting must not be a way to avoid paying.
   */
  charge(hasLeft: boolean): number {
    if (this.#charge !== undefined) return this.#charge;
    const hasFailed = this.entry.error !== undefined && this.emittedTokens === 0 && !hasLeft;
    return hasFailed ? 0 : this.estimate + Math.ceil(this.emittedTokens);
  }

  fail(error: GatewayError): void {
    this.failure = error;
    this.entry.error = error.code;
    this.entry.upstreamStatus = error.details.upstreamStatus;
    this.entry.cause = error.cause;
  }

  /** Records why something besides the answer failed. The cause of a failed request takes precedence. */
  explain(cause: unknown): void {
    this.entry.cause ??= cause;
  }

  /** Waits for the store or the shared counts, and measures the time. */
  async waitForStore<T>(work: Promise<T>): Promise<T> {
    const since = this.elapsedMs();
    try {
      return await work;
    } finally {
      this.storeMs += this.elapsedMs() - since;
    }
  }

  /** Runs `work` when the request is over, however it ends, or immediately if it already is. */
  atEnd(work: () => void): void {
    if (this.entry.status !== undefined) return work();
    this.#atEnd.push(work);
  }

  /** Ends the request without a log line. */
  discard(): void {
    this.#running?.all.delete(this.#running.own);
    for (const end of this.#atEnd.splice(0)) end();
  }

  /** Ends the request and writes its log line, once. */
  close(status: number): void {
    if (this.entry.status !== undefined) return;
    this.entry.status = status;
    this.discard();
    const { attempt, asked } = this;
    const notes = this.notes();
    this.closeBills();
    const { cost } = this;
    const line = { ...this.entry } as LogEntry;
    // Clients sometimes send a key as the model's name.
    line.path = this.#hide(line.path);
    if (line.model !== undefined) line.model = this.#hide(line.model);
    if (attempt) line.target = attempt.target;
    if (attempt?.provider !== undefined) line.provider = attempt.provider;
    if (asked > 1) line.attempts = asked;
    if (this.continued > 0) line.continued = this.continued;
    if (cost) line.cost = formatDollars(cost.pico);
    if (cost?.isEstimated) line.costEstimated = true;
    line.durationMs = this.elapsedMs();
    if (notes.length > 0) line.notes = notes;
    if (this.trace) line.traceId = this.trace.traceId;
    this.#log(line);
    this.trace?.end(line);
  }
}

/** The usage without the cost that the upstream reported. */
function withoutCost(usage: Usage): Usage {
  if (usage.reportedCost === undefined) return usage;
  const { reportedCost: _, ...counts } = usage;
  return counts;
}
