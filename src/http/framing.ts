/** How the frames of a stream are sent over HTTP. */
import type { Frame } from "../contract/frame.ts";
import type { AnswerFraming } from "../contract/stream.ts";
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

/** A frame in the format of server-sent events. Line breaks inside a comment or a name would end it, so they become spaces. */
export function formatFrame({ comment, event, id, data }: Frame): string {
  let text = "";
  if (comment !== undefined) text += `: ${oneLine(comment)}\n`;
  if (event !== undefined) text += `event: ${oneLine(event)}\n`;
  if (id !== undefined) text += `id: ${oneLine(id)}\n`;
  if (data !== undefined) text += `data: ${hasBreak(data) ? manyLines(data) : data}\n`;
  return `${text}\n`;
}

function hasBreak(text: string): boolean {
  return text.includes("\n") || text.includes("\r");
}

function oneLine(text: string): string {
  return hasBreak(text) ? text.replace(/[\r\n]+/g, " ") : text;
}

function manyLines(data: string): string {
  return data.split(/\r\n|\r|\n/).join("\ndata: ");
}
