/** Stages that fit a request to the limits of its model, which hold for all of its targets. */
import { estimateInputsTokens } from "../canonical/embed.ts";
import { estimateInputTokens, estimateTextTokens } from "../canonical/estimate.ts";
import type { GenerateRequest } from "../canonical/generate.ts";
import type { Input, ModelOperation } from "../canonical/operations.ts";
import { pairsOf } from "../canonical/rerank.ts";
import { clampEffort, clampFiles, fitAnswer } from "../lanes/clamp.ts";
import { runStep } from "../util/sliced_work.ts";
import { FACT, withTurnsOf } from "./facts.ts";
import type { Inference, Stage } from "./inference.ts";

type Conversation = Inference<"generate">;

export const EFFORT: Stage<"generate"> = {
  name: "reasoning effort",
  operations: ["generate", "countTokens"],
  needs: FACT.efforts,
  request: (inference) => withInput(inference, clampEffort(inference.input, inference.plan.efforts, inference.note)),
};

export const FILES: Stage<"generate"> = {
  name: "files",
  operations: ["generate", "countTokens"],
  needs: FACT.modalities,
  request: (inference) => withInput(inference, filesTaken(inference)),
};

/** A conversation that would be refused is counted unchanged: a count is no answer about its files. */
function filesTaken({ operation, input, plan, note }: Inference<"generate" | "countTokens">): GenerateRequest {
  try {
    return clampFiles(input, plan.inputModalities, note);
  } catch (refusal) {
    if (operation === "countTokens") return input;
    throw refusal;
  }
}

/** Estimates the tokens of the input, which the limits of keys, the length of the answer and bills depend on. */
export const ESTIMATE: Stage = {
  name: "estimate of tokens",
  operations: ["generate", "complete", "decide", "countTokens", "embed", "rerank", "speak", "draw"],
  request(inference) {
    const { operation, input, failed, context } = inference;
    if (operation === "relay" || failed) return inference;
    if (!context.requestLog.isLarge) return { ...inference, estimate: estimateOf(input) };
    return runStep(() => ({ ...inference, estimate: estimateOf(input) }));
  },
};

function estimateOf(input: Input<ModelOperation>): number {
  if ("messages" in input) return estimateInputTokens(input);
  if ("documents" in input) return estimateInputsTokens(pairsOf(input));
  if ("prompts" in input) return estimateInputsTokens([...input.prompts, ...around(input)]);
  if ("questions" in input) return estimateTextTokens(JSON.stringify([input.turns, input.questions]));
  if ("input" in input) return estimateInputsTokens(input.input);
  if ("text" in input) return estimateTextTokens(input.text);
  return "prompt" in input && !("file" in input) ? estimateTextTokens(input.prompt) : 0;
}

/** The texts around the gap that a completion fills. */
function around({ suffix = "", begin = "", files = [] }: Input<"complete">): string[] {
  return [suffix, begin, ...files.map(({ text }) => text)];
}

/**
 * Limits the answer to what the model can write and its context leaves. If the conversation may still be shortened,
 * that is done later, because the room for the answer is not known yet.
 */
export const LENGTH: Stage<"generate"> = {
  name: "length of the answer",
  operations: ["generate", "countTokens"],
  needs: FACT.lengths,
  request: (inference) => inference.compaction && !inference.steps ? inference : fitLength(inference),
};

export function fitLength(inference: Conversation): Conversation {
  const { input, estimate, plan, note } = inference;
  if (!(inference.facts & FACT.lengths)) return inference;
  const { request, targets } = fitAnswer(input, estimate, plan, note);
  return { ...inference, input: request, plan: { ...plan, targets } };
}

/** The inference with other turns, for a stage that asks again. */
export function asking(inference: Conversation, input: GenerateRequest, more?: Partial<Conversation>): Conversation {
  return fitLength({
    ...inference,
    ...more,
    input,
    estimate: estimateInputTokens(input),
    facts: withTurnsOf(inference.facts, input),
    asksAgain: true,
  });
}

function withInput(inference: Conversation, input: GenerateRequest): Conversation {
  if (input === inference.input) return inference;
  const { messages } = inference.input;
  const facts = input.messages === messages ? inference.facts : withTurnsOf(inference.facts, input);
  return { ...inference, input, facts };
}
