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

/** Limits the text of a streamed answer. */
export class TextLimit {
  readonly #most: number;
  /** Characters received so far. */
  length = 0;

  /** `most`: in characters. */
  constructor(most: number) {
    this.#most = most;
  }

  /** Throws `upstream_error` once the events exceed the limit in total. */
  check(event: { type: string }): void {
    if (!isDelta(event)) return;
    this.length += event.delta.text.length;
    if (this.length > this.#most) throw tooMuchText(this.#most);
  }
}

function isDelta(event: { type: string }): event is GenerateEvent & { type: "part-delta" } {
  return event.type === "part-delta";
}

function tooMuchText(most: number): GatewayError {
  const message = `The upstream's answer has more than ${most} characters of text`;
  return new GatewayError("upstream_error", message, { retryable: false, cause: new RangeError(message) });
}
