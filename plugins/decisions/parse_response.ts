import type { DecidedAnswer, DecideRequest, DecideResponse, Decision, Question } from "../../src/canonical/decide.ts";
import { extraField } from "../../src/canonical/extra.ts";
import { asObject, asObjects, type JsonObject } from "../../src/canonical/json.ts";
import { asTotal, reportedTotals, type ReportedUsage } from "../../src/canonical/usage.ts";
import { accept } from "../../src/contract/validate.ts";
import { GatewayError } from "../../src/errors.ts";
import { saysError, upstreamStreamError } from "../shared/errors.ts";
import { badAnswer, checkProbabilities, shareIn } from "./answers.ts";
import { answerSchema, WIRE } from "./wire.ts";

/** The answer of a server whose answers are a list. */
export function parseResponse(received: unknown, { questions, model }: DecideRequest): DecideResponse {
  const { answers, usage, ...body } = acceptAnswer(received);
  if (answers.length !== questions.length) {
    throw new GatewayError("upstream_error", `The upstream sent ${answers.length} of ${questions.length} answers`);
  }
  return {
    model,
    answers: answers.map((answer, index) => parseAnswer(answer, questions[index]!, String(index + 1))),
    usage: parseUsage(asObject(usage)),
    ...extraField(WIRE, body, ["id", "object", "created", "created_at", "model"]),
  };
}

function acceptAnswer(received: unknown) {
  if (saysError(received)) throw upstreamStreamError(received);
  const body = accept(answerSchema, received);
  if (!body) throw new GatewayError("upstream_error", "The upstream's answer has no decisions");
  return body;
}

function parseAnswer(answer: JsonObject, question: Question, which: string): Decision {
  if (answer.type === "refusal") return { type: "refusal" };
  if (answer.type !== question.type) throw badAnswer(which, `is no ${question.type}`);
  const extra = extraField(WIRE, answer, KNOWN);
  if (question.type === "predicate") {
    const { probability } = answer;
    const no = typeof probability === "number" ? 1 - probability : undefined;
    return { type: "decided", probabilities: checkProbabilities([probability, no], 2, which), ...extra };
  }
  const reported = asObjects(answer.probabilities);
  const isLevel = question.type === "score";
  const values: unknown[] = isLevel
    ? question.levels.map((_, level) => level)
    : question.options.map(({ value }) => value);
  const byValue = new Map(reported.map(({ value, probability }) => [value as unknown, probability as unknown]));
  if (byValue.size !== reported.length || reported.length !== values.length) {
    throw badAnswer(which, "has no probability between 0 and 1 for each possible answer");
  }
  const decided: DecidedAnswer = {
    type: "decided",
    probabilities: checkProbabilities(values.map((value) => byValue.get(value)), values.length, which),
    ...extra,
  };
  const confidence = shareIn(answer.confidence);
  if (confidence !== undefined) decided.confidence = confidence;
  if (!isLevel) decided.chosen = chosenIn(values, answer.choice, which);
  return decided;
}

const KNOWN = ["type", "name", "probability", "choice", "score", "confidence", "probabilities"];

/** The position of the reported choice. */
export function chosenIn(values: readonly unknown[], choice: unknown, which: string): number {
  const chosen = values.indexOf(choice);
  if (chosen < 0) throw badAnswer(which, "chooses none of the possible answers");
  return chosen;
}

/** The figures of every shape: input and output tokens, or those of the chat wire. */
export function parseUsage(usage: JsonObject): ReportedUsage {
  const { input_tokens: input, output_tokens: output, prompt_tokens: read, completion_tokens: written } = usage;
  const count = (value: unknown) => Number.isSafeInteger(value) && value as number >= 0 ? value as number : undefined;
  const cached = count(asObject(usage.input_tokens_details).cached_tokens);
  const stored = count(asObject(usage.input_tokens_details).cache_write_tokens);
  const reasoning = count(asObject(usage.output_tokens_details).reasoning_tokens);
  const total = count(asTotal(usage.total_tokens));
  // Some servers count no tokens of answers.
  const isCounted = count(input ?? read) !== undefined && total === undefined;
  return {
    ...reportedTotals(count(input ?? read), count(output ?? written) ?? (isCounted ? 0 : undefined), total),
    ...(cached && { cachedInputTokens: cached }),
    ...(stored && { cacheWriteTokens: stored }),
    ...(reasoning && { reasoningTokens: reasoning }),
    ...costIn(usage.cost),
  };
}

/** In dollars, as OpenRouter reports it. */
function costIn(cost: unknown): Pick<ReportedUsage, "reportedCost"> {
  return typeof cost === "number" && cost >= 0 ? { reportedCost: String(cost) } : {};
}
