/**
 * A driver of your own, for servers that complete a text:
 *
 *     POST /complete {"model": "m", "text": "user: Why?\nassistant:", "stream": true}
 *     {"text": "Because.", "in": 5, "out": 2}
 *
 * A stream is lines of JSON: `{"text": "Bec"}`, …, `{"end": "stop", "in": 5, "out": 2}`.
 */
import {
  type AnswerContext,
  completeUsage,
  type Driver,
  type Emit,
  estimateTextTokens,
  type Frame,
  GatewayError,
  type GenerateEvent,
  type GenerateRequest,
  type GenerateResponse,
  isJsonObject,
  type JsonValue,
  type Message,
  parseJson,
  PartWriter,
  type Reply,
  type StreamReader,
} from "@laneway/gateway/plugin";

/** Canonical → wire. The words of each turn; what is no text is noted. */
function promptOf({ messages }: GenerateRequest, note: (text: string) => void): string {
  return [...messages.map((message) => `${message.role}: ${wordsOf(message, note)}`), "assistant:"].join("\n");
}

function wordsOf({ content }: Message, note: (text: string) => void): string {
  return content.map((part) => {
    if (part.type === "text" || part.type === "refusal") return part.text;
    note(`dropped ${part.type}`);
    return "";
  }).join("");
}

/** Wire → canonical. */
function parseResponse([reply]: Reply[], context: AnswerContext): GenerateResponse {
  const { text, ...counts } = objectOf(reply!.body);
  if (typeof text !== "string") throw noAnswer();
  const content = [{ type: "text" as const, text }];
  return { model: "", content, finish: { reason: "stop" }, usage: usageOf(counts, text, context) };
}

/** The counts that the server reports; estimates, which are noted, in place of those that it does not. */
function usageOf(counts: Record<string, unknown>, text: string, context: AnswerContext) {
  const count = (value: unknown) => typeof value === "number" ? value : undefined;
  const reported = { inputTokens: count(counts.in), outputTokens: count(counts.out) };
  return completeUsage(reported, context, estimateTextTokens(text));
}

class LineReader implements StreamReader<GenerateEvent> {
  done = false;
  readonly #writer: PartWriter;
  readonly #context: AnswerContext;
  #text = "";
  #hasStarted = false;

  constructor(input: GenerateRequest, context: AnswerContext) {
    this.#writer = new PartWriter(input);
    this.#context = context;
  }

  read({ data = "" }: Frame, emit: Emit<GenerateEvent>): void {
    const { text, end, error, ...counts } = objectOf(parseJson(data));
    if (error !== undefined) throw new GatewayError("upstream_error", `The upstream failed: ${error}`);
    if (!this.#hasStarted) emit({ type: "start", model: "", inputTokens: this.#context.inputTokens });
    this.#hasStarted = true;
    if (typeof text === "string") {
      this.#text += text;
      this.#writer.text(text).forEach(emit);
    }
    if (end === undefined) return;
    this.done = true;
    const finish = { reason: end === "length" ? "length" : "stop" } as const;
    this.#writer.finish(finish, usageOf(counts, this.#text, this.#context)).forEach(emit);
  }

  /** The server always says how an answer ends. */
  end(): never {
    throw new GatewayError("upstream_error", "The upstream's stream ended before its answer did");
  }
}

function objectOf(value: JsonValue | Uint8Array | undefined) {
  if (value instanceof Uint8Array || !isJsonObject(value)) throw noAnswer();
  return value;
}

function noAnswer(): GatewayError {
  return new GatewayError("upstream_error", "The upstream's answer is not what it should be");
}

function parseError({ status, body }: Reply): GatewayError {
  const said = !(body instanceof Uint8Array) && isJsonObject(body) && typeof body.error === "string" ? body.error : "";
  const message = said || `The upstream answered ${status}`;
  if (status === 429) return new GatewayError("rate_limit", message);
  return new GatewayError(status < 500 ? "invalid_request" : "upstream_error", message);
}

export const pieces: Driver = {
  name: "pieces",
  wire: "pieces",
  operations: {
    generate: {
      request(input, { model }, { note }) {
        if (input.tools) note("dropped tools");
        return { path: "complete", body: { model, text: promptOf(input, note), stream: input.stream } };
      },
      response: (replies, _input, _target, context) => parseResponse(replies, context),
      stream: { framing: "ndjson", reader: (input, _target, context) => new LineReader(input, context) },
    },
  },
  parseError,
};
