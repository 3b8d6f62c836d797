/** Puts originals back into whole answers, and into the events of streamed ones. */
import type { CompleteEvent, CompleteResponse } from "../../src/canonical/complete.ts";
import type { Transcript, TranscriptEvent } from "../../src/canonical/audio.ts";
import type {
  Annotation,
  GenerateEvent,
  GenerateResponse,
  OutputPart,
  PartDelta,
  TextPart,
} from "../../src/canonical/generate.ts";
import type { Emit, StreamTransform } from "../../src/contract/stream.ts";
import { runUnsliced } from "../../src/util/sliced_work.ts";
import { type Originals, RestoredText, type Shift, shifted } from "./restore.ts";
import { Walk } from "./walk.ts";

/** Restores all texts of any value. `isJson`: texts of the answer are JSON, because the client gave a schema. */
export type Restore = <T>(value: T) => T;

export function restorerFor(originals: Originals, isJson: boolean): Restore {
  const walk = new Walk({
    unreadable() {},
    // deno-lint-ignore require-yield -- a text is short work here
    *text(text, { isJson: isArguments = false, type, name }) {
      return originals.restore(text, isArguments || isJson && isAnswerText(type, name));
    },
  });
  return <T>(value: T) => runUnsliced(walk.value(value)) as T;
}

/** Whether this field has what the model says, and not what it thinks or calls. */
function isAnswerText(type: unknown, name: string | undefined): boolean {
  return type === "text" && name === "text" || type === undefined && name === "content";
}

export function restoreResponse(
  response: GenerateResponse,
  originals: Originals,
  isJson: boolean,
): GenerateResponse {
  const restore = restorerFor(originals, isJson);
  const content = response.content.map((part) => restorePart(part, originals, restore, isJson));
  return { ...restore({ ...response, content: [] }), content };
}

function restorePart(part: OutputPart, originals: Originals, restore: Restore, isJson: boolean): OutputPart {
  if (part.type !== "text" || !part.annotations) return restore(part);
  const shifts: Shift[] = [];
  originals.restore(part.text, isJson, shifts);
  const annotations = moved(part.annotations, shifts);
  return restore<TextPart>({ ...part, annotations });
}

/** The citations, with their places in the text with originals. */
function moved(annotations: Annotation[], shifts: readonly Shift[]): Annotation[] {
  if (shifts.length === 0) return annotations;
  return annotations.map((one) => ({
    ...one,
    ...(one.start !== undefined && { start: shifted(one.start, shifts) }),
    ...(one.end !== undefined && { end: shifted(one.end, shifts) }),
  }));
}

/** A part that is open, and its text so far. */
interface OpenPart {
  text: RestoredText;
  /** The type of its deltas. */
  type: PartDelta["type"];
}

export class EventRestorer implements StreamTransform<GenerateEvent> {
  readonly #originals: Originals;
  readonly #isJson: boolean;
  readonly #restore: Restore;
  readonly #open = new Map<number, OpenPart>();

  constructor(originals: Originals, isJson: boolean) {
    this.#originals = originals;
    this.#isJson = isJson;
    this.#restore = restorerFor(originals, isJson);
  }

  push(event: GenerateEvent, emit: Emit<GenerateEvent>): void {
    switch (event.type) {
      case "part-start":
        return emit(this.#begin(event));
      case "part-delta":
        return this.#continue(event, emit);
      case "part-end":
        return this.#end(event, emit);
      case "start":
      case "finish":
        return emit(this.#restore(event));
      case "error":
        // Its message is logged, too. It keeps the placeholders.
        return emit(event);
      default:
        event satisfies never;
    }
  }

  #begin(event: GenerateEvent & { type: "part-start" }): GenerateEvent {
    const { index, part } = event;
    const isJson = part.type === "tool-call"
      ? part.kind === "function"
      : part.type === "hosted" || part.type === "text" && this.#isJson;
    this.#open.set(index, { text: new RestoredText(this.#originals, isJson), type: "text" });
    return { ...event, part: this.#restore(part) };
  }

  #continue(event: GenerateEvent & { type: "part-delta" }, emit: Emit<GenerateEvent>): void {
    const open = this.#open.get(event.index);
    if (!open) return emit(event);
    const { type, text } = event.delta;
    open.type = type;
    const restored = open.text.push(text);
    if (restored === text) return emit(event);
    if (restored !== "") emit({ ...event, delta: { type, text: restored } });
  }

  #end(event: GenerateEvent & { type: "part-end" }, emit: Emit<GenerateEvent>): void {
    const { index } = event;
    const open = this.#open.get(index);
    this.#open.delete(index);
    const rest = open?.text.end() ?? "";
    if (rest !== "") emit({ type: "part-delta", index, delta: { type: open!.type, text: rest } });
    const annotations = event.annotations && moved(event.annotations, open?.text.shifts ?? []);
    emit(this.#restore({ ...event, ...(annotations && { annotations }) }));
  }
}

export function restoreTranscript(transcript: Transcript, originals: Originals): Transcript {
  return restorerFor(originals, false)(transcript);
}

export class TranscriptRestorer implements StreamTransform<TranscriptEvent> {
  readonly #text: RestoredText;
  readonly #restore: Restore;

  constructor(originals: Originals) {
    this.#text = new RestoredText(originals, false);
    this.#restore = restorerFor(originals, false);
  }

  push(event: TranscriptEvent, emit: Emit<TranscriptEvent>): void {
    if (event.type === "error") return emit(event);
    if (event.type !== "delta" && event.type !== "finish") return emit(this.#restore(event));
    const text = event.type === "delta" ? this.#text.push(event.text) : this.#text.end();
    if (text !== "" || event.type === "delta" && event.text === "") emit({ type: "delta", text });
    if (event.type === "finish") emit(this.#restore(event));
  }
}

/** The tokens of log probabilities are those of the placeholders, and stay. */
export function restoreCompletions(response: CompleteResponse, originals: Originals): CompleteResponse {
  const restore = restorerFor(originals, false);
  const choices = response.choices.map(({ logprobs, ...choice }) => ({
    ...restore(choice),
    ...(logprobs && { logprobs }),
  }));
  return { ...restore({ ...response, choices: [] }), choices };
}

/** Completions arrive side by side. */
export class CompletionRestorer implements StreamTransform<CompleteEvent> {
  readonly #originals: Originals;
  readonly #restore: Restore;
  readonly #texts = new Map<number, RestoredText>();

  constructor(originals: Originals) {
    this.#originals = originals;
    this.#restore = restorerFor(originals, false);
  }

  push(event: CompleteEvent, emit: Emit<CompleteEvent>): void {
    switch (event.type) {
      case "delta": {
        const open = this.#texts.get(event.index) ?? new RestoredText(this.#originals, false);
        this.#texts.set(event.index, open);
        const text = open.push(event.text);
        if (text !== "" || event.text === "" || event.logprobs) emit({ ...event, text });
        return;
      }
      case "choice-end": {
        const rest = this.#texts.get(event.index)?.end() ?? "";
        if (rest !== "") emit({ type: "delta", index: event.index, text: rest });
        return emit(this.#restore(event));
      }
      case "finish":
        return emit(this.#restore(event));
      case "error":
        return emit(event);
      default:
        event satisfies never;
    }
  }
}
