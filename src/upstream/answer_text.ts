/**
 * Limits the text of one answer. The byte limit has to leave room for images and vectors, so it is too generous for
 * text, which some wires repeat up to five times at the end of a stream.
 */
import type { GenerateEvent, OutputPart } from "../canonical/generate.ts";
import { GatewayError } from "../errors.ts";

/** Throws `upstream_error` if the parts have more than `most` characters in total. */
export function checkText(parts: readonly OutputPart[], most: number): void {
  if (parts.reduce((length, part) => length + textIn(part).length, 0) > most) throw tooMuchText(most);
}

function textIn(part: OutputPart): string {
  if (part.type === "tool-call") return part.input;
  return "text" in part ? part.text : "";
}

/** The events of a streamed answer as they are read, and a limit on their text. */
export class LimitedEvents<E extends { type: string }> {
  readonly #most: number;
  /** Characters received so far. */
  length = 0;
  /** The events that were read and not taken. */
  list: E[] = [];

  /** `most`: in characters. */
  constructor(most: number) {
    this.#most = most;
  }

  /** Throws `upstream_error` once the events exceed the limit in total. */
  readonly add = (event: E): void => {
    if (event.type === "part-delta") {
      this.length += (event as E & TextDelta).delta.text.length;
      if (this.length > this.#most) throw tooMuchText(this.#most);
    } else if (event.type === "delta") this.#addPiece(event as E & PieceDelta);
    this.list.push(event);
  };

  /** A piece of a completion or of a transcript. */
  #addPiece({ text }: PieceDelta): void {
    this.length += text.length;
    if (this.length > this.#most) throw tooMuchText(this.#most);
  }
}

type TextDelta = Extract<GenerateEvent, { type: "part-delta" }>;
interface PieceDelta {
  text: string;
}

function tooMuchText(most: number): GatewayError {
  const message = `The upstream's answer has more than ${most} characters of text`;
  return new GatewayError("upstream_error", message, { retryable: false, cause: new RangeError(message) });
}
