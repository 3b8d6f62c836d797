/** Completions from models that have conversations only, where the configuration wants that: they are asked in words. */
import type { CompleteEvent, CompleteRequest } from "../../src/canonical/complete.ts";
import { fieldsFor } from "../../src/canonical/extra.ts";
import type { GenerateEvent, GenerateRequest, GenerateResponse } from "../../src/canonical/generate.ts";
import { copyRenamed } from "../../src/canonical/json.ts";
import { SAMPLING_PARAMETERS } from "../../src/canonical/sampling.ts";
import type { Frame } from "../../src/contract/frame.ts";
import type { Emit, StreamReader } from "../../src/contract/stream.ts";
import type { SlicedWork } from "../../src/util/sliced_work.ts";
import { StopCutter } from "./stops.ts";
import type { Gap } from "./families.ts";
import type { Place } from "./ways.ts";
import { stopsFor } from "./ways.ts";

/** Conversations have all of them. */
const SAMPLING = Object.keys(SAMPLING_PARAMETERS).map((name) => ({ from: name, to: name }));

const HOLE = "{{FILL_HERE}}";
const CONTINUE =
  "Continue the user's text exactly where it ends. Answer with the continuation only: no introduction, no " +
  "repetition of the text, no code fence.";
const FILL =
  `The user's text has a gap at ${HOLE}. Answer only with the text that belongs there: no introduction, no ` +
  "repetition of what is around it, no code fence.";

/** The conversation in which a model is asked for a completion. */
export function chatRequestOf(input: CompleteRequest, gap: Gap, place: Place): GenerateRequest {
  const { prompt, suffix, files = [], begin = "" } = gap;
  const { sent } = stopsFor(input, place);
  const text = suffix === undefined ? `${prompt}${begin}` : `${prompt}${begin}${HOLE}${suffix}`;
  const others = files.map(({ name = "file", text }) => `File ${name}:\n${text}`);
  place.context.note("asked a chat model in words");
  fieldsFor("words", input.extra, place.context.note);
  return {
    model: input.model,
    messages: [
      { role: "system", content: [{ type: "text", text: suffix === undefined ? CONTINUE : FILL }] },
      { role: "user", content: [...others, text].map((one) => ({ type: "text", text: one })) },
    ],
    stream: input.stream,
    ...(input.maxOutputTokens !== undefined && { maxOutputTokens: Math.max(1, input.maxOutputTokens) }),
    ...copyRenamed(input, SAMPLING),
    ...(input.seed !== undefined && { seed: input.seed }),
    ...(sent.length > 0 && { stopSequences: sent }),
  };
}

/** The text of an answer, without the fence that models put around code. */
export function textOf({ content }: GenerateResponse): string {
  return new Unfenced().push(content.map((part) => part.type === "text" ? part.text : "").join(""), true);
}

/** The beginning of a fence with the name of a language, or of what may become one. */
const FENCE = /^\s*```[\w+-]*\n/;
const MAY_BE_FENCE = /^\s*(?:`{0,3}|```[\w+-]*)$/;

/** Blank space and the name of a language, in characters. */
const LONGEST_FENCE = 64;

/** Takes the fence off a text that comes in pieces. */
class Unfenced {
  #held: string | undefined = "";
  #end: StopCutter | undefined;
  #isOver = false;

  /** `isLast`: whether the text ends with this piece. */
  push(piece: string, isLast = false): string {
    if (this.#held === undefined) return this.#rest(piece, isLast);
    const text = this.#held + piece;
    this.#held = text;
    if (!isLast && text.length < LONGEST_FENCE && MAY_BE_FENCE.test(text)) return "";
    this.#held = undefined;
    const [fence] = FENCE.exec(text) ?? [];
    if (fence !== undefined) this.#end = new StopCutter(["\n```"]);
    return this.#rest(text.slice(fence?.length ?? 0), isLast);
  }

  /** Drops the closing fence and everything after it. */
  #rest(piece: string, isLast: boolean): string {
    if (!this.#end || this.#isOver) return this.#isOver ? "" : piece;
    const { text, stop } = this.#end.push(piece, isLast);
    this.#isOver ||= stop !== undefined;
    return text;
  }
}

/** Reads a conversation's answer as a completion. Its reasoning is left out. */
export class ChatReader implements StreamReader<CompleteEvent> {
  readonly #inner: StreamReader<GenerateEvent>;
  readonly #unfenced = new Unfenced();

  constructor(inner: StreamReader<GenerateEvent>) {
    this.#inner = inner;
  }

  get done(): boolean {
    return this.#inner.done;
  }

  read(frame: Frame, emit: Emit<CompleteEvent>): SlicedWork<void> | void {
    return this.#inner.read(frame, (event) => this.#pass(event, emit));
  }

  end(emit: Emit<CompleteEvent>): SlicedWork<void> | void {
    return this.#inner.end((event) => this.#pass(event, emit));
  }

  #pass(event: GenerateEvent, emit: Emit<CompleteEvent>): void {
    if (event.type === "part-delta" && event.delta.type === "text") {
      this.#show(this.#unfenced.push(event.delta.text), emit);
    } else if (event.type === "finish") {
      const { finish, usage } = event;
      this.#show(this.#unfenced.push("", true), emit);
      emit({ type: "choice-end", index: 0, finish });
      emit({ type: "finish", usage, finish });
    } else if (event.type === "error") emit(event);
  }

  #show(text: string, emit: Emit<CompleteEvent>): void {
    if (text !== "") emit({ type: "delta", index: 0, text });
  }
}
