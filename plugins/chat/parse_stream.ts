import type { GenerateEvent, GenerateRequest } from "../../src/canonical/generate.ts";
import { type JsonValue, readJson } from "../../src/canonical/json.ts";
import { finish } from "../../src/util/work.ts";
import type { AnswerContext } from "../../src/contract/context.ts";
import type { Target } from "../../src/contract/driver.ts";
import type { Frame } from "../../src/contract/frame.ts";
import { GatewayError } from "../../src/errors.ts";
import { upstreamStreamError } from "../shared/errors.ts";
import { OneAnswer } from "./one_answer.ts";
import { AnswerReader, parseAnswer } from "./reader.ts";

/** What is shorter takes no time that anybody notes, in characters. */
const LONG = 4_096;

/** An upstream's stream of chunks. It is over with `[DONE]`, or where the connection ends after a finish reason. */
export async function* parseStream(
  frames: AsyncIterable<Frame>,
  input: GenerateRequest,
  target: Target,
  context: AnswerContext,
): AsyncGenerator<GenerateEvent> {
  const reader = new AnswerReader(input, target, context);
  const one = new OneAnswer();
  for await (const { event, data } of frames) {
    const text = data?.trim();
    if (!text) continue;
    if (text === "[DONE]") {
      for (const answer of one.end()) yield* reader.read(answer);
      // Where another answer took over, this one was cut.
      yield* reader.end(!one.hasOthers);
      return;
    }
    const body = parseFrame(text);
    if (event === "error") throw upstreamStreamError(body);
    const answer = parseAnswer(body);
    // Some servers send signs of life as data.
    if (!answer.choices && !answer.usage) continue;
    for (const ours of one.take(answer)) {
      yield* text.length > LONG ? await finish(reader.readLong(ours)) : reader.read(ours);
    }
  }
  for (const answer of one.end()) yield* reader.read(answer);
  yield* reader.end(false);
}

export function parseFrame(text: string): JsonValue {
  const body = readJson(text);
  if (body !== undefined) return body;
  throw new GatewayError("upstream_error", "The upstream's stream holds a frame that is not JSON");
}
