import type { Frame } from "../contract/frame.ts";

/** A frame as it goes over the wire. Line breaks inside a comment or a name would end it, so they become blanks. */
export function formatFrame({ comment, event, id, data }: Frame): string {
  let text = "";
  if (comment !== undefined) text += `: ${oneLine(comment)}\n`;
  if (event !== undefined) text += `event: ${oneLine(event)}\n`;
  if (id !== undefined) text += `id: ${oneLine(id)}\n`;
  if (data !== undefined) text += `data: ${data.includes("\n") || data.includes("\r") ? manyLines(data) : data}\n`;
  return `${text}\n`;
}

function oneLine(text: string): string {
  return text.replace(/[\r\n]+/g, " ");
}

function manyLines(data: string): string {
  return data.split(/\r\n|\r|\n/).join("\ndata: ");
}
