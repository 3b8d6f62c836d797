import type { Transcript, TranscriptEvent, TranscriptSegment } from "../../src/canonical/audio.ts";
import { isJsonObject, type JsonObject, present, readJson } from "../../src/canonical/json.ts";
import type { Context, Exchange } from "../../src/contract/context.ts";
import type { Frame } from "../../src/contract/frame.ts";
import { accept } from "../../src/contract/validate.ts";
import { GatewayError } from "../../src/errors.ts";
import { upstreamStreamError } from "../shared/errors.ts";
import { errorFrame, frame } from "./frames.ts";
import { parseSegment, parseTranscriptBody, parseUsage, serializeSegment, withExtra } from "./transcript.ts";
import { eventSchema, segmentSchema } from "./wire.ts";

/**
 * An upstream's stream: the wire's own events, or vLLM's chunks, whose finish reasons end a piece of the file only. It is
 * over with `transcript.text.done` or `[DONE]`; the pieces that some releases of Speaches send as bare `{text}`, and those
 * that transformers sends as plain text, have no end of their own, so for them it is that of the body.
 */
export async function* parseTranscriptStream(
  frames: AsyncIterable<Frame>,
  context: Context,
): AsyncGenerator<TranscriptEvent> {
  let text = "";
  let usage: Transcript["usage"];
  let isBare = false;
  let isPlain: boolean | undefined;
  const segments: TranscriptSegment[] = [];
  const said = (): Transcript => ({
    text: text.trim(),
    ...(segments.length > 0 && { segments }),
    ...present("usage", usage),
  });

  for await (const { event, data } of frames) {
    const frame = data?.trim();
    if (!data || !(frame || isPlain)) continue;
    if (frame === "[DONE]") {
      yield { type: "finish", transcript: said() };
      return;
    }
    // A stream is all of one kind.
    isPlain ??= event === undefined && !/^[<{[]/.test(frame!);
    if (isPlain && !/^\{\s*"error"/.test(data)) {
      text += data;
      yield { type: "delta", text: data };
      continue;
    }
    const body = parseFrame(frame!);
    if (event === "error" || body.error || body.type === "error") throw upstreamStreamError(body);
    const read = accept(eventSchema, body);
    if (!read) throw notAnEvent();
    const { type, choices } = read;
    if (read.usage) usage = parseUsage(read.usage) ?? usage;
    if (type === "transcript.text.segment") {
      const segment = accept(segmentSchema, body);
      if (!segment) throw notAnEvent();
      segments.push(parseSegment(segment));
      yield { type: "segment", segment: segments.at(-1)! };
    } else if (type === "transcript.text.done") {
      const done = parseTranscriptBody({ ...body, text: body.text ?? "" });
      // Clients add increments up; a server that sends none has the text in its last event only.
      if (text === "" && done.text !== "") yield { type: "delta", text: done.text };
      // Speaches ends with an empty text, its increments being all there is.
      yield { type: "finish", transcript: { ...said(), ...done, text: done.text || text.trim() } };
      return;
    } else {
      isBare = !type && !choices && typeof body.text === "string";
      const told = type === "transcript.text.delta" ? read.delta : choices?.[0]?.delta?.content;
      const added = (isBare ? read.text : told) ?? "";
      if (Array.isArray(read.logprobs) && read.logprobs.length > 0) context.note("dropped logprobs");
      text += added;
      if (added !== "") yield { type: "delta", text: added };
    }
  }
  if (!isBare && !isPlain) {
    throw new GatewayError("upstream_error", "The upstream's answer ended before it was complete");
  }
  yield { type: "finish", transcript: said() };
}

function parseFrame(text: string): JsonObject {
  const body = readJson(text, JSON.parse);
  if (!isJsonObject(body)) throw notAnEvent();
  return body;
}

function notAnEvent(): GatewayError {
  return new GatewayError("upstream_error", "The upstream's stream holds a frame that is not an event of a transcript");
}

/** Increments, who said what where that was asked for, and the whole text. There is no `[DONE]`. */
export async function* serializeTranscriptStream(
  events: AsyncIterable<TranscriptEvent>,
  { input }: Pick<Exchange<"transcribe">, "input">,
): AsyncGenerator<Frame> {
  let segments = 0;
  for await (const event of events) {
    switch (event.type) {
      case "delta":
        yield frame({ type: "transcript.text.delta", delta: event.text });
        break;
      case "segment":
        if (input.format === "diarized_json") yield frame(serializeSegment(event.segment, segments++));
        break;
      case "finish": {
        const { transcript } = event;
        yield frame(withExtra({ type: "transcript.text.done", text: transcript.text }, transcript));
        break;
      }
      case "error":
        yield errorFrame(event.error);
        break;
      default:
        event satisfies never;
    }
  }
}
