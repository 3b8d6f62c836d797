/** Answers that match the requested output schema, from upstreams that do not enforce it. */
import { collectFrom, Collector } from "../canonical/collect.ts";
import { addUsage, type Usage } from "../canonical/usage.ts";
import type { Finish, GenerateEvent, GenerateResponse, OutputPart, TextPart } from "../canonical/generate.ts";
import { isJsonText } from "../canonical/json.ts";
import { correction, readForm } from "../transforms/output_form.ts";
import { replay, replayPart } from "../canonical/replay.ts";
import { GatewayError, toGatewayError } from "../errors.ts";
import { type Ask, wayOf } from "./ask.ts";
import { needsWords, refusesForm, rememberWords } from "./form_in_words.ts";
import { type EventSource, opening, orElse, seen, sourceOf } from "../util/event_source.ts";
import { answer } from "./run.ts";
import { stream } from "./stream.ts";

/** The whole answer. */
export function answerInForm(ask: Ask<"generate">): Promise<GenerateResponse> {
  return isChecked(ask) ? answerChecked(ask) : answer(ask);
}

async function answerChecked(ask: Ask<"generate">): Promise<GenerateResponse> {
  const native = needsWords(ask) ? undefined : await answerNatively(ask);
  if (native && !passesOver(native, ask)) return native;
  const isFirst = ({ corrections }: Ask<"generate">) => corrections?.length === 0;
  const attempt = (again: Ask<"generate">) =>
    opening(async () => sourceOf(replay(native && isFirst(again) ? native : await answer(again))));
  return await collectFrom(new CheckedAnswer(ask, attempt));
}

/** `undefined` if the upstream refuses the schema. */
async function answerNatively(ask: Ask<"generate">): Promise<GenerateResponse | undefined> {
  try {
    return await answer(ask);
  } catch (thrown) {
    if (refusesForm(thrown, ask)) return undefined;
    throw thrown;
  }
}

/** The streamed answer. Adds no layer if no schema is requested. */
export function streamInForm(ask: Ask<"generate">): EventSource<GenerateEvent> {
  if (!isChecked(ask)) return stream(ask);
  if (needsWords(ask)) return new CheckedAnswer(ask, stream);
  return orElse(
    watched(ask),
    (thrown) => refusesForm(thrown, ask) ? new CheckedAnswer(ask, stream) : undefined,
  );
}

/** The embedded upstream always follows the schema. */
function isChecked(ask: Ask<"generate">): boolean {
  return ask.input.outputSchema !== undefined && !("local" in wayOf(ask));
}

/** A streamed answer cannot be taken back. A mismatch is noted, and the next request has the schema in the prompt. */
function watched(ask: Ask<"generate">): EventSource<GenerateEvent> {
  const collector = new Collector();
  return seen(stream(ask), (event) => {
    const response = collector.add(event);
    if (!response || !passesOver(response, ask)) return;
    ask.context.note("the answer is not the requested JSON");
    rememberWords(ask);
  });
}

/** Whether the upstream silently ignored the schema. */
function passesOver({ content, finish }: GenerateResponse, { input }: Ask<"generate">): boolean {
  const text = content.map((part) => part.type === "text" ? part.text : "").join("");
  const isAnswer = finish.reason === "stop" && !content.some(isNoAnswer) && text.trim() !== "";
  // A text that the client's own limit cut off is not JSON either.
  return isAnswer && !isJsonText(text) && (input.stopSequences ?? []).length === 0;
}

/** Whether the part means that the answer is not text in the first place. */
function isNoAnswer({ type }: OutputPart): boolean {
  return type === "tool-call" || type === "refusal";
}

/** How often a model is asked before it counts as unable to follow the schema. */
const TRIES = 2;

type Attempt = (ask: Ask<"generate">) => EventSource<GenerateEvent>;

/**
 * An answer whose schema is in the prompt. Its text is held back until it is complete and valid; reasoning is passed on
 * immediately. An answer that calls tools, refuses, or was cut off is passed on as it is.
 */
class CheckedAnswer implements EventSource<GenerateEvent> {
  readonly #ask: Ask<"generate">;
  readonly #attempt: Attempt;
  readonly #out = new Renumbered();
  #source: EventSource<GenerateEvent>;
  #held = new HeldTexts();
  #tries = 1;
  #spent: Usage | undefined;
  #isOver = false;
  /** What is thrown next: the events before it are given first. */
  #failure: GatewayError | undefined;

  constructor(ask: Ask<"generate">, attempt: Attempt) {
    this.#ask = ask;
    this.#attempt = attempt;
    this.#source = attempt({ ...ask, corrections: [] });
  }

  async next(): Promise<GenerateEvent[] | undefined> {
    while (!this.#isOver) {
      const events = await this.#read();
      // A stream that just stops is reported as an error elsewhere.
      if (!events) return undefined;
      const passed: GenerateEvent[] = [];
      for (const event of events) {
        if (event.type === "finish") {
          await this.#source.cancel();
          this.#end(event, passed);
          break;
        }
        this.#take(event, passed);
      }
      if (passed.length > 0) return passed;
    }
    if (this.#failure) throw this.#failure;
    return undefined;
  }

  async cancel(): Promise<void> {
    this.#isOver = true;
    this.#failure = undefined;
    await this.#source.cancel();
  }

  /**
   * The target has answered once and charges for it, so an error of a second attempt never means that nothing was
   * processed.
   */
  async #read(): Promise<readonly GenerateEvent[] | undefined> {
    try {
      return await this.#source.next();
    } catch (thrown) {
      if (this.#tries === 1) throw thrown;
      const { code, message, details } = toGatewayError(thrown);
      throw new GatewayError(code, message, { ...details, notProcessed: false });
    }
  }

  #take(event: GenerateEvent, passed: GenerateEvent[]): void {
    if (event.type === "start") {
      rememberWords(this.#ask);
      this.#out.start(event);
    } else if (!this.#held.take(event)) {
      const released = event.type === "part-start" && isNoAnswer(event.part) ? this.#held.release() : [];
      for (const one of [...this.#out.parts(released), ...this.#out.pass(event)]) passed.push(one);
    }
  }

  /** Sends the answer, or requests it once more. */
  #end(ending: GenerateEvent & { type: "finish" }, passed: GenerateEvent[]): void {
    const ask = this.#ask;
    this.#spent = this.#spent ? addUsage(this.#spent, ending.usage) : ending.usage;
    const read = readHeld(this.#held, ending.finish, ask);
    if (!("problem" in read)) {
      this.#isOver = true;
      const rest = [...this.#out.parts(read.parts), ...this.#out.pass({ ...ending, usage: this.#spent })];
      for (const event of rest) passed.push(event);
    } else if (this.#tries === TRIES) {
      const message = `The model did not answer in the requested format after ${TRIES} tries: ${read.problem}`;
      this.#isOver = true;
      this.#failure = new GatewayError("upstream_error", message, { retryable: false });
    } else {
      ask.context.note("asked again for the requested format");
      const corrections = correction(this.#held.text, read.problem);
      this.#tries++;
      this.#held = new HeldTexts();
      this.#source = this.#attempt({ ...ask, corrections });
    }
  }
}

/** The held texts to send, or the reason why they are not a valid answer. */
function readHeld(
  held: HeldTexts,
  { reason }: Finish,
  { input, context }: Ask<"generate">,
): { parts: TextPart[] } | { problem: string } {
  if (held.isReleased || reason === "length" || reason === "content-filter") return { parts: held.release() };
  const read = readForm(held.text, input.outputSchema ?? {});
  if ("problem" in read) return read;
  if (read.json !== held.text.trim()) context.note("dropped the text around the JSON");
  if (read.unread.length > 0) context.note(`did not check ${read.unread.join(", ")} of the schema`);
  return { parts: held.as(read.json) };
}

/** Collects the texts of a streamed answer until it is known whether they are valid. */
class HeldTexts {
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

/** Joins the events of several attempts, and parts that were held back, into one stream. */
class Renumbered {
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
