/** Conversations that a client wants shortened: the requested model writes a summary, and continues from it. */
import type { CompactionRequest } from "../canonical/compaction.ts";
import type { Finish, GenerateEvent, GenerateRequest, GenerateResponse, OpaquePart } from "../canonical/generate.ts";
import { addUsage, type Usage } from "../canonical/usage.ts";
import { targetName } from "../contract/planned_target.ts";
import { GatewayError } from "../errors.ts";
import { askForSummary, goOnFrom, summaryIn } from "../transforms/compaction.ts";
import type { EventSource } from "../util/event_source.ts";
import { streamedAnswer } from "./answer.ts";
import { intakeAt } from "./attempt.ts";
import { count } from "./counting.ts";
import { FACT } from "./facts.ts";
import type { Answer, Ask, Inference, Stage } from "./inference.ts";
import { asking, fitLength } from "./model_limits.ts";
import { summarySealer, summaryWire } from "./recall.ts";
import { withTargets } from "./resolve.ts";

/** An inference whose conversation the gateway may have to shorten. */
type Shortened = Inference<"generate"> & { readonly compaction: CompactionRequest };

/**
 * Leaves the shortening to targets of the client's wire that do it themselves. If there are none, the gateway has the
 * requested model write a summary.
 */
export const COMPACTION: Stage<"generate"> = {
  name: "compaction",
  operations: ["generate"],
  needs: FACT.compaction,
  request(inference) {
    const { input, plan, context, protocol: { summary, wire } } = inference;
    const { compaction } = input;
    if (!compaction) return inference;
    const able = plan.targets.filter((where) => {
      const intake = intakeAt(where, context);
      return intake?.compacts && intake.wire === wire;
    });
    if (able.length > 0) return { ...inference, plan: withTargets(plan, able) };
    for (const field of compaction.unknown ?? []) inference.note(`dropped ${field}`);
    const { compaction: _, extra: __, ...rest } = input;
    const plain = { ...rest, ...(compaction.extra && { extra: compaction.extra }) };
    return { ...inference, input: plain, ...(summary && { compaction }) };
  },
  around(inference, ask) {
    const { compaction, hosted } = inference;
    if (!compaction) return ask(inference);
    const shortened = { ...inference, compaction };
    if (!hosted?.isBegun && isDue(shortened)) return streamedAnswer(new CompactedStream(shortened, ask));
    // Each round of hosted tools limits its own answer.
    return ask(hosted ? inference : fitLength(inference));
  },
};

/**
 * The length in tokens from which a conversation is shortened, if neither the client nor the model's context length
 * sets it.
 */
const DEFAULT_THRESHOLD = 100_000;
/** The part of the model's context length that a conversation fills by then. */
const FILLED = 0.8;

/** Whether the conversation is long enough to be shortened now. */
function isDue({ compaction: { when }, input, estimate, facts, plan, context: { gateway } }: Shortened): boolean {
  const { targets: [first], contextLength } = plan;
  if (when === "now") return true;
  const known = contextLength === undefined ? DEFAULT_THRESHOLD : Math.floor(contextLength * FILLED);
  const { inputTokens: threshold = known } = when;
  return first !== undefined &&
    count(input, estimate, facts, targetName(first), gateway.counting).inputTokens >= threshold;
}

/**
 * The answer of a conversation that is shortened first: the summary, then the model's continuation, unless the client
 * wants to ask for that itself.
 */
class CompactedStream implements EventSource<GenerateEvent> {
  readonly #inference: Shortened;
  readonly #open: (request: GenerateRequest) => Answer<"generate">;
  #source: EventSource<GenerateEvent> | undefined;
  /** The summary. Absent before it is written, and if it could not be. */
  #before: Summarized | undefined;
  #hasBegun = false;
  #isCancelled = false;

  constructor(inference: Shortened, ask: Ask<"generate">) {
    this.#inference = inference;
    const open = (request: GenerateRequest) => {
      const answer = ask(asking(inference, request));
      this.#source = answer;
      return answer;
    };
    this.#open = open;
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
    const { compaction, input } = this.#inference;
    const before = await summarize(this.#inference, () => this.#open(askForSummary(input, compaction)).whole());
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
  { compaction, protocol, exchange, input, context }: Shortened,
  ask: () => Promise<GenerateResponse>,
): Promise<Summarized | undefined> {
  try {
    const sealer = await summarySealer(context); // first, so that no model works in vain
    const response = await ask();
    const keepsUsers = compaction.when === "now" && compaction.covers === "answers";
    const summary = summaryIn(response, input, keepsUsers);
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
