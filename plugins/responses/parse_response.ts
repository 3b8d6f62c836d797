import { collect } from "../../src/canonical/collect.ts";
import type { GenerateRequest, GenerateResponse } from "../../src/canonical/generate.ts";
import { runUnsliced, type SlicedWork } from "../../src/util/sliced_work.ts";
import type { AnswerContext } from "../../src/contract/context.ts";
import type { Target } from "../../src/contract/driver.ts";
import { accept } from "../../src/contract/validate.ts";
import { saysError, upstreamStreamError } from "../shared/errors.ts";
import { AnswerForms, readForms } from "../shared/text_forms/answer_forms.ts";
import { textFormsFor } from "../shared/text_forms/answer_forms.ts";
import { AnswerReader, notAnAnswer } from "./reader.ts";
import { responseSchema } from "./wire.ts";

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
  if (saysError(body)) throw upstreamStreamError(body);
  const response = accept(responseSchema, body);
  if (!response?.output) throw notAnAnswer();
  yield;
  const reader = new AnswerReader(input, context);
  const events = [reader.start(response), ...reader.end(response)];
  yield;
  const forms = textFormsFor(input, target);
  return collect(forms ? yield* readForms(events, new AnswerForms(forms, input, context)) : events);
}
