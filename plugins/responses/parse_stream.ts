import type { GenerateEvent, GenerateRequest } from "../../src/canonical/generate.ts";
import { readJson } from "../../src/canonical/json.ts";
import type { AnswerContext } from "../../src/contract/context.ts";
import type { Target } from "../../src/contract/driver.ts";
import type { Frame } from "../../src/contract/frame.ts";
import type { Emit, StreamReader } from "../../src/contract/stream.ts";
import { accept } from "../../src/contract/validate.ts";
import { GatewayError } from "../../src/errors.ts";
import { AlikeFrames } from "../../src/transforms/alike_frames.ts";
import { saysError, upstreamStreamError } from "../shared/errors.ts";
import { AnswerForms, FormsReader } from "../shared/text_forms/answer_forms.ts";
import { textFormsFor } from "../shared/text_forms/answer_forms.ts";
import { statusAtEnd } from "./finish.ts";
import { AnswerReader } from "./reader.ts";
import { eventSchema, responseSchema, type WireEvent } from "./wire.ts";

/** An upstream's stream of events. Only an event that says how the answer ended is its end. */
export function parseStream(
  input: GenerateRequest,
  target: Target,
  context: AnswerContext,
): StreamReader<GenerateEvent> {
  const reader = new EventReader(new AnswerReader(input, context));
  const forms = textFormsFor(input, target);
  return forms ? new FormsReader(reader, new AnswerForms(forms, input, context)) : reader;
}

class EventReader implements StreamReader<GenerateEvent> {
  done = false;
  readonly #answer: AnswerReader;
  #started = false;
  readonly #alike = new AlikeFrames();
  /** The last event that carried nothing but a text. It stands for all that are alike. */
  #last: WireEvent | undefined;

  constructor(answer: AnswerReader) {
    this.#answer = answer;
  }

  read({ event: name, data }: Frame, emit: Emit<GenerateEvent>): void {
    const text = data?.trim();
    if (!text || text === "[DONE]") return;
    const unnumbered = text.replace(NUMBER, '"":0');
    const more = this.#alike.textIn(unnumbered);
    if (more === undefined) return this.#readEvent(this.#parse(text, unnumbered), name, emit);
    const last = this.#last!;
    const events = this.#answer.readMore(last, more);
    if (!events) return this.#readEvent({ ...last, delta: more }, name, emit);
    for (const event of events) emit(event);
  }

  /** An event that is more than another text in the one before. */
  #readEvent(untyped: WireEvent, name: string | undefined, emit: Emit<GenerateEvent>): void {
    const event = typed(untyped, name);
    if (name === "error" || event.type === "error") throw upstreamStreamError(untyped);
    if (event.type === "keepalive") return;
    if (!this.#started) {
      this.#started = true;
      emit(this.#answer.start(event.response ?? {}));
    }
    const status = statusAtEnd(event);
    if (status === undefined) return this.#answer.read(event).forEach(emit);
    const { response } = event;
    const isFailure = status === "failed" || status === "cancelled";
    // Some servers say beside the response what went wrong.
    if (!saysError(response) && (isFailure || saysError(event))) throw upstreamStreamError(event);
    this.done = true;
    this.#answer.end({ ...response, status }).forEach(emit);
  }

  #parse(json: string, unnumbered: string): WireEvent {
    const event = parseEvent(json);
    const text = deltaText(event);
    this.#last = text === undefined ? undefined : event;
    this.#alike.learn(unnumbered, text);
    return event;
  }

  end(): void {
    throw new GatewayError("upstream_error", "The upstream's answer ended before it was complete");
  }
}

/** The number of an event in its stream. Nothing depends on it. */
const NUMBER = /"sequence_number": ?(?:0|[1-9]\d{0,14})(?=[,}])/;

/** The text of an event that brings more of one. */
function deltaText({ type, delta }: WireEvent): string | undefined {
  return type?.endsWith(".delta") && typeof delta === "string" && delta !== "" ? delta : undefined;
}

function parseEvent(text: string): WireEvent {
  const body = readJson(text);
  const event = accept(eventSchema, body);
  if (event) return event;
  const cause = eventSchema.safeParse(body).error;
  throw new GatewayError("upstream_error", "The upstream's stream holds a frame that is not an event", { cause });
}

/** The type is in the data; some servers say it in the event's name only. Without one, the whole answer came in place of events. */
function typed(event: WireEvent, name: string | undefined): WireEvent {
  if (event.type !== undefined) return event;
  if (saysError(event)) return { ...event, type: "error" };
  const response = event.output ? accept(responseSchema, event) : undefined;
  return response ? { type: `response.${response.status ?? "completed"}`, response } : { ...event, type: name };
}
