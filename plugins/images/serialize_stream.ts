import type { DrawEvent, DrawingFacts, Picture } from "../../src/canonical/draw.ts";
import type { JsonObject } from "../../src/canonical/json.ts";
import type { Exchange } from "../../src/contract/context.ts";
import type { Frame } from "../../src/contract/frame.ts";
import type { Emit, StreamWriter } from "../../src/contract/stream.ts";
import { serializeErrorBody } from "../shared/errors.ts";
import { factsOf, serializeUsage } from "./serialize_response.ts";

/** Writes unfinished pictures, and the finished ones. The last one has the usage. There is no `[DONE]`. */
export function serializeStream({ created, input }: Exchange<"draw">): StreamWriter<DrawEvent> {
  const name = input.images ? "image_edit" : "image_generation";
  const { images: _images, mask: _mask, ...request } = input;
  const frame = (type: string, fields: JsonObject): Frame => ({
    event: type,
    data: JSON.stringify({ type, ...fields }),
  });
  const completed = (picture: Picture, facts: DrawingFacts, more: JsonObject) =>
    frame(`${name}.completed`, {
      ...(picture.base64 === undefined ? { url: picture.url! } : { b64_json: picture.base64 }),
      created_at: created,
      ...factsOf(picture, facts, request),
      ...more,
    });
  /** Waits for the next event, because the usage comes at the end. */
  let waiting: Picture | undefined;
  return {
    write(event, emit: Emit<Frame>) {
      switch (event.type) {
        case "partial":
          return emit(frame(`${name}.partial_image`, {
            b64_json: event.picture.base64,
            partial_image_index: event.index,
            created_at: created,
            ...factsOf(event.picture, {}, request),
          }));
        case "picture":
          if (waiting) emit(completed(waiting, {}, {}));
          waiting = event.picture;
          return;
        case "finish":
          if (waiting) emit(completed(waiting, event, { usage: serializeUsage(event.usage) }));
          return;
        case "error":
          return emit({ event: "error", data: JSON.stringify({ type: "error", ...serializeErrorBody(event.error) }) });
        default:
          event satisfies never;
      }
    },
  };
}
