import type { DecideResponse, Decision, Question } from "../../src/canonical/decide.ts";
import { fieldsFor } from "../../src/canonical/extra.ts";
import type { JsonObject } from "../../src/canonical/json.ts";
import type { Usage } from "../../src/canonical/usage.ts";
import type { Exchange } from "../../src/contract/context.ts";
import { chosenOf, confidenceOf, scoreOf, settledOf } from "./answers.ts";
import { WIRE } from "./wire.ts";

/** The answers as a list, in the order of the questions. */
export function serializeResponse(
  { answers, usage, extra }: DecideResponse,
  { input }: Exchange<"decide">,
): JsonObject {
  return {
    model: input.model,
    answers: answers.map((answer, index) => serializeAnswer(answer, input.questions[index]!)),
    usage: serializeUsage(usage as Usage),
    ...fieldsFor(WIRE, extra),
  };
}

function serializeAnswer(decision: Decision, question: Question): JsonObject {
  const answer = settledOf(decision);
  const name = question.name ?? null;
  if (answer.type === "refusal") return { type: "refusal", name };
  const { probabilities } = answer;
  const extra = fieldsFor(WIRE, answer.extra);
  switch (question.type) {
    case "predicate":
      return { type: "predicate", name, probability: probabilities[0]!, ...extra };
    case "choice":
      return {
        type: "choice",
        name,
        choice: question.options[chosenOf(answer)]!.value,
        confidence: confidenceOf(answer),
        probabilities: question.options.map(({ value }, at) => ({ value, probability: probabilities[at]! })),
        ...extra,
      };
    case "score":
      return {
        type: "score",
        name,
        score: scoreOf(answer),
        confidence: confidenceOf(answer),
        probabilities: question.levels.map(({ label }, value) => ({
          value,
          label,
          probability: probabilities[value]!,
        })),
        ...extra,
      };
    default:
      return question satisfies never;
  }
}

function serializeUsage({ inputTokens, outputTokens, ...usage }: Usage): JsonObject {
  const { cachedInputTokens = 0, cacheWriteTokens = 0, reasoningTokens = 0 } = usage;
  return {
    input_tokens: inputTokens,
    input_tokens_details: { cached_tokens: cachedInputTokens, cache_write_tokens: cacheWriteTokens },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: reasoningTokens },
    total_tokens: inputTokens + outputTokens,
  };
}
