import type { CompleteEvent } from "../../src/canonical/complete.ts";
import { type Extra, fieldsFor } from "../../src/canonical/extra.ts";
import { asObject, type JsonObject } from "../../src/canonical/json.ts";
import type { Usage } from "../../src/canonical/usage.ts";
import type { Exchange } from "../../src/contract/context.ts";
import type { Frame } from "../../src/contract/frame.ts";
import type { Emit, StreamWriter } from "../../src/contract/stream.ts";
import { serializeErrorBody } from "../shared/errors.ts";
import { answer, serializeFinish, serializeLogprobs, serializeUsage } from "./serialize_response.ts";
import { WIRE } from "./wire.ts";

/** Writes chunks, which have the form of a whole answer, then `[DONE]`. A failure is a frame with `error`, and nothing follows it. */
export function serializeStream(exchange: Exchange<"complete">): StreamWriter<CompleteEvent> {
  const { include_usage: showsUsage } = asObject(asObject(exchange.wire.body).stream_options);
  const chunk = (choice: JsonObject, extra?: Extra) =>
    frame({
      ...answer(exchange, [{ ...choice, ...fieldsFor(WIRE, extra) }]),
      ...(showsUsage === true && { usage: null }),
    });
  return {
    write(event: CompleteEvent, emit: Emit<Frame>): void {
      switch (event.type) {
        case "delta": {
          const { text, index, logprobs, extra } = event;
          const likely = logprobs ? serializeLogprobs(logprobs) : null;
          return emit(chunk({ text, index, logprobs: likely, finish_reason: null }, extra));
        }
        case "choice-end": {
          const { index, finish, extra } = event;
          return emit(chunk({ text: "", index, logprobs: null, finish_reason: serializeFinish(finish) }, extra));
        }
        case "finish":
          if (showsUsage === true) {
            emit(frame({ ...answer(exchange, []), usage: serializeUsage(event.usage as Usage) }));
          }
          return emit({ data: "[DONE]" });
        case "error":
          return emit(frame(serializeErrorBody(event.error)));
        default:
          event satisfies never;
      }
    },
  };
}

function frame(body: JsonObject): Frame {
  return { data: JSON.stringify(body) };
}
