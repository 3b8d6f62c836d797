import type { GenerateEvent, PartDelta, ToolCallPart } from "../../src/canonical/generate.ts";
import type { JsonObject } from "../../src/canonical/json.ts";
import type { Exchange } from "../../src/contract/context.ts";
import type { Frame } from "../../src/contract/frame.ts";
import type { Emit, StreamWriter } from "../../src/contract/stream.ts";
import { serializeErrorBody } from "./errors.ts";
import { noteAnnotations, noteCut, noteUnspeakable, serializeCall, serializeEnd } from "./serialize_response.ts";
import { generatedLine, line, modelIn } from "./wire.ts";

/**
 * Writes an answer as lines of JSON: a line for each increment and for each whole call, then one with `done: true`, the finish reason
 * and the usage. After a failure, the last line has `error`.
 */
export function serializeStream(exchange: Exchange<"generate">): StreamWriter<GenerateEvent> {
  return new LineWriter(exchange, line);
}

/** Writes the lines of the endpoint for prompts. */
export function serializeGeneratedStream(exchange: Exchange<"generate">): StreamWriter<GenerateEvent> {
  return new LineWriter(exchange, generatedLine);
}

class LineWriter implements StreamWriter<GenerateEvent> {
  readonly #exchange: Exchange<"generate">;
  readonly #lineOf: typeof line;
  #beganMs = 0;
  #calls = 0;
  /** The open call. It is sent whole because its arguments are an object. */
  #call: ToolCallPart | undefined;
  /** The call that ended last: only what follows tells whether it was cut off. */
  #ended: ToolCallPart | undefined;
  #input: string[] = [];

  constructor(exchange: Exchange<"generate">, lineOf: typeof line) {
    this.#exchange = exchange;
    this.#lineOf = lineOf;
  }

  write(event: GenerateEvent, emit: Emit<Frame>): void {
    if (this.#ended) this.#sendCall(this.#ended, event, emit);
    switch (event.type) {
      case "start":
        this.#beganMs = this.#exchange.elapsedMs();
        return;
      case "part-start":
        noteUnspeakable(event.part, this.#exchange);
        this.#call = event.part.type === "tool-call" ? event.part : undefined;
        this.#input = [];
        return;
      case "part-delta":
        return this.#writeDelta(event.delta, emit);
      case "part-end":
        noteAnnotations(event.annotations, this.#exchange);
        return this.#endCall();
      case "finish":
        return emit(this.#line({}, serializeEnd(event.finish, event.usage, this.#exchange, this.#beganMs)));
      case "error":
        return emit({ data: JSON.stringify(serializeErrorBody(event.error)) });
      default:
        event satisfies never;
    }
  }

  #writeDelta({ type, text }: PartDelta, emit: Emit<Frame>): void {
    switch (type) {
      case "text":
      case "refusal":
        return emit(this.#line({ content: text }));
      case "reasoning":
        return emit(this.#line({ thinking: text }));
      case "tool-input":
        this.#input.push(text);
        return;
      default:
        return type satisfies never;
    }
  }

  #endCall(): void {
    this.#ended = this.#call && { ...this.#call, input: this.#input.join("") };
    this.#call = undefined;
  }

  #sendCall(call: ToolCallPart, next: GenerateEvent, emit: Emit<Frame>): void {
    this.#ended = undefined;
    if (next.type === "finish" && noteCut(call, next.finish, this.#exchange)) return;
    emit(this.#line({ tool_calls: [serializeCall(call, this.#calls++, this.#exchange)] }));
  }

  #line(message: JsonObject, rest?: JsonObject): Frame {
    return { data: JSON.stringify(this.#lineOf(this.#exchange.input.model, this.#exchange.now(), message, rest)) };
  }
}

/** A line without content, because a blank line breaks clients. */
export function keepAlive({ wire, now }: Pick<Exchange, "wire" | "now">): Frame {
  return { data: JSON.stringify(line(modelIn(wire.body), now(), {})) };
}

export function keepAliveGenerated({ wire, now }: Pick<Exchange, "wire" | "now">): Frame {
  return { data: JSON.stringify(generatedLine(modelIn(wire.body), now(), {})) };
}
