/** The pieces of an answer whose texts are held back until they are known to follow the schema. */
import type { GenerateEvent, TextPart } from "../canonical/generate.ts";
import { replayPart } from "../canonical/replay.ts";

/** Collects the texts of a streamed answer until it is known whether they are valid. */
export class HeldTexts {
  isReleased = false;
  #parts: TextPart[] = [];
  #open: TextPart | undefined;

  /** Takes the event if it is part of a text. Returns whether it did. */
  take(event: GenerateEvent): boolean {
    if (this.isReleased) return false;
    if (event.type === "part-start" && event.part.type === "text") {
      this.#open = { ...event.part };
      this.#parts.push(this.#open);
      return true;
    }
    const open = this.#open;
    if (!open) return false;
    if (event.type === "part-delta") open.text += event.delta.text;
    else if (event.type === "part-end") {
      if (event.annotations) open.annotations = event.annotations;
      if (event.extra) open.extra = event.extra;
      this.#open = undefined;
    } else return false;
    return true;
  }

  get text(): string {
    return this.#parts.map(({ text }) => text).join("");
  }

  /** The answer's only text. Annotations of other texts, with positions in them, do not apply to it. */
  as(json: string): TextPart[] {
    const [first] = this.#parts;
    return first?.text === json && this.#parts.length === 1 ? [first] : [{ type: "text", text: json }];
  }

  /** All texts as they arrived. Later ones are not held. */
  release(): TextPart[] {
    this.isReleased = true;
    return this.#parts.splice(0);
  }
}

/** Joins the events of several tries, and parts that were held back, into one stream. */
export class JoinedTries {
  #start: GenerateEvent | undefined;
  #started = false;
  #index = -1;

  /** The start is emitted with the first content. Until then, a failure can still have its own HTTP status. */
  start(event: GenerateEvent): void {
    this.#start = event;
  }

  *pass(event: GenerateEvent): Generator<GenerateEvent> {
    if (!this.#started && this.#start) yield this.#start;
    this.#started = true;
    if (event.type === "part-start") this.#index++;
    yield "index" in event ? { ...event, index: this.#index } : event;
  }

  *parts(parts: readonly TextPart[]): Generator<GenerateEvent> {
    for (const part of parts) for (const event of replayPart(part, 0)) yield* this.pass(event);
  }
}
