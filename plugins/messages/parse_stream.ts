import type { GenerateEvent, GenerateRequest } from "../../src/canonical/generate.ts";
import { asObject, isJsonObject, readJson } from "../../src/canonical/json.ts";
import type { AnswerContext } from "../../src/contract/context.ts";
import type { Target } from "../../src/contract/driver.ts";
import type { Frame } from "../../src/contract/frame.ts";
import type { Emit, StreamReader } from "../../src/contract/stream.ts";
import { accept } from "../../src/contract/validate.ts";
import { GatewayError } from "../../src/errors.ts";
import { AlikeFrames } from "../../src/transforms/alike_frames.ts";
import { saysError } from "../shared/errors.ts";
import { parseError } from "./errors.ts";
import { AnswerReader } from "./reader.ts";
import { eventSchema, responseSchema, type WireEvent } from "./wire.ts";

/** An upstream's stream of events. It is over with `message_stop`, or where the connection ends after a stop reason. */
export function parseStream(
  input: GenerateRequest,
  _target: Target,
  context: AnswerContext,
): StreamReader<GenerateEvent> {
  return new EventReader(input, context);
}

class EventReader implements StreamReader<GenerateEvent> {
  done = false;
  readonly #input: GenerateRequest;
  readonly #context: AnswerContext;
  #answer: AnswerReader;
  #started = false;
  /** Whether anything went out but the start. */
  #hasContent = false;
  readonly #alike = new AlikeFrames();
  /** The last event that brought one text. */
  #last: WireEvent | undefined;

  constructor(input: GenerateRequest, context: AnswerContext) {
    this.#input = input;
    this.#context = context;
    this.#answer = new AnswerReader(input, context);
  }

  read({ event: name, data }: Frame, emit: Emit<GenerateEvent>): void {
    const text = data?.trim();
    if (!text || text === "[DONE]") return;
    const more = this.#alike.textIn(text);
    if (more === undefined) return this.#readEvent(text, name, emit);
    const last = this.#last!;
    for (const read of this.#answer.readMore(last, more) ?? this.#answer.read(withText(last, more))) emit(read);
  }

  /** An event that is more than another text in the one before. */
  #readEvent(text: string, name: string | undefined, emit: Emit<GenerateEvent>): void {
    const event = parseEvent(text, name);
    this.#learn(text, event);
    // Some servers send a whole answer in place of events.
    const whole = event.type === "message" && !this.#started ? accept(responseSchema, event) : undefined;
    if (whole) {
      this.done = true;
      return this.#answer.whole(whole).forEach(emit);
    }
    if (event.type === "message_stop") {
      this.done = true;
      this.#answer.end(true).forEach(emit);
      return;
    }
    this.#start(event, emit);
    for (const read of this.#answer.read(event)) {
      this.#hasContent = true;
      emit(read);
    }
  }

  end(emit: Emit<GenerateEvent>): void {
    this.#answer.end(false).forEach(emit);
  }

  #learn(json: string, event: WireEvent): void {
    const text = deltaText(event);
    this.#last = text ? event : undefined;
    this.#alike.learn(json, text || undefined);
  }

  #start({ type, message = {} }: WireEvent, emit: Emit<GenerateEvent>): void {
    if (!this.#started && type !== "ping") {
      this.#started = true;
      emit(this.#answer.start(message));
    } else if (type === "message_start") {
      // Another attempt of something in between: its answer is another one.
      if (this.#hasContent) {
        throw new GatewayError("upstream_error", "The upstream began its answer again in the middle of it");
      }
      this.#answer = new AnswerReader(this.#input, this.#context);
      this.#answer.start(message);
    }
  }
}

/** Where the increments of each kind have their text. */
const TEXT_OF: ReadonlyMap<string | undefined, "text" | "thinking" | "partial_json"> = new Map([
  ["text_delta", "text"],
  ["thinking_delta", "thinking"],
  ["input_json_delta", "partial_json"],
]);

function deltaText({ type, delta }: WireEvent): string | null | undefined {
  const name = type === "content_block_delta" ? TEXT_OF.get(delta?.type) : undefined;
  return name && delta![name];
}

/** The same increment with another text. */
function withText(event: WireEvent, text: string): WireEvent {
  const { delta } = event;
  return { ...event, delta: { ...delta, [TEXT_OF.get(delta!.type)!]: text } };
}

/** The type is in the data; some servers say it in the event's name only. */
function parseEvent(text: string, name: string | undefined): WireEvent {
  const read = readJson(text);
  const body = asObject(read);
  if (name === "error" || body.type === "error" || saysError(body)) throw parseError(read);
  const event = accept(eventSchema, isJsonObject(read) ? { type: name, ...read } : read);
  if (event) return event;
  const cause = eventSchema.safeParse(body).error;
  throw new GatewayError("upstream_error", "The upstream's stream holds a frame that is not an event", { cause });
}
