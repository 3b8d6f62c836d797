/** How many tokens a conversation has for a target: at once for its answer, as exactly as can be for a client that counts. */
import type { JsonValue } from "../canonical/json.ts";
import type { Input } from "../canonical/operations.ts";
import { withUpstreamNames } from "../transforms/tool_names.ts";
import { countFiles, estimateInputTokens, TOKENS_PER_FILE } from "../canonical/estimate.ts";
import type { Count, CountedBy, ToldUsage } from "../canonical/usage.ts";
import { type Destination, targetName } from "../contract/destination.ts";
import type { Tokenizers } from "../tokens/tokenizers.ts";
import type { Ask } from "../upstream/call.ts";
import { answer } from "../upstream/run.ts";
import { ask } from "./attempt.ts";
import type { Gateway } from "./gateway.ts";
import type { Journey } from "./journey.ts";

/** A conversation's tokens as the gateway counts them for one target. */
export interface Counted extends Count {
  /** By the length of its texts alone. */
  estimate: number;
  /** Whether all of it is text: what a picture costs says nothing of the rest. */
  isText: boolean;
  /** Whether the upstream's answer was read with it. */
  used: boolean;
}

/** How long an upstream may count, in milliseconds. */
const COUNT_MS = 2_000;

const estimates = new WeakMap<Input<"countTokens">, number>();

/** The tokens of a request by the length of its texts alone, counted once. */
export function estimateOf(input: Input<"countTokens">): number {
  const known = estimates.get(input) ?? estimateInputTokens(input);
  estimates.set(input, known);
  return known;
}

/** At once. A client that had the same conversation counted a moment ago is told the same. */
export function count(input: Input<"countTokens">, target: string, gateway: Gateway): Counted {
  const estimate = estimateOf(input);
  return { ...countKnown(input, target, estimate, gateway), estimate, isText: countFiles(input) === 0, used: false };
}

function countKnown(
  input: Input<"countTokens">,
  target: string,
  estimate: number,
  { calibration, upstreamCounts, tokenizerCounts }: Gateway,
): Count {
  const text = () => textOf(input);
  const byUpstream = upstreamCounts.known(target, text);
  if (byUpstream !== undefined) return { inputTokens: byUpstream, by: "upstream" };
  const byTokenizer = tokenizerCounts.known(target, text);
  if (byTokenizer !== undefined) return { inputTokens: byTokenizer, by: "tokenizer" };
  return calibration.count(target, estimate);
}

/** What of a request goes into its count. */
function textOf({ messages, tools, toolChoice, outputSchema, thinking }: Input<"countTokens">): JsonValue {
  return [messages, tools, toolChoice, outputSchema, thinking] as JsonValue;
}

/** As exactly as it can be had soon. Nothing that goes wrong on the way costs the client its count. */
export async function countExactly(input: Input<"countTokens">, where: Destination, journey: Journey): Promise<Count> {
  const { gateway } = journey;
  // What of the request an upstream could not be told is no news to a client that only counts, and many counts ask nobody.
  const quiet: Journey = { ...journey, attempts: new Map() };
  const asked = { ...ask("countTokens", input, where, quiet), signal: gateway.signal, onDescribed: () => {} };
  const place = targetName(where);
  const text = textOf(asked.input);
  const learnt = (inputTokens: number, by: CountedBy): Count => {
    learn({ inputTokens, outputTokens: 0 }, quiet);
    return { inputTokens, by };
  };
  if (asked.target.counter) {
    const told = await gateway.upstreamCounts.of(place, text, () => askForCount(asked));
    journey.attempt = quiet.attempt && { ...quiet.attempt, notes: new Set() };
    if (told !== undefined) return learnt(told, "upstream");
  }
  const tokenize = countByTokenizer(asked, gateway.tokenizers);
  const counted = tokenize && await gateway.tokenizerCounts.of(place, text, tokenize);
  if (counted !== undefined) return learnt(counted, "tokenizer");
  return quiet.attempt?.counted ?? count(asked.input, place, gateway);
}

async function askForCount(asked: Ask<"countTokens">): Promise<number> {
  const timeouts = { ...asked.upstream.timeouts, wholeMs: COUNT_MS };
  return (await answer({ ...asked, upstream: { ...asked.upstream, timeouts } })).inputTokens;
}

/** How the model itself would count, where its tokenizer can be had. What a picture costs stands in no template. */
function countByTokenizer(
  { input, target, upstream, context }: Ask<"countTokens">,
  tokenizers: Tokenizers,
): (() => Promise<number>) | undefined {
  const { tokenizers: service, driver } = upstream;
  if (service === undefined || !driver.prompt) return undefined;
  return async () => {
    const prompt = driver.prompt!(withUpstreamNames(input), target, context);
    return await tokenizers.count(service, target.model, prompt) + countFiles(input) * TOKENS_PER_FILE;
  };
}

/** What an upstream counted makes the next counts of the same model better. */
export function learn(usage: ToldUsage | undefined, { gateway, attempt }: Journey): void {
  if (!usage?.inputTokens || usage.estimated || !attempt?.counted?.isText) return;
  gateway.calibration.learn(attempt.target, attempt.counted.estimate, usage.inputTokens);
}
