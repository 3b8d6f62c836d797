import { collectSync } from "../../src/canonical/collect.ts";
import type { GenerateRequest, GenerateResponse } from "../../src/canonical/generate.ts";
import type { AnswerContext } from "../../src/contract/context.ts";
import type { Target } from "../../src/contract/driver.ts";
import { AnswerReader, notAnAnswer, parseAnswer } from "./reader.ts";

/** An upstream's whole answer: read as a stream of one chunk, so that both modes mend the same things. */
export function parseResponse(
  body: unknown,
  input: GenerateRequest,
  target: Target,
  context: AnswerContext,
): GenerateResponse {
  const answer = parseAnswer(body);
  if (!answer.choices) throw notAnAnswer();
  const reader = new AnswerReader(input, target, context);
  return collectSync([...reader.read(answer), ...reader.end(true)]);
}
