/** Answers that match the requested output schema, from upstreams that do not enforce it. */
import { collectFrom, Collector } from "../canonical/collect.ts";
import { addUsage, type Usage } from "../canonical/usage.ts";
import type { Finish, GenerateEvent, GenerateResponse, OutputPart, TextPart } from "../canonical/generate.ts";
import { isJsonText } from "../canonical/json.ts";
import { correction, readForm } from "../transforms/schema_prompt.ts";
import { replay, replayPart } from "../canonical/replay.ts";
import { GatewayError, toGatewayError } from "../errors.ts";
import { type Attempt, wayOf } from "./attempt.ts";
import {
  type FormRequest,
  formRequestOf,
  needsSchemaInPrompt,
  refusesSchema,
  rememberSchemaInPrompt,
} from "./schema_in_prompt.ts";
import { type EventSource, opening, sourceOf } from "../util/event_source.ts";
import { answer } from "./run.ts";
import { stream } from "./stream.ts";

/** The whole answer. */
export function answerWithSchema(attempt: Attempt<"generate">): Promise<GenerateResponse> {
  return isChecked(attempt) ? answerChecked(attempt) : answer(attempt);
}

async function answerChecked(attempt: Attempt<"generate">): Promise<GenerateResponse> {
  const native = needsSchemaInPrompt(attempt) ? undefined : await answerNatively(attempt);
  if (native && !passesOver(native, attempt)) return native;
  const isFirst = ({ corrections }: Attempt<"generate">) => corrections?.length === 0;
  const askAgain = (again: Attempt<"generate">) =>
    opening(async () => sourceOf(replay(native && isFirst(again) ? native : await answer(again))));
  return await collectFrom(new CheckedAnswer(attempt, askAgain));
}

/** `undefined` if the upstream refuses the schema. */
async function answerNatively(attempt: Attempt<"generate">): Promise<GenerateResponse | undefined> {
  try {
    return await answer(attempt);
  } catch (thrown) {
    if (refusesSchema(thrown, attempt)) return undefined;
    throw thrown;
  }
}

/** The streamed answer. Adds no layer if no schema is requested. */
export function streamWithSchema(attempt: Attempt<"generate">): EventSource<GenerateEvent> {
  if (!isChecked(attempt)) return stream(attempt);
  if (needsSchemaInPrompt(attempt)) return new CheckedAnswer(attempt, stream);
  return new WatchedAnswer(attempt);
}

/** The embedded upstream always follows the schema. */
function isChecked(attempt: Attempt<"generate">): boolean {
  return attempt.input.outputSchema !== undefined && !("local" in wayOf(attempt));
}

/**
 * An answer whose schema the upstream was given. If the upstream refuses the schema, it is asked again, with the schema in the
 * prompt. A streamed answer cannot be taken back: a mismatch is noted, and the next request has the schema in the prompt.
 */
class WatchedAnswer implements EventSource<GenerateEvent> {
  readonly #asked: FormRequest;
  #collector: Collector | undefined = new Collector();
  #source: EventSource<GenerateEvent>;
  /** Absent once there is content: no refusal comes after it, and the attempt holds the whole conversation. */
  #attempt: Attempt<"generate"> | undefined;

  constructor(attempt: Attempt<"generate">) {
    this.#asked = formRequestOf(attempt);
    this.#attempt = attempt;
    this.#source = stream(attempt);
  }

  async next(): Promise<readonly GenerateEvent[] | undefined> {
    try {
      const events = await this.#source.next();
      if (events) this.#see(events);
      return events;
    } catch (thrown) {
      const attempt = this.#attempt;
      if (!attempt || !refusesSchema(thrown, attempt)) throw thrown;
      this.#attempt = undefined;
      this.#collector = undefined; // from here on, the answer is checked as a whole
      this.#source = new CheckedAnswer(attempt, stream);
      return await this.#source.next();
    }
  }

  cancel(): Promise<void> {
    this.#attempt = undefined;
    return this.#source.cancel();
  }

  #see(events: readonly GenerateEvent[]): void {
    for (const event of events) {
      if (event.type !== "start") this.#attempt = undefined;
      const response = this.#collector?.add(event);
      if (!response || !passesOver(response, this.#asked)) continue;
      this.#asked.context.note("the answer is not the requested JSON");
      rememberSchemaInPrompt(this.#asked);
    }
  }
}

/** Whether the upstream silently ignored the schema. */
function passesOver({ content, finish }: GenerateResponse, { input }: FormRequest): boolean {
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

type Ask = (attempt: Attempt<"generate">) => EventSource<GenerateEvent>;

/**
 * An answer whose schema is in the prompt. Its text is held back until it is complete and valid; reasoning is passed on
 * immediately. An answer that calls tools, refuses, or was cut off is passed on as it is.
 */
class CheckedAnswer implements EventSource<GenerateEvent> {
  readonly #asked: FormRequest;
  /** Absent once the answer is not asked for again: the attempt holds the whole conversation. */
  #again: { attempt: Attempt<"generate">; ask: Ask } | undefined;
  readonly #out = new Renumbered();
  #source: EventSource<GenerateEvent>;
  #held = new HeldTexts();
  #tries = 1;
  #spent: Usage | undefined;
  #isOver = false;
  /** The error to throw after the pending events. */
  #failure: GatewayError | undefined;

  constructor(attempt: Attempt<"generate">, ask: Ask) {
    this.#asked = formRequestOf(attempt);
    this.#again = { attempt, ask };
    this.#source = ask({ ...attempt, corrections: [] });
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
      rememberSchemaInPrompt(this.#asked);
      this.#out.start(event);
    } else if (!this.#held.take(event)) {
      const released = event.type === "part-start" && isNoAnswer(event.part) ? this.#held.release() : [];
      if (this.#held.isReleased) this.#again = undefined;
      for (const one of [...this.#out.parts(released), ...this.#out.pass(event)]) passed.push(one);
    }
  }

  /** Sends the answer, or requests it once more. */
  #end(ending: GenerateEvent & { type: "finish" }, passed: GenerateEvent[]): void {
    this.#spent = this.#spent ? addUsage(this.#spent, ending.usage) : ending.usage;
    const read = readHeld(this.#held, ending.finish, this.#asked);
    if (!("problem" in read)) {
      this.#isOver = true;
      const rest = [...this.#out.parts(read.parts), ...this.#out.pass({ ...ending, usage: this.#spent })];
      for (const event of rest) passed.push(event);
    } else if (!this.#again) {
      const message = `The model did not answer in the requested format after ${TRIES} tries: ${read.problem}`;
      this.#isOver = true;
      this.#failure = new GatewayError("upstream_error", message, { retryable: false });
    } else {
      const { attempt, ask } = this.#again;
      attempt.context.note("asked again for the requested format");
      const corrections = correction(this.#held.text, read.problem);
      if (++this.#tries === TRIES) this.#again = undefined;
      this.#held = new HeldTexts();
      this.#source = ask({ ...attempt, corrections });
    }
  }
}

/** The held texts to send, or the reason why they are not a valid answer. */
function readHeld(
  held: HeldTexts,
  { reason }: Finish,
  { input, context }: FormRequest,
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
