import type { Frame } from "../contract/frame.ts";

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
