/** Joins the beginning of an answer that broke off and the rest of it, which another call to a model gave. */
import type { Annotation, GenerateEvent, OutputPart, PartDelta, ToolCallPart } from "../canonical/generate.ts";
import type { Usage } from "../canonical/usage.ts";
import type { Emit, StreamTransform } from "../contract/stream.ts";
import { misfit, type Seam } from "./seam.ts";
import type { Continuing, Shown } from "./unfinished_answer.ts";

export interface JoinOptions {
  shown: Shown;
  seam: Seam;
  continuing: Continuing;
  /** The usage of the whole answer, from that of the rest. */
  usage(rest: Usage): Usage;
}

/** How a part of the rest passes: not at all, compared with one that was seen, or as the answer's own. */
type Mode = "hidden" | "blank" | "compared" | "own";

/** Changes the events of the rest so that they follow those of the beginning. */
export class JoinedRest implements StreamTransform<GenerateEvent> {
  readonly #options: JoinOptions;
  readonly #calls: ToolCallPart[];
  /** The open part of the answer. */
  #open: OutputPart | undefined;
  /** The index of the open part, or else of the next one. */
  #index: number;
  /** How many characters of the open part came before the rest. */
  #before = 0;
  #mode: Mode = "hidden";
  /** The part of the rest that begins the answer's next part once it has any text. */
  #delayed: OutputPart | undefined;
  /** Whether the rest has only reasoned so far. */
  #isBeginning = true;
  /** Whether the text of the rest has yet to pass the seam. */
  #isAtSeam = true;
  /** The characters of the part of the rest that came, and those that were new. */
  #came = 0;
  #new = 0;

  constructor(options: JoinOptions) {
    const { shown: { content, isOpen }, continuing: { calls } } = options;
    this.#options = options;
    this.#calls = [...calls];
    this.#open = isOpen ? content.at(-1) : undefined;
    this.#index = isOpen ? content.length - 1 : content.length;
    if (this.#open && "text" in this.#open) this.#before = this.#open.text.length;
  }

  push(event: GenerateEvent, emit: Emit<GenerateEvent>): void {
    switch (event.type) {
      case "start":
        return;
      case "part-start":
        return this.#start(event.part, emit);
      case "part-delta":
        return this.#add(event.delta, emit);
      case "part-end":
        return this.#end(event, emit);
      case "finish":
        if (this.#calls.length > 0) throw misfit();
        this.#close(emit);
        return emit({ ...event, usage: this.#options.usage(event.usage) });
      case "error":
        throw event.error;
      default:
        event satisfies never;
    }
  }

  #start(part: OutputPart, emit: Emit<GenerateEvent>): void {
    this.#came = this.#new = 0;
    this.#isBeginning &&= part.type === "reasoning";
    if (part.type === "reasoning" && this.#isBeginning && this.#options.continuing.hidesReasoning) {
      this.#mode = "hidden";
    } else if (this.#calls.length > 0) this.#compare(part);
    else {
      this.#mode = "own";
      const open = this.#open;
      const isSame = this.#isAtSeam && (part.type === "text" || (part.type === "reasoning" && this.#before === 0));
      if (isSame && open?.type === part.type) return;
      if (part.type === "text" && this.#isAtSeam) this.#delayed = part;
      else this.#begin(part, emit);
    }
  }

  /** Whatever comes before the calls that were seen must be nothing, and then come those calls. */
  #compare(part: OutputPart): void {
    const [wanted] = this.#calls;
    if (part.type === "text") this.#mode = "blank";
    else if (part.type === "tool-call" && part.kind === wanted!.kind && part.name === wanted!.name) {
      this.#mode = "compared";
    } else throw misfit();
  }

  #begin(part: OutputPart, emit: Emit<GenerateEvent>): void {
    this.#close(emit);
    this.#open = part;
    this.#before = 0;
    emit({ type: "part-start", index: this.#index, part });
  }

  /** Ends the open part. */
  #close(emit: Emit<GenerateEvent>): void {
    if (!this.#open) return;
    emit({ type: "part-end", index: this.#index++ });
    this.#open = undefined;
  }

  #add(delta: PartDelta, emit: Emit<GenerateEvent>): void {
    this.#came += delta.text.length;
    if (this.#mode === "compared") return this.#addToCall(delta.text, emit);
    if (this.#mode === "hidden") return;
    const text = delta.type === "text" && this.#isAtSeam ? this.#options.seam.take(delta.text) : delta.text;
    this.#emit({ ...delta, text }, emit);
  }

  #emit(delta: PartDelta, emit: Emit<GenerateEvent>): void {
    if (this.#mode === "blank" && delta.text.trim() !== "") throw misfit();
    if (delta.text === "" || this.#mode === "blank") return;
    if (this.#delayed) this.#begin(this.#delayed, emit);
    this.#delayed = undefined;
    this.#new += delta.text.length;
    emit({ type: "part-delta", index: this.#index, delta });
  }

  /** The input of a call has to begin like the one that was seen. The rest of it is new. */
  #addToCall(text: string, emit: Emit<GenerateEvent>): void {
    const { input } = this.#calls[0]!;
    const before = this.#came - text.length;
    const known = input.slice(before, before + text.length);
    if (!text.startsWith(known)) throw misfit();
    const rest = text.slice(known.length);
    if (rest === "") return;
    if (!this.#isLastOpen()) throw misfit();
    emit({ type: "part-delta", index: this.#index, delta: { type: "tool-input", text: rest } });
  }

  #isLastOpen(): boolean {
    return this.#calls.length === 1 && this.#open?.type === "tool-call";
  }

  #end(event: GenerateEvent & { type: "part-end" }, emit: Emit<GenerateEvent>): void {
    if (this.#mode === "compared") return this.#endCall(event, emit);
    if (this.#mode === "hidden") return;
    if (this.#isAtSeam && (this.#mode === "blank" || (this.#delayed ?? this.#open)?.type === "text")) {
      this.#emit({ type: "text", text: this.#options.seam.end() }, emit);
      this.#isAtSeam = false;
    }
    if (this.#mode === "blank") return;
    this.#delayed = undefined;
    if (!this.#open) return;
    const { annotations } = event;
    // A position in the rest, and the same one in the whole part.
    const shift = this.#before + this.#new - this.#came;
    emit({
      ...event,
      index: this.#index++,
      ...(annotations && { annotations: annotations.map((one) => shifted(one, shift)) }),
    });
    this.#open = undefined;
  }

  #endCall(event: GenerateEvent & { type: "part-end" }, emit: Emit<GenerateEvent>): void {
    if (this.#came < this.#calls[0]!.input.length) throw misfit();
    if (this.#isLastOpen()) {
      emit({ ...event, index: this.#index++ });
      this.#open = undefined;
    }
    this.#calls.shift();
  }
}

function shifted(annotation: Annotation, by: number): Annotation {
  const { start, end } = annotation;
  return {
    ...annotation,
    ...(start !== undefined && { start: start + by }),
    ...(end !== undefined && { end: end + by }),
  };
}
