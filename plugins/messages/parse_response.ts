import { collect } from "../../src/canonical/collect.ts";
import type { GenerateRequest, GenerateResponse } from "../../src/canonical/generate.ts";
import { runUnsliced, type SlicedWork } from "../../src/util/sliced_work.ts";
import type { AnswerContext } from "../../src/contract/context.ts";
import { accept } from "../../src/contract/validate.ts";
import { GatewayError } from "../../src/errors.ts";
import { saysError } from "../shared/errors.ts";
import { parseError } from "./errors.ts";
import { AnswerReader } from "./reader.ts";
import { responseSchema } from "./wire.ts";

/** An upstream's whole answer. */
export function parseResponse(body: unknown, input: GenerateRequest, context: AnswerContext): GenerateResponse {
  return runUnsliced(parseLongResponse(body, input, context));
}

/** Like `parseResponse`, but in slices. */
export function* parseLongResponse(
  body: unknown,
  input: GenerateRequest,
  context: AnswerContext,
): SlicedWork<GenerateResponse> {
  if (saysError(body)) throw parseError(body);
  const message = accept(responseSchema, body);
  if (message?.content === undefined) {
    throw new GatewayError("upstream_error", "The upstream's answer is not a message");
  }
  yield;
  const events = new AnswerReader(input, context).whole(message);
  yield;
  return collect(events);
}
