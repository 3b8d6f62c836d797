import { choicesOfOne } from "./choice_filter.ts";
import { collect } from "../../src/canonical/collect.ts";
import type { GenerateRequest, GenerateResponse } from "../../src/canonical/generate.ts";
import { runUnsliced, type SlicedWork } from "../../src/util/sliced_work.ts";
import { isJsonObject } from "../../src/canonical/json.ts";
import type { AnswerContext } from "../../src/contract/context.ts";
import type { Target } from "../../src/contract/driver.ts";
import { accept } from "../../src/contract/validate.ts";
import { GatewayError } from "../../src/errors.ts";
import { saysError, upstreamStreamError } from "../shared/errors.ts";
import { mayHoldForms } from "../shared/text_forms/answer_forms.ts";
import { readPlainAnswer } from "./plain_answer.ts";
import { AnswerReader } from "./reader.ts";
import { answerSchema, type ChatAnswer } from "./wire.ts";

/** An answer or a chunk, checked. An `error` in it is thrown, whatever the HTTP status was. */
export function parseAnswer(body: unknown): ChatAnswer {
  if (isJsonObject(body) && body.error && saysError(body)) throw upstreamStreamError(body);
  const answer = accept(answerSchema, body);
  if (!answer) throw notAnAnswer();
  return answer;
}

export function notAnAnswer(): GatewayError {
  return new GatewayError("upstream_error", "The upstream's answer is not a chat completion");
}

/** An upstream's whole answer. */
export function parseResponse(
  body: unknown,
  input: GenerateRequest,
  target: Target,
  context: AnswerContext,
): GenerateResponse {
  return runUnsliced(parseLongResponse(body, input, target, context));
}

/** Like `parseResponse`, but in slices. */
export function* parseLongResponse(
  body: unknown,
  input: GenerateRequest,
  target: Target,
  context: AnswerContext,
): SlicedWork<GenerateResponse> {
  const answer = parseAnswer(body);
  if (!answer.choices) throw notAnAnswer();
  yield;
  const mayHold = input.tools?.length && mayHoldForms(answer.choices[0]?.message?.content, target);
  const plain = mayHold ? undefined : readPlainAnswer(answer, input, target, context);
  return plain ?? (yield* readAnswer(answer, input, target, context));
}

/** Reads an answer as a stream of one chunk, so that both modes mend the same things. */
export function* readAnswer(
  answer: ChatAnswer,
  input: GenerateRequest,
  target: Target,
  context: AnswerContext,
): SlicedWork<GenerateResponse> {
  const choices = choicesOfOne(answer.choices ?? []);
  const reader = new AnswerReader(input, target, context);
  const events = yield* reader.readLong({ ...answer, choices });
  yield;
  return collect([...events, ...reader.end(true)]);
}
