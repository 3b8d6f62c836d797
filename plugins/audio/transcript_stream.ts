import type {
  Transcript,
  TranscriptEvent,
  TranscriptionRequest,
  TranscriptSegment,
} from "../../src/canonical/audio.ts";
import { isJsonObject, type JsonObject, present, readJson } from "../../src/canonical/json.ts";
import type { Context, Exchange } from "../../src/contract/context.ts";
import type { Target } from "../../src/contract/driver.ts";
import type { Frame } from "../../src/contract/frame.ts";
import type { Emit, StreamReader, StreamWriter } from "../../src/contract/stream.ts";
import { accept } from "../../src/contract/validate.ts";
import { GatewayError } from "../../src/errors.ts";
import { upstreamStreamError } from "../shared/errors.ts";
import { errorFrame, frame } from "./frames.ts";
import { parseSegment, parseTranscriptBody, parseUsage, serializeSegment, withExtra } from "./transcript.ts";
import { eventSchema, segmentSchema, type WireEvent } from "./wire.ts";

/**
 * Parses an upstream's stream: the wire's own events, or vLLM's chunks, whose finish reasons end only a piece of the file. The stream
 * ends with `transcript.text.done` or `[DONE]`. Some releases of Speaches send bare `{text}`, and transformers sends plain text:
 * those have no end marker, so they end with the body.
 */
export function parseTranscriptStream(
  _input: TranscriptionRequest,
  _target: Target,
  context: Context,
): StreamReader<TranscriptEvent> {
  return new TranscriptReader(context);
}

class TranscriptReader implements StreamReader<TranscriptEvent> {
  done = false;
  readonly #context: Context;
  readonly #segments: TranscriptSegment[] = [];
  #text = "";
  #usage: Transcript["usage"];
  #isBare = false;
  /** Whether the stream is plain text. It never changes its kind. */
  #isPlain: boolean | undefined;

  constructor(context: Context) {
    this.#context = context;
  }

  read({ event, data }: Frame, emit: Emit<TranscriptEvent>): void {
    const text = data?.trim();
    if (!data || !(text || this.#isPlain)) return;
    if (text === "[DONE]") return this.#finish({}, emit);
    this.#isPlain ??= event === undefined && !/^[<{[]/.test(text!);
    if (this.#isPlain && !/^\{\s*"error"/.test(data)) return this.#add(data, emit);
    const body = parseFrame(text!);
    if (event === "error" || body.error || body.type === "error") throw upstreamStreamError(body);
    this.#readEvent(body, emit);
  }

  end(emit: Emit<TranscriptEvent>): void {
    if (!this.#isBare && !this.#isPlain) {
      throw new GatewayError("upstream_error", "The upstream's answer ended before it was complete");
    }
    this.#finish({}, emit);
  }

  #readEvent(body: JsonObject, emit: Emit<TranscriptEvent>): void {
    const event = accept(eventSchema, body);
    if (!event) throw notAnEvent();
    if (event.usage) this.#usage = parseUsage(event.usage) ?? this.#usage;
    switch (event.type) {
      case "transcript.text.segment": {
        const read = accept(segmentSchema, body);
        if (!read) throw notAnEvent();
        const segment = parseSegment(read);
        this.#segments.push(segment);
        return emit({ type: "segment", segment });
      }
      case "transcript.text.done": {
        const whole = parseTranscriptBody({ ...body, text: body.text ?? "" });
        // Clients join increments. A server without increments has the text only in its last event.
        if (this.#text === "") this.#add(whole.text, emit);
        return this.#finish(whole, emit);
      }
      default:
        return this.#readIncrement(event, emit);
    }
  }

  #readIncrement({ type, choices, text, delta, logprobs }: WireEvent, emit: Emit<TranscriptEvent>): void {
    this.#isBare = !type && !choices && typeof text === "string";
    if (Array.isArray(logprobs) && logprobs.length > 0) this.#context.note("dropped logprobs");
    const increment = type === "transcript.text.delta" ? delta : choices?.[0]?.delta?.content;
    this.#add((this.#isBare ? text : increment) ?? "", emit);
  }

  #add(text: string, emit: Emit<TranscriptEvent>): void {
    this.#text += text;
    if (text !== "") emit({ type: "delta", text });
  }

  /** Speaches ends with an empty text, so the text is that of the increments. */
  #finish(whole: Partial<Transcript>, emit: Emit<TranscriptEvent>): void {
    this.done = true;
    const transcript: Transcript = {
      ...(this.#segments.length > 0 && { segments: this.#segments }),
      ...present("usage", this.#usage),
      ...whole,
      text: whole.text || this.#text.trim(),
    };
    emit({ type: "finish", transcript });
  }
}

function parseFrame(text: string): JsonObject {
  const body = readJson(text, JSON.parse);
  if (!isJsonObject(body)) throw notAnEvent();
  return body;
}

function notAnEvent(): GatewayError {
  return new GatewayError("upstream_error", "The upstream's stream holds a frame that is not an event of a transcript");
}

/** Writes increments, segments with speakers if requested, and the whole text. There is no `[DONE]`. */
export function serializeTranscriptStream(
  { input }: Pick<Exchange<"transcribe">, "input">,
): StreamWriter<TranscriptEvent> {
  let segments = 0;
  return {
    write(event, emit) {
      switch (event.type) {
        case "delta":
          return emit(frame({ type: "transcript.text.delta", delta: event.text }));
        case "segment":
          if (input.format === "diarized_json") emit(frame(serializeSegment(event.segment, segments++)));
          return;
        case "finish": {
          const { transcript } = event;
          return emit(frame(withExtra({ type: "transcript.text.done", text: transcript.text }, transcript)));
        }
        case "error":
          return emit(errorFrame(event.error));
        default:
          event satisfies never;
      }
    },
  };
}
