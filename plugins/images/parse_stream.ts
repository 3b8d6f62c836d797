import { delivered, type DrawEvent, type DrawRequest, type Picture, pictureInText } from "../../src/canonical/draw.ts";
import { parseJson, present } from "../../src/canonical/json.ts";
import type { Context } from "../../src/contract/context.ts";
import type { Frame } from "../../src/contract/frame.ts";
import type { Emit, StreamReader } from "../../src/contract/stream.ts";
import { accept } from "../../src/contract/validate.ts";
import { GatewayError } from "../../src/errors.ts";
import { saysError, upstreamStreamError } from "../shared/errors.ts";
import { parseUsage, pictureOf } from "./parse_response.ts";
import { eventSchema } from "./wire.ts";

/**
 * Reads a streamed answer: unfinished pictures, and the finished ones. It has no mark of its end, so it ends with the last picture
 * that was wanted, with `[DONE]`, or with the body.
 */
export function parseStream(input: DrawRequest, context: Context): StreamReader<DrawEvent> {
  return new PicturesReader(input, context);
}

class PicturesReader implements StreamReader<DrawEvent> {
  done = false;
  readonly #input: Omit<DrawRequest, "images" | "mask">;
  readonly #context: Context;
  readonly #pictures: Picture[] = [];
  #partials = 0;
  #finish: Omit<Extract<DrawEvent, { type: "finish" }>, "type"> = { usage: { pictures: 0 } };

  constructor({ images: _images, mask: _mask, ...input }: DrawRequest, context: Context) {
    this.#input = input;
    this.#context = context;
  }

  read({ event, data }: Frame, emit: Emit<DrawEvent>): void {
    const text = data?.trim();
    if (!text) return;
    if (text === "[DONE]") return this.end(emit);
    const body = parseJson(text);
    if (event === "error" || saysError(body)) throw upstreamStreamError(body);
    const read = accept(eventSchema, body);
    if (!read) throw new GatewayError("upstream_error", "The upstream's stream holds a frame that is not an event");
    const { type, b64_json, partial_image_index: index } = read;
    if (type.endsWith(".partial_image") && b64_json) {
      if (++this.#partials > this.#mostPartials) return;
      return emit({ type: "partial", index: index ?? this.#partials - 1, picture: pictureInText(b64_json) });
    }
    if (!type.endsWith(".completed")) return;
    const picture = { ...pictureOf(read), ...present("revisedPrompt", read.revised_prompt) };
    this.#pictures.push(picture);
    const { quality, background, usage } = read;
    this.#finish = {
      ...present("quality", quality),
      ...present("background", background),
      usage: parseUsage(usage, this.#pictures.length),
    };
    emit({ type: "picture", picture });
    if (this.#pictures.length >= this.#input.count) this.end(emit);
  }

  end(emit: Emit<DrawEvent>): void {
    if (this.#pictures.length === 0) {
      throw new GatewayError("upstream_error", "The upstream's answer ended before it was complete");
    }
    delivered(this.#pictures, this.#input, this.#context.note);
    this.done = true;
    emit({ type: "finish", ...this.#finish });
  }

  /** Further ones are not passed on, because a stream of them need never end. */
  get #mostPartials(): number {
    return (this.#input.partials ?? 0) * this.#input.count;
  }
}
