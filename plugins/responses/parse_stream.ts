import type { GenerateEvent, GenerateRequest } from "../../src/canonical/generate.ts";
import { readJson } from "../../src/canonical/json.ts";
import type { AnswerContext } from "../../src/contract/context.ts";
import type { Frame } from "../../src/contract/frame.ts";
import { GatewayError } from "../../src/errors.ts";
import { upstreamStreamError } from "../shared/errors.ts";
import { statusAtEnd } from "./finish.ts";
import { AnswerReader } from "./reader.ts";
import { eventSchema, type WireEvent } from "./wire.ts";

/** An upstream's stream of events. Only an event that says how the answer ended is its end. */
export async function* parseStream(
  frames: AsyncIterable<Frame>,
  input: GenerateRequest,
  context: AnswerContext,
): AsyncGenerator<GenerateEvent> {
  const reader = new AnswerReader(input, context);
  let started = false;
  for await (const { event: name, data } of frames) {
    const text = data?.trim();
    if (!text || text === "[DONE]") continue;
    const event = parseEvent(text, name);
    if (event.type === "error") throw upstreamStreamError(event);
    if (event.type === "keepalive") continue;
    if (!started) {
      started = true;
      yield reader.start(event.response ?? {});
    }
    const status = statusAtEnd(event);
    if (status !== undefined) {
      if (!event.response && status !== "completed" && status !== "incomplete") throw upstreamStreamError(event);
      yield* reader.end({ ...event.response, status });
      return;
    }
    yield* reader.read(event);
  }
  throw new GatewayError("upstream_error", "The upstream's answer ended before it was complete");
}

/** The type is in the data; some servers say it in the event's name only. */
function parseEvent(text: string, name: string | undefined): WireEvent {
  try {
    const event = eventSchema.parse(readJson(text));
    return event.type === undefined && "error" in event ? { ...event, type: "error" } : { type: name, ...event };
  } catch (cause) {
    throw new GatewayError("upstream_error", "The upstream's stream holds a frame that is not an event", { cause });
  }
}
