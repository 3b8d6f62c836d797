import { collectSync } from "../../src/canonical/collect.ts";
import type { GenerateRequest, GenerateResponse } from "../../src/canonical/generate.ts";
import { isJsonObject } from "../../src/canonical/json.ts";
import type { AnswerContext } from "../../src/contract/context.ts";
import { accept } from "../../src/contract/validate.ts";
import { upstreamStreamError } from "../errors.ts";
import { AnswerReader, notAnAnswer } from "./reader.ts";
import { responseSchema } from "./wire.ts";

/** An upstream's whole answer. */
export function parseResponse(body: unknown, input: GenerateRequest, context: AnswerContext): GenerateResponse {
  if (isJsonObject(body) && body.error) throw upstreamStreamError(body);
  const response = accept(responseSchema, body);
  if (!response?.output) throw notAnAnswer();
  const reader = new AnswerReader(input, context);
  return collectSync([reader.start(response), ...reader.end(response)]);
}
