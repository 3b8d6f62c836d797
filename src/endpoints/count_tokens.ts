/** Counts the tokens of a conversation that its client has not sent to a model yet. */
import { countFiles, TOKENS_PER_FILE } from "../canonical/estimate.ts";
import type { Count, CountedBy } from "../canonical/usage.ts";
import { newAttemptRecord } from "../context/request_log.ts";
import type { PlannedTarget } from "../contract/planned_target.ts";
import { openUnrecordedAttempt } from "../inference/attempt.ts";
import { count, countedParts, learn } from "../inference/counting.ts";
import type { Incoming } from "../inference/incoming.ts";
import type { Inference } from "../inference/inference.ts";
import { passDown } from "../inference/stages.ts";
import type { Tokenizers } from "../tokens/tokenizers.ts";
import type { Attempt } from "../upstream/attempt.ts";
import { lessonsOf } from "../upstream/call.ts";
import { answer } from "../upstream/run.ts";

/** How long an upstream may count, in milliseconds. */
const COUNT_MS = 2_000;

export async function countTokens(asked: Incoming<"countTokens">): Promise<Response> {
  const { protocol, context, input: { recall } } = asked;
  const incoming = recall?.thread ? await (await import("../inference/threads.ts")).wholeThread(asked) : asked;
  const inference = await passDown(incoming) as Inference<"countTokens">;
  const { exchange, plan: { targets: [target] } } = inference;
  if (!target) throw new Error(`Model "${inference.input.model}" has no target`);
  const { inputTokens, by } = await countExactly(inference, target);
  context.requestLog.countedBy = by;
  return protocol.serialize({ inputTokens }, exchange);
}

/** The most exact count that is available soon. If an exact count fails, the client gets an estimate. */
async function countExactly(inference: Inference<"countTokens">, where: PlannedTarget): Promise<Count> {
  const { input, estimate, facts, context } = inference;
  const { gateway: { counting, process }, requestLog } = context;
  // The request's log gets no attempt yet: many counts call no upstream, and notes of a call are of no use to this
  // client.
  const attempt = newAttemptRecord(where);
  const asked = openUnrecordedAttempt(inference, where, attempt, process.signal);
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
  return attempt.counted ?? count(input, estimate, facts, attempt.target, counting);
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
    const prompt = driver.prompt!(await asked.prepare(lessonsOf(asked)), target, context);
    return await tokenizers.count(service, target.model, prompt) + countFiles(input) * TOKENS_PER_FILE;
  };
}
