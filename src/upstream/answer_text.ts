/**
 * How much a model may write in one answer. A text is written out up to five times where a wire repeats it at the end of its
 * stream, so the limit on bytes, which pictures and vectors need, is too wide for it.
 */
import type { GenerateEvent, OutputPart } from "../canonical/generate.ts";
import { GatewayError } from "../errors.ts";

/** Throws `upstream_error` where the parts together have more than `most` characters. */
export function checkText(parts: readonly OutputPart[], most: number): void {
  if (parts.reduce((length, part) => length + textOf(part).length, 0) > most) throw tooMuchText(most);
}

function textOf(part: OutputPart): string {
  if (part.type === "tool-call") return part.input;
  return "text" in part ? part.text : "";
}

/** The same for an answer that comes step by step. */
export class TextLimit {
  readonly #most: number;
  /** What has come so far, in characters. */
  length = 0;

  /** `most`: in characters. */
  constructor(most: number) {
    this.#most = most;
  }

  /** Throws `upstream_error` once the events together have more than that. */
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
