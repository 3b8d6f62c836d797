/** How the frames of a stream go over HTTP. */
import type { Frame } from "../contract/frame.ts";
import type { AnswerFraming } from "../contract/stream.ts";
import { formatFrame } from "./sse.ts";

export const MEDIA_TYPE: Record<AnswerFraming, string> = {
  sse: "text/event-stream; charset=utf-8",
  ndjson: "application/x-ndjson",
  json: "application/json",
};

/** A frame as text. JSON lines have no comments: what is only a comment is nothing there. */
export const FORMAT: Record<AnswerFraming, (frame: Frame) => string> = {
  sse: formatFrame,
  ndjson: formatLine,
  json: formatLine,
};

function formatLine({ data }: Frame): string {
  return data === undefined ? "" : `${data}\n`;
}
