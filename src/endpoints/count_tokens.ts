/** Counts the tokens of a conversation that its client has not sent to a model yet. */
import type { Input } from "../canonical/operations.ts";
import { countFiles, estimateInputTokens, TOKENS_PER_FILE } from "../canonical/estimate.ts";
import type { Count, CountedBy } from "../canonical/usage.ts";
import { newAttemptRecord } from "../context/request_log.ts";
import type { RequestContext } from "../context/request_context.ts";
import type { PlannedTarget } from "../contract/planned_target.ts";
import type { Resolution } from "../lanes/resolution.ts";
import type { Tokenizers } from "../tokens/tokenizers.ts";
import type { Attempt } from "../upstream/attempt.ts";
import { lessonsOf } from "../upstream/call.ts";
import { answer } from "../upstream/run.ts";
import { runStep } from "../util/sliced_work.ts";
import { openUnrecordedAttempt } from "../inference/attempt.ts";
import { count, countedParts, learn } from "../inference/counting.ts";
import { withAffinity } from "../inference/failover_plan.ts";
import { type Incoming, openExchange } from "../inference/incoming.ts";
import { recall } from "../inference/recall.ts";
import { type ModelRequest, prepareForModel } from "../inference/prepare.ts";
import { resolve } from "../inference/resolve.ts";

/** How long an upstream may count, in milliseconds. */
const COUNT_MS = 2_000;

export async function countTokens(incoming: Incoming<"countTokens">): Promise<Response> {
  const { protocol, lane, context } = incoming;
  const { input } = await recall(incoming.input, context);
  const resolution = withAffinity(await resolve("countTokens", input.model, lane, context), input, lane, context);
  const [target] = resolution.targets;
  if (!target) throw new Error(`Model "${input.model}" has no target`);
  const prepared = await runStep(() => prepareQuietly(input, resolution));
  const { inputTokens, by } = await countExactly(prepared, target, context);
  context.requestLog.countedBy = by;
  return protocol.serialize({ inputTokens }, openExchange(incoming, input));
}

/** Prepares the conversation as for an answer. One that would be refused is counted unchanged. */
function prepareQuietly(input: Input<"countTokens">, limits: Resolution): ModelRequest {
  try {
    return prepareForModel(input, limits, () => {});
  } catch {
    return { request: input, estimate: estimateInputTokens(input) };
  }
}

/** The most exact count that is available soon. If an exact count fails, the client gets an estimate. */
async function countExactly(
  { request: input, estimate }: ModelRequest,
  where: PlannedTarget,
  context: RequestContext,
): Promise<Count> {
  const { gateway: { counting, process }, requestLog } = context;
  // The request's log gets no attempt yet: many counts call no upstream, and notes of a call are of no use to this
  // client.
  const attempt = newAttemptRecord(where);
  const options = { signal: process.signal, estimate };
  const asked = openUnrecordedAttempt("countTokens", input, where, attempt, context, options);
  const text = countedParts(input);
  const learnt = (inputTokens: number, by: CountedBy): Count => {
    learn({ inputTokens, outputTokens: 0 }, attempt, counting);
    return { inputTokens, by };
  };
  if (asked.target.counter) {
    const counted = await counting.upstreamCounts.of(attempt.target, text, () => askForCount(asked));
    requestLog.attempt = { ...attempt, notes: new Set() };
    if (counted !== undefined) return learnt(counted, "upstream");
  }
  const tokenize = countByTokenizer(asked, counting.tokenizers);
  const counted = tokenize && await counting.tokenizerCounts.of(attempt.target, text, tokenize);
  if (counted !== undefined) return learnt(counted, "tokenizer");
  return attempt.counted ?? count(input, estimate, attempt.target, counting);
}

async function askForCount(asked: Attempt<"countTokens">): Promise<number> {
  const timeouts = { ...asked.upstream.timeouts, wholeMs: COUNT_MS };
  return (await answer({ ...asked, upstream: { ...asked.upstream, timeouts } })).inputTokens;
}

/**
 * Counts with the model's own tokenizer, if that is available. The chat template says nothing about the cost of files,
 * so it is added.
 */
function countByTokenizer(asked: Attempt<"countTokens">, tokenizers: Tokenizers): (() => Promise<number>) | undefined {
  const { input, target, upstream, context } = asked;
  const { tokenizers: service, driver } = upstream;
  if (service === undefined || !driver.prompt) return undefined;
  return async () => {
    const prompt = driver.prompt!(asked.prepare(lessonsOf(asked)), target, context);
    return await tokenizers.count(service, target.model, prompt) + countFiles(input) * TOKENS_PER_FILE;
  };
}
