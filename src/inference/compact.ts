/** Conversations that a client wants shortened: the requested model writes a summary, and continues from it. */
import { collectFrom } from "../canonical/collect.ts";
import type { CompactionRequest } from "../canonical/compaction.ts";
import { estimateInputTokens } from "../canonical/estimate.ts";
import type { Finish, GenerateEvent, GenerateRequest, GenerateResponse, OpaquePart } from "../canonical/generate.ts";
import type { Input } from "../canonical/operations.ts";
import { addUsage, type Usage } from "../canonical/usage.ts";
import type { RequestContext } from "../context/request_context.ts";
import type { Exchange } from "../contract/context.ts";
import { type PlannedTarget, targetName } from "../contract/planned_target.ts";
import type { Protocol } from "../contract/protocol.ts";
import { GatewayError } from "../errors.ts";
import type { Resolution } from "../lanes/resolution.ts";
import { askForSummary, goOnFrom, summaryIn } from "../transforms/compaction.ts";
import type { EventSource } from "../util/event_source.ts";
import { intakeAt } from "./attempt.ts";
import { count } from "./counting.ts";
import { summarySealer, summaryWire } from "./recall.ts";

/** A request whose conversation may be shortened, the targets that may answer it, and what the gateway has to do. */
export interface Shortening {
  input: Input<"generate">;
  targets: readonly PlannedTarget[];
  /** Present if no target shortens conversations itself. */
  compaction?: CompactionRequest;
}

/**
 * Leaves it to targets of the client's wire that shorten conversations themselves. If there are none, the gateway does
 * it.
 */
export function planCompaction(
  { summary, wire }: Protocol<"generate">,
  input: Input<"generate">,
  targets: readonly PlannedTarget[],
  context: RequestContext,
): Shortening {
  const { compaction } = input;
  if (!compaction) return { input, targets };
  const able = targets.filter((where) => {
    const intake = intakeAt(where, context);
    return intake?.compacts && intake.wire === wire;
  });
  if (able.length > 0) return { input, targets: able };
  for (const field of compaction.unknown ?? []) context.note(`dropped ${field}`);
  const { compaction: _, extra: __, ...rest } = input;
  const plain = { ...rest, ...(compaction.extra && { extra: compaction.extra }) };
  return { input: plain, targets, ...(summary && { compaction }) };
}

/**
 * The length in tokens from which a conversation is shortened, if neither the client nor the model's context length
 * sets it.
 */
const DEFAULT_THRESHOLD = 100_000;
/** The part of the model's context length that a conversation fills by then. */
const FILLED = 0.8;

/** Whether the conversation is long enough to be shortened now. */
export function isDue(
  { when }: CompactionRequest,
  request: GenerateRequest,
  estimate: number,
  { targets: [first], contextLength }: Resolution,
  { gateway }: RequestContext,
): boolean {
  if (when === "now") return true;
  const known = contextLength === undefined ? DEFAULT_THRESHOLD : Math.floor(contextLength * FILLED);
  const { inputTokens: threshold = known } = when;
  return first !== undefined && count(request, estimate, targetName(first), gateway.counting).inputTokens >= threshold;
}

/** A request whose conversation is being shortened. */
export interface Compacting {
  compaction: CompactionRequest;
  protocol: Protocol<"generate">;
  exchange: Exchange<"generate">;
  context: RequestContext;
}

/** The whole answer: the summary, then the model's continuation, unless the client wants to ask for that itself. */
export async function compactWhole(
  compacting: Compacting,
  ask: (request: GenerateRequest, estimate: number) => Promise<GenerateResponse>,
): Promise<GenerateResponse> {
  const { exchange: { input }, compaction } = compacting;
  const before = await summarize(compacting, () => {
    const request = askForSummary(input, compaction);
    return ask(request, estimateInputTokens(request));
  });
  if (!before) return await ask(input, estimateInputTokens(input));
  const { part, usage, model, summary } = before;
  if (isAlone(compaction)) return { model, content: [part], finish: PAUSED, usage };
  const next = goOnFrom(input, summary, compaction.covers);
  const answer = await ask(next, estimateInputTokens(next));
  return { ...answer, content: [part, ...answer.content], usage: withSummary(usage, answer.usage) };
}

/** Like `compactWhole`, as a stream. */
export function compactStream(
  compacting: Compacting,
  open: (request: GenerateRequest, estimate: number) => EventSource<GenerateEvent>,
): EventSource<GenerateEvent> {
  return new CompactedStream(compacting, open);
}

class CompactedStream implements EventSource<GenerateEvent> {
  readonly #compacting: Compacting;
  readonly #open: (request: GenerateRequest) => EventSource<GenerateEvent>;
  #source: EventSource<GenerateEvent> | undefined;
  /** The summary. Absent before it is written, and if it could not be. */
  #before: Summarized | undefined;
  #hasBegun = false;
  #isCancelled = false;

  constructor(
    compacting: Compacting,
    open: (request: GenerateRequest, estimate: number) => EventSource<GenerateEvent>,
  ) {
    this.#compacting = compacting;
    const openNext = (request: GenerateRequest) => this.#source = open(request, estimateInputTokens(request));
    this.#open = openNext;
  }

  async next(): Promise<readonly GenerateEvent[] | undefined> {
    if (!this.#hasBegun) {
      this.#hasBegun = true;
      const first = await this.#summarize();
      if (this.#isCancelled) return undefined;
      if (first) return first;
    }
    for (;;) {
      const events = await this.#source?.next();
      if (!events || !this.#before) return events;
      const after = events.flatMap((event) => this.#after(event, this.#before!));
      if (after.length > 0) return after;
    }
  }

  async cancel(): Promise<void> {
    this.#isCancelled = true;
    await this.#source?.cancel();
  }

  async #summarize(): Promise<readonly GenerateEvent[] | undefined> {
    const { compaction, exchange: { input } } = this.#compacting;
    const before = await summarize(this.#compacting, () => collectFrom(this.#open(askForSummary(input, compaction))));
    if (this.#isCancelled) return undefined;
    if (!before) {
      this.#open(input);
      return undefined;
    }
    this.#before = before;
    const { part, usage, model, summary } = before;
    const start: GenerateEvent = { type: "start", model, inputTokens: Math.max(1, usage.inputTokens) };
    const events: GenerateEvent[] = [start, { type: "part-start", index: 0, part }, { type: "part-end", index: 0 }];
    if (isAlone(compaction)) {
      this.#source = undefined;
      return [...events, { type: "finish", finish: PAUSED, usage }];
    }
    this.#open(goOnFrom(input, summary, compaction.covers));
    return events;
  }

  #after(event: GenerateEvent, { usage }: Summarized): GenerateEvent[] {
    switch (event.type) {
      case "start":
        return [];
      case "part-start":
      case "part-delta":
      case "part-end":
        return [{ ...event, index: event.index + 1 }];
      case "finish":
        return [{ ...event, usage: withSummary(usage, event.usage) }];
      default:
        return [event];
    }
  }
}

interface Summarized {
  part: OpaquePart;
  summary: string;
  model: string;
  /** The usage of the summary alone. Its `compaction` repeats it. */
  usage: Usage;
}

const PAUSED: Finish = { reason: "other", raw: "compaction" };

function isAlone({ when, pauses }: CompactionRequest): boolean {
  return when === "now" || pauses === true;
}

function withSummary(before: Usage, usage: Usage): Usage {
  return { ...addUsage(before, usage), compaction: before.compaction };
}

/** Asks for the summary. Returns `undefined` if that failed and the conversation can go on without one. */
async function summarize(
  { compaction, protocol, exchange, context }: Compacting,
  ask: () => Promise<GenerateResponse>,
): Promise<Summarized | undefined> {
  try {
    const sealer = await summarySealer(context); // first, so that no model works in vain
    const response = await ask();
    const keepsUsers = compaction.when === "now" && compaction.covers === "answers";
    const summary = summaryIn(response, exchange.input, keepsUsers);
    if (summary === "") throw new GatewayError("upstream_error", "The model wrote no summary of the conversation");
    if (response.finish.reason === "length") {
      if (!isAlone(compaction)) throw new GatewayError("upstream_error", "The summary of the conversation was cut off");
      context.note("cut off the summary of the conversation");
    }
    const data = sealer.seal({ text: summary }, summaryWire(context.clientWire), context.caller.owner);
    const part = protocol.summary!({ text: summary, data }, exchange);
    const { model, usage } = response;
    return { part, summary, model, usage: { ...usage, compaction: usage } };
  } catch (thrown) {
    if (isAlone(compaction) || context.signal.aborted) throw thrown;
    context.note("could not compact the conversation");
    return undefined;
  }
}
