import type { GenerateEvent, GenerateRequest } from "../../src/canonical/generate.ts";
import { readJson } from "../../src/canonical/json.ts";
import type { AnswerContext } from "../../src/contract/context.ts";
import type { Frame } from "../../src/contract/frame.ts";
import { GatewayError } from "../../src/errors.ts";
import { parseError } from "./errors.ts";
import { AnswerReader } from "./reader.ts";
import { eventSchema, type WireEvent } from "./wire.ts";

/** An upstream's stream of events. It is over with `message_stop`, or where the connection ends after a stop reason. */
export async function* parseStream(
  frames: AsyncIterable<Frame>,
  input: GenerateRequest,
  context: AnswerContext,
): AsyncGenerator<GenerateEvent> {
  let reader = new AnswerReader(input, context);
  let started = false;
  let spoke = false;
  for await (const { data } of frames) {
    const text = data?.trim();
    if (!text || text === "[DONE]") continue;
    const event = parseEvent(text);
    if (event.type === "error") throw parseError(event);
    if (event.type === "message_stop") {
      yield* reader.end(true);
      return;
    }
    if (!started && event.type !== "ping") {
      started = true;
      yield reader.start(event.message ?? {});
    } else if (event.type === "message_start") {
      // Another attempt of something in between: its answer is another one.
      if (spoke) throw new GatewayError("upstream_error", "The upstream began its answer again in the middle of it");
      reader = new AnswerReader(input, context);
      reader.start(event.message ?? {});
    }
    for (const told of reader.read(event)) {
      spoke = true;
      yield told;
    }
  }
  yield* reader.end(false);
}

function parseEvent(text: string): WireEvent {
  try {
    return eventSchema.parse(readJson(text));
  } catch (cause) {
    throw new GatewayError("upstream_error", "The upstream's stream holds a frame that is not an event", { cause });
  }
}
