/** How the frames of a stream are sent over HTTP. */
import type { Frame } from "../contract/frame.ts";
import type { AnswerFraming } from "../contract/stream.ts";
export const MEDIA_TYPE: Record<AnswerFraming, string> = {
  sse: "text/event-stream; charset=utf-8",
  ndjson: "application/x-ndjson",
  json: "application/json",
};

/** Frames as text, one after the other. */
export interface FrameText {
  text: string;
  /** Adds a frame. May be called without its object. */
  readonly add: (frame: Frame) => void;
}

/** Server-sent events. Line breaks inside a comment or a name would end it, so they become spaces. */
class EventText implements FrameText {
  text = "";

  readonly add = ({ comment, event, id, data }: Frame): void => {
    let text = "";
    if (comment !== undefined) text += `: ${oneLine(comment)}\n`;
    if (event !== undefined) {
      text += `event: ${event.includes("\n") || event.includes("\r") ? oneLine(event) : event}\n`;
    }
    if (id !== undefined) text += `id: ${oneLine(id)}\n`;
    if (data !== undefined) text += `data: ${data.includes("\n") || data.includes("\r") ? manyLines(data) : data}\n`;
    this.text += `${text}\n`;
  };
}

/** JSON lines. They have no comments, so a frame with only a comment adds nothing. */
class LineText implements FrameText {
  text = "";

  readonly add = ({ data }: Frame): void => {
    if (data !== undefined) this.text += `${data}\n`;
  };
}

export const FRAME_TEXT: Record<AnswerFraming, new () => FrameText> = {
  sse: EventText,
  ndjson: LineText,
  json: LineText,
};

/** The text of these frames. */
export function formatFrames(frames: Iterable<Frame>, framing: AnswerFraming): string {
  const all = new FRAME_TEXT[framing]();
  for (const frame of frames) all.add(frame);
  return all.text;
}

/** A frame in the format of server-sent events. */
export function formatFrame(frame: Frame): string {
  return formatFrames([frame], "sse");
}

function oneLine(text: string): string {
  return text.replace(/[\r\n]+/g, " ");
}

function manyLines(data: string): string {
  return data.split(/\r\n|\r|\n/).join("\ndata: ");
}
