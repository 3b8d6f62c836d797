/** How the frames of a stream go over HTTP. */
import type { Frame } from "../contract/frame.ts";
import type { Framing } from "../contract/stream.ts";
import { formatFrame } from "./sse.ts";

export const MEDIA_TYPE: Record<Framing, string> = {
  sse: "text/event-stream; charset=utf-8",
  ndjson: "application/x-ndjson",
};

/** A frame as text. JSON lines have no comments: what is only a comment is nothing there. */
export const FORMAT: Record<Framing, (frame: Frame) => string> = {
  sse: formatFrame,
  ndjson: ({ data }) => data === undefined ? "" : `${data}\n`,
};
