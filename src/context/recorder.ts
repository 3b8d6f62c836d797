/** What becomes of one request, as it is learnt: its notes, attempts and usage, up to its line in the log. */
import { addUsage, completeUsage, type CountedBy, type ReportedUsage, type Usage } from "../canonical/usage.ts";
import type { Count } from "../canonical/usage.ts";
import { type Destination, type Price, targetName } from "../contract/destination.ts";
import type { GatewayError } from "../errors.ts";
import { addCosts, type Cost, type ListedPrice } from "../observe/cost.ts";
import type { AttemptReason } from "../observe/happening.ts";
import type { LogEntry } from "../observe/log.ts";
import type { AttemptTrace, RequestTrace } from "../observe/trace.ts";
import { formatDollars } from "../util/dollars.ts";
import { Bill, type Pricing } from "./bill.ts";
import type { Payer } from "./gateway.ts";
import { chargeFor } from "./charge.ts";
import type { Recorded } from "./recorded.ts";

/** A conversation's tokens as the gateway counts them for one target. */
export interface Counted extends Count {
  /** By the length of its texts alone. */
  estimate: number;
  /** Whether all of it is text: what a picture costs says nothing of the rest. */
  isText: boolean;
  /** Whether the upstream's answer was read with it. */
  used: boolean;
}

/** What is known of one target while it is asked. What was changed for it holds for no other one. */
export interface Attempt {
  /** `upstream/model`. */
  target: string;
  /** Who served there, where the upstream chose among providers and named its choice. */
  provider?: string;
  notes: Set<string>;
  /** What it costs there, where the configuration says it. */
  price?: Price;
  /** What lists of prices say of it. */
  listed?: ListedPrice;
  /** What it is asked, in tokens; nothing where it is no conversation. */
  counted?: Counted;
  /** Its span, where there is one. */
  trace?: AttemptTrace;
}

export function newAttempt(where: Destination): Attempt {
  return { target: targetName(where), notes: new Set(), ...(where.price && { price: where.price }) };
}

/** A request full of things to leave out must not fill the log with them. */
const MOST_NOTES = 100;
const LONGEST_NOTE = 200;

/** Adds a note to those that are known, unless there are too many. */
export function addNote(notes: Set<string>, text: string): void {
  if (notes.size < MOST_NOTES) notes.add(text.slice(0, LONGEST_NOTE));
}

export interface RecorderOptions {
  /** What is known of the request when it comes. */
  entry: Pick<LogEntry, "time" | "id" | "method" | "path">;
  log(entry: LogEntry): void;
  /** Milliseconds since the request came. */
  elapsedMs(): number;
  trace?: RequestTrace;
  /** The same text without the gateway's secrets. */
  hide?(text: string): string;
}

/** One for each request. */
export class Recorder {
  /** The line in the log, as far as it is known. */
  readonly entry: Partial<LogEntry>;
  /** The target that answers, or was asked last. */
  attempt?: Attempt;
  /** Whether a target has begun to answer. */
  isAnswered = false;
  /** How often a target was asked. */
  asked = 0;
  /** Why the target is asked that is asked next. */
  reason: AttemptReason = "first";
  /** Where the request is traced. */
  readonly trace?: RequestTrace;
  /** What was sent, where that is kept. */
  record?: Recorded;
  /** Whether an operator sends it from the console, and so wants to see it there. */
  isFromConsole = false;
  /** Tokens of the request, as they were estimated when it was admitted. */
  estimate = 0;
  /** What it is paid from, where that is limited. */
  payer?: Payer;
  /** Whether tokens are charged to a key. */
  isMetered = false;
  /** Tokens of the answer that were emitted so far, estimated: for one that never reports its usage. */
  emittedTokens = 0;
  /** Why it failed, where it did. */
  failure?: GatewayError;
  /** Who counted the tokens that the answer's beginning reports. */
  countedBy?: CountedBy;
  /** How long the request has waited for the store so far, in milliseconds. */
  storeMs = 0;
  readonly #notes = new Set<string>();
  /** The latest at each destination. */
  readonly #attempts = new Map<Destination, Attempt>();
  readonly elapsedMs: RecorderOptions["elapsedMs"];
  readonly #log: RecorderOptions["log"];
  readonly #hide: (text: string) => string;
  #charge?: number;
  /** Of everything that an upstream was asked for. */
  readonly #bills: Bill[] = [];
  #atEnd: (() => void)[] = [];

  constructor({ entry, log, elapsedMs, trace, hide = (text) => text }: RecorderOptions) {
    this.#hide = hide;
    this.entry = { ...entry };
    this.trace = trace;
    this.#log = log;
    this.elapsedMs = elapsedMs;
  }

  /** What was dropped, clamped or changed, whoever answers: each once. */
  note(text: string): void {
    addNote(this.#notes, text);
  }

  /** What is reported to the client, in order: of all attempts only the one that counts, `attempt`. */
  notes(attempt = this.attempt): string[] {
    const own = attempt?.notes ?? this.#notes;
    if (own === this.#notes || own.size === 0) return [...this.#notes];
    return [...new Set([...this.#notes, ...own])];
  }

  /** The target is asked from now on. */
  begin(where: Destination): Attempt {
    const attempt = newAttempt(where);
    this.attempt = attempt;
    this.#attempts.set(where, attempt);
    return attempt;
  }

  /** What is known of a target that was asked. */
  attemptAt(where: Destination): Attempt | undefined {
    return this.#attempts.get(where);
  }

  /** The target is the one that answers: from now on its notes are the answer's. */
  serve(where: Destination): Attempt | undefined {
    const attempt = this.#attempts.get(where);
    if (!attempt) return undefined;
    this.attempt = attempt;
    this.isAnswered = true;
    for (const note of attempt.notes) this.note(note);
    attempt.notes = this.#notes;
    return attempt;
  }

  firstEvent(): void {
    this.entry.firstEventMs ??= this.elapsedMs();
  }

  /**
   * The upstream's counts are the answer's, for the log; what is charged is bounded. `emitted`: the answer's tokens,
   * estimated.
   */
  settle(reported: ReportedUsage, emitted: () => number): void {
    const { estimate } = this;
    const usage = withoutCost(
      completeUsage(reported, { inputTokens: estimate }, reported.outputTokens === undefined ? emitted() : 0),
    );
    this.entry.usage = usage;
    const charge = chargeFor(usage, () => estimate + emitted());
    this.#charge = charge.tokens;
    if (charge.reported !== undefined && this.isMetered) {
      this.note(`charged ${charge.tokens} tokens of the ${charge.reported} that the upstream reported`);
    }
  }

  /** An upstream is about to be asked for an answer. `inputTokens`: of what it is asked, estimated. */
  open(inputTokens: number, pricing: Pricing): Bill {
    const bill = new Bill(inputTokens, pricing);
    this.#bills.push(bill);
    return bill;
  }

  /** What was asked for until now cost, as far as it is known. */
  get cost(): Cost | undefined {
    return addCosts(this.#bills);
  }

  /** What is still open is wanted by nobody. The log has what was used of an answer that never came to its end. */
  closeBills(): void {
    for (const bill of this.#bills) bill.end(true);
    if (this.entry.usage) return;
    const used = this.#bills.flatMap(({ usage }) => usage ?? []);
    if (used.length === 0) return;
    this.entry.usage = withoutCost(used.reduce(addUsage));
  }

  /**
   * What a request is charged at its end. One that failed before anything was emitted used nothing: that was not the caller's
   * doing. A client that leaves pays for what was asked and emitted until then, or leaving would be a way to pay nothing.
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

  /** Why something beside the answer failed. The cause of a failed request comes first. */
  explain(cause: unknown): void {
    this.entry.cause ??= cause;
  }

  /** What the store, or who counts there, is asked for. */
  async waitForStore<T>(work: Promise<T>): Promise<T> {
    const since = this.elapsedMs();
    try {
      return await work;
    } finally {
      this.storeMs += this.elapsedMs() - since;
    }
  }

  /** Done when the request is over, however it ends, and at once where it is. */
  atEnd(work: () => void): void {
    if (this.isClosed) return work();
    this.#atEnd.push(work);
  }

  get isClosed(): boolean {
    return this.entry.status !== undefined;
  }

  /** The request is over, and nobody wants a line of it. */
  discard(): void {
    for (const end of this.#atEnd.splice(0)) end();
  }

  /** The request is over: its line goes into the log, once. */
  close(status: number): void {
    if (this.isClosed) return;
    this.entry.status = status;
    this.discard();
    const { attempt, asked } = this;
    const notes = this.notes();
    this.closeBills();
    const { cost } = this;
    const line = { ...this.entry } as LogEntry;
    // Clients have put a key where a model belongs.
    line.path = this.#hide(line.path);
    if (line.model !== undefined) line.model = this.#hide(line.model);
    if (attempt) line.target = attempt.target;
    if (attempt?.provider !== undefined) line.provider = attempt.provider;
    if (asked > 1) line.attempts = asked;
    if (cost) line.cost = formatDollars(cost.pico);
    if (cost?.isEstimated) line.costEstimated = true;
    line.durationMs = this.elapsedMs();
    if (notes.length > 0) line.notes = notes;
    if (this.trace) line.traceId = this.trace.traceId;
    this.#log(line);
    this.trace?.end(line);
  }
}

/** Usage without what the upstream says that it cost. */
function withoutCost(usage: Usage): Usage {
  if (usage.reportedCost === undefined) return usage;
  const { reportedCost: _, ...counts } = usage;
  return counts;
}
