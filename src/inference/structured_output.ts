/** Answers that match the requested output schema, from upstreams that do not enforce it. */
import { Collector } from "../canonical/collect.ts";
import type { Finish, GenerateEvent, GenerateResponse, Message, OutputPart, TextPart } from "../canonical/generate.ts";
import { isJsonText } from "../canonical/json.ts";
import { replayAtOnce } from "../canonical/replay.ts";
import { addUsage, type Usage } from "../canonical/usage.ts";
import { GatewayError, toGatewayError } from "../errors.ts";
import { correction, readForm } from "../transforms/schema_prompt.ts";
import { wayOf } from "../upstream/attempt.ts";
import {
  type FormRequest,
  formRequestOf,
  needsSchemaInPrompt,
  refusesSchema,
  rememberSchemaInPrompt,
} from "../upstream/schema_in_prompt.ts";
import { type EventSource, sourceOf } from "../util/event_source.ts";
import { streamedAnswer } from "./answer.ts";
import { FACT } from "./facts.ts";
import { HeldTexts, JoinedTries } from "./held_texts.ts";
import type { Stage } from "./inference.ts";

/** Has the answer match the requested schema, from upstreams that do not enforce it. */
export const STRUCTURED_OUTPUT: Stage<"generate"> = {
  name: "structured output",
  operations: ["generate"],
  needs: FACT.outputSchema,
  around(inference, ask) {
    const { attempt, input } = inference;
    // A summary of the conversation follows no schema. The embedded upstream always follows it.
    if (!attempt || !input.outputSchema || "local" in wayOf(attempt)) return ask(inference);
    const again: AskAgain = (corrections) => ask({ ...inference, attempt: { ...attempt, corrections } });
    const form = formRequestOf(attempt);
    return streamedAnswer(
      needsSchemaInPrompt(attempt)
        ? new CheckedAnswer(form, again)
        : new WatchedAnswer(form, ask(inference), again, input.stream),
    );
  },
};

/** Asks for the answer with the schema in the prompt. `corrections`: the turns that correct an earlier answer. */
type AskAgain = (corrections: readonly Message[]) => EventSource<GenerateEvent>;

/**
 * An answer whose schema the upstream was given. If the upstream refuses the schema, it is asked again, with the schema
 * in the prompt. An answer that ignores the schema is asked for again, too, if nothing of it was sent. A streamed one
 * cannot be taken back: the mismatch is noted, and the next request has the schema in the prompt.
 */
class WatchedAnswer implements EventSource<GenerateEvent> {
  readonly #asked: FormRequest;
  readonly #isSent: boolean;
  #collector: Collector | undefined = new Collector();
  #source: EventSource<GenerateEvent>;
  /** Absent once nothing is asked for again, because it holds the whole conversation. */
  #again: AskAgain | undefined;
  /** Events of an answer that is sent as a whole. */
  #held: GenerateEvent[] = [];

  constructor(asked: FormRequest, source: EventSource<GenerateEvent>, again: AskAgain, isSent: boolean) {
    this.#asked = asked;
    this.#source = source;
    this.#again = again;
    this.#isSent = isSent;
  }

  async next(): Promise<readonly GenerateEvent[] | undefined> {
    try {
      for (;;) {
        const events = await this.#source.next();
        if (!events || !this.#collector) return events;
        const passed = this.#see(events);
        if (passed.length > 0) return passed;
      }
    } catch (thrown) {
      const again = this.#again;
      if (!again || !refusesSchema(thrown, this.#asked)) throw thrown;
      return await this.#check(again);
    }
  }

  cancel(): Promise<void> {
    this.#again = undefined;
    return this.#source.cancel();
  }

  /** From here on, the answer is checked as a whole. */
  #check(again: AskAgain): Promise<readonly GenerateEvent[] | undefined> {
    this.#again = undefined;
    this.#collector = undefined;
    this.#source = new CheckedAnswer(this.#asked, again);
    return this.#source.next();
  }

  #see(events: readonly GenerateEvent[]): readonly GenerateEvent[] {
    for (const event of events) {
      if (this.#isSent && event.type !== "start") this.#again = undefined;
      const response = this.#collector?.add(event);
      if (!response || !passesOver(response, this.#asked)) continue;
      const again = this.#again;
      if (again) {
        // It counts as the first try.
        this.#askAgain(response, again);
        return [];
      }
      this.#asked.context.note("the answer is not the requested JSON");
      rememberSchemaInPrompt(this.#asked);
    }
    if (this.#isSent) return events;
    for (const event of events) this.#held.push(event);
    return events.at(-1)?.type === "finish" ? this.#held.splice(0) : [];
  }

  #askAgain(ignored: GenerateResponse, again: AskAgain): void {
    const source = this.#source;
    this.#again = undefined;
    this.#collector = undefined;
    this.#source = new CheckedAnswer(
      this.#asked,
      (corrections) => corrections.length === 0 ? replayed(ignored, source) : again(corrections),
    );
  }
}

/** An answer that has come as the source of its events. */
function replayed(response: GenerateResponse, source: EventSource<GenerateEvent>): EventSource<GenerateEvent> {
  const events = sourceOf(replayAtOnce(response));
  return { next: () => events.next(), cancel: () => source.cancel() };
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

/**
 * An answer whose schema is in the prompt. Its text is held back until it is complete and valid; reasoning is passed on
 * immediately. An answer that calls tools, refuses, or was cut off is passed on as it is.
 */
class CheckedAnswer implements EventSource<GenerateEvent> {
  readonly #asked: FormRequest;
  /** Absent once the answer is not asked for again: the attempt holds the whole conversation. */
  #again: AskAgain | undefined;
  readonly #out = new JoinedTries();
  #source: EventSource<GenerateEvent>;
  #held = new HeldTexts();
  #tries = 1;
  #spent: Usage | undefined;
  #isOver = false;
  /** The error to throw after the pending events. */
  #failure: GatewayError | undefined;

  constructor(asked: FormRequest, again: AskAgain) {
    this.#asked = asked;
    this.#again = again;
    this.#source = again([]);
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
    } else if (!this.#again || this.#asked.calls?.areCallsSpent()) {
      const message = `The model did not answer in the requested format after ${TRIES} tries: ${read.problem}`;
      this.#isOver = true;
      this.#failure = new GatewayError("upstream_error", message, { retryable: false });
    } else {
      const again = this.#again;
      if (this.#asked.calls) this.#asked.calls.repeated++;
      this.#asked.context.note("asked again for the requested format");
      const corrections = correction(this.#held.text, read.problem);
      if (++this.#tries === TRIES) this.#again = undefined;
      this.#held = new HeldTexts();
      this.#source = again(corrections);
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
