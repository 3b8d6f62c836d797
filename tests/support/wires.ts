import { chatDriver, chatProtocols } from "../../plugins/chat/mod.ts";
import { messagesDriver, messagesProtocols } from "../../plugins/messages/mod.ts";
import { responsesDriver, responsesProtocols } from "../../plugins/responses/mod.ts";
import type { GenerateEvent, GenerateRequest, GenerateResponse } from "../../src/canonical/generate.ts";
import type { JsonValue } from "../../src/canonical/json.ts";
import type { AnswerContext, Context, WireRequest } from "../../src/contract/context.ts";
import type { Driver, Target, UpstreamOperation } from "../../src/contract/driver.ts";
import type { Frame } from "../../src/contract/frame.ts";
import type { AnyProtocol, Protocol } from "../../src/contract/protocol.ts";
import type { GatewayError } from "../../src/errors.ts";
import { readFrames } from "../../src/upstream/frames.ts";
import { toArray } from "./chunks.ts";
import { newContext, newExchange, type TestExchange } from "./context.ts";
import { type Fixture, isStream, reply, wireRequest } from "./fixtures.ts";
import { readEvents, writeFrames } from "./stages.ts";

/** A conversational wire in both roles, with its verbs ready to be called in a test. */
export class Wire {
  readonly name: string;
  readonly #protocol: Protocol<"generate">;
  readonly #driver: Driver;

  /**
   * `marks`: what a stream holds at the end of an answer, in its place after a failure, and where it is said how the answer
   * ended. `vendors`: a model that knows all of the wire, where others do not: clients of the same wire are sent there.
   */
  constructor(
    protocols: readonly AnyProtocol[],
    driver: Driver,
    readonly marks: { done: string | RegExp; error: string; ending: RegExp },
    readonly vendors = TARGET.model,
  ) {
    this.#protocol = protocols.find((protocol) => protocol.operation === "generate")!;
    this.#driver = driver;
    this.name = this.#protocol.name;
  }

  parseRequest(wire: WireRequest, context: Context): GenerateRequest {
    return this.#protocol.parse(wire, context);
  }

  /** The body for the upstream. */
  serializeRequest(input: GenerateRequest, context: Context): JsonValue {
    const target = context.clientWire === this.name ? { ...TARGET, model: this.vendors } : TARGET;
    const call = this.#operation().request(input, target, context);
    if (Array.isArray(call) || call.body instanceof Uint8Array || call.body instanceof Blob) {
      throw new TypeError("One call with JSON was expected");
    }
    return call.body ?? null;
  }

  parseResponse(body: JsonValue, input: GenerateRequest, context: AnswerContext): GenerateResponse {
    return this.#operation().response([{ status: 200, headers: new Headers(), body }], input, TARGET, context);
  }

  /** The events of a stream of these frames. Its failure is the last; `failure`: what breaks the connection after the frames. */
  readEvents(
    frames: Iterable<Frame>,
    input: GenerateRequest,
    context: AnswerContext,
    failure?: unknown,
  ): GenerateEvent[] {
    return readEvents(this.#operation().stream!.reader(input, TARGET, context), frames, failure);
  }

  /** All events that come of a body which answers the fixture's request. */
  async readStream(fixture: Fixture, body: ReadableStream<Uint8Array>): Promise<GenerateEvent[]> {
    return this.readEvents(await toArray(readFrames(body)), this.inputOf(fixture), newContext(this.name));
  }

  /** The fixture's request; a plain one where the gateway refuses it. */
  inputOf(fixture: Fixture): GenerateRequest {
    try {
      return this.parseRequest(wireRequest(fixture), newContext(this.name));
    } catch {
      return { model: "plain", messages: [], stream: isStream(fixture) };
    }
  }

  parseError(fixture: Fixture): GatewayError {
    return this.#driver.parseError(reply(fixture));
  }

  async serializeResponse(output: GenerateResponse, exchange: TestExchange): Promise<JsonValue> {
    return await this.#protocol.serialize(output, exchange).json();
  }

  /** The same of frames that come one by one. */
  async *parseStream(frames: AsyncIterable<Frame>, input: GenerateRequest, context: AnswerContext) {
    yield* this.readEvents(await toArray(frames), input, context);
  }

  async *serializeStream(events: AsyncIterable<GenerateEvent>, exchange: TestExchange) {
    yield* this.writeFrames(await toArray(events), exchange);
  }

  /** The frames of a stream of these events. */
  writeFrames(events: Iterable<GenerateEvent>, exchange: TestExchange): Frame[] {
    return writeFrames(this.#protocol.stream!.writer(exchange), events);
  }

  serializeError(error: GatewayError): Response {
    return this.#protocol.serializeError(error, { requestId: "request-1" });
  }

  newExchange(input: GenerateRequest, wire: WireRequest): TestExchange {
    return newExchange(this.name, input, wire, this.#protocol.idPrefix);
  }

  #operation(): UpstreamOperation<"generate"> {
    return this.#driver.operations.generate as UpstreamOperation<"generate">;
  }
}

/** Where requests go in tests. */
export const TARGET: Target = { upstream: "upstream", model: "org/model", systemMessages: "first" };

export const CHAT = new Wire(chatProtocols, chatDriver, {
  done: "data: [DONE]\n\n",
  error: 'data: {"error":{',
  ending: /"finish_reason"\s*:\s*"[^"]|\[DONE\]/,
});

export const MESSAGES = new Wire(messagesProtocols, messagesDriver, {
  done: "event: message_stop\n",
  error: "event: error\n",
  ending: /"stop_reason"\s*:\s*"|"message_stop"/,
}, "claude-opus-5-5");

/** `[DONE]` comes after a failure too; only the event before it tells the two apart. */
export const RESPONSES = new Wire(responsesProtocols, responsesDriver, {
  done: /event: response\.(?:completed|incomplete)\n/,
  error: "event: response.failed\n",
  ending: /(?:"|event: )response\.(?:completed|incomplete|failed)\b/,
}, "gpt-5.2");

/** Every conversational wire. The golden tables and the laws run over this list. */
export const WIRES: readonly Wire[] = [CHAT, MESSAGES, RESPONSES];
