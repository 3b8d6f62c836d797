/** How the frames of a stream are sent over HTTP. */
import type { Frame } from "../contract/frame.ts";
import type { AnswerFraming } from "../contract/stream.ts";
import { formatFrame } from "./sse.ts";

export const MEDIA_TYPE: Record<AnswerFraming, string> = {
  sse: "text/event-stream; charset=utf-8",
  ndjson: "application/x-ndjson",
  json: "application/json",
};

/** Serializes a frame. JSON lines have no comments, so a frame with only a comment becomes empty text. */
export const FORMAT: Record<AnswerFraming, (frame: Frame) => string> = {
  sse: formatFrame,
  ndjson: formatLine,
  json: formatLine,
};

function formatLine({ data }: Frame): string {
  return data === undefined ? "" : `${data}\n`;
}
