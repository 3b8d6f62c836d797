/** One WebSocket: its messages are answered in the order of their lanes. */
import type { Exchange, WireRequest } from "../contract/context.ts";
import type { SocketLimit, SocketMessage } from "../contract/socket.ts";
import { openContext, type RequestContext, withCaller, withProtocol } from "../context/request_context.ts";
import type { Protocol, SocketEndpoint } from "../contract/protocol.ts";
import { GatewayError } from "../errors.ts";
import type { OpenSocket } from "../http/sockets.ts";
import type { Lane } from "../lanes/lane.ts";
import { sourceOf } from "../util/event_source.ts";
import { step } from "../util/work.ts";
import { describeError } from "./describe_error.ts";
import { type Incoming, openExchange } from "./incoming.ts";
import { recall } from "./memory.ts";
import { resolve } from "./resolve.ts";
import { type Session, SocketMemory } from "./session.ts";
import { respondWithStream } from "./stream.ts";

/** How many answers are made at once, how many lanes there may be beside the one without a name, and how many messages may wait. */
const MOST_AT_ONCE = 16;
const MOST_LANES = 32;
const MOST_WAITING = 256;
/** Characters that may wait to be sent: beyond it, nothing more is read of upstreams. */
const MOST_BUFFERED = 1_048_576;
/** How often it is looked whether they are sent, in milliseconds. */
const LOOK_MS = 20;

export interface ConnectionOptions {
  speech: SocketEndpoint;
  /** The handshake. */
  wire: WireRequest;
  lane: Lane;
  context: RequestContext;
  generate(asked: Incoming<"generate">): Promise<Response>;
}

interface Waiting {
  text: string;
  message: SocketMessage;
}

export class Connection implements OpenSocket {
  onClosed = () => {};
  readonly #socket: WebSocket;
  readonly #options: ConnectionOptions;
  readonly #memory: SocketMemory;
  /** What waits, by its lane; a lane is there from its first message on. */
  readonly #lanes = new Map<string, Waiting[]>();
  /** The lanes that are being answered. */
  readonly #busy = new Map<string, RequestContext | undefined>();
  #waiting = 0;
  #isOld = false;
  #isRetired = false;

  constructor(socket: WebSocket, options: ConnectionOptions) {
    this.#socket = socket;
    this.#options = options;
    const { gateway } = options.context;
    this.#memory = new SocketMemory(gateway.limits.bodyBytes);
    const age = setTimeout(() => {
      this.#isOld = true;
      this.#closeIfIdle();
    }, gateway.pace.socketMs);
    socket.onmessage = ({ data }) => this.#take(data);
    socket.onerror = () => {}; // it closes, too
    socket.onclose = () => {
      clearTimeout(age);
      this.#lanes.clear();
      for (const context of this.#busy.values()) context?.leave();
      this.onClosed();
    };
  }

  retire(): void {
    this.#isRetired = true;
    this.#closeIfIdle();
  }

  abort(): void {
    this.#socket.close(1001, "The gateway is shutting down");
  }

  #closeIfIdle(): void {
    if (!this.#isOld && !this.#isRetired || this.#busy.size + this.#waiting > 0) return;
    this.#socket.close(1000, this.#isOld ? "The connection is too old" : "The gateway asks for a new connection");
  }

  #take(data: unknown): void {
    const { speech } = this.#options;
    let lane: string | undefined;
    try {
      if (typeof data !== "string") throw new GatewayError("invalid_request", "Expected a message of text");
      // Its size and depth are checked once it is its turn.
      const message = speech.read(parseMessage(data));
      if (!message) return;
      lane = message.lane;
      this.#queue({ text: data, message });
    } catch (thrown) {
      void this.#refuse(thrown, lane, thrown instanceof LimitReached ? thrown.limit : undefined);
    }
  }

  #queue(one: Waiting): void {
    const name = one.message.lane ?? "";
    if (this.#isOld) throw new LimitReached("age", "The connection is too old: open a new one");
    const named = [...this.#lanes.keys()].filter((lane) => lane !== "");
    if (name !== "" && !this.#lanes.has(name) && named.length >= MOST_LANES) {
      throw new LimitReached("lanes", `A connection has at most ${MOST_LANES} lanes`);
    }
    if (this.#waiting >= MOST_WAITING) {
      throw new GatewayError("rate_limit", "Too many messages wait in this connection");
    }
    const lane = this.#lanes.get(name) ?? [];
    this.#lanes.set(name, lane);
    lane.push(one);
    this.#waiting++;
    this.#next();
  }

  /** Begins what may begin. */
  #next(): void {
    for (const [name, waiting] of this.#lanes) {
      if (this.#busy.size >= MOST_AT_ONCE) return;
      if (this.#busy.has(name)) continue;
      const one = waiting.shift();
      if (!one) continue;
      this.#waiting--;
      this.#busy.set(name, undefined);
      void this.#answer(one, name).finally(() => {
        this.#busy.delete(name);
        this.#next();
        this.#closeIfIdle();
      });
    }
  }

  async #answer({ text, message }: Waiting, name: string): Promise<void> {
    const { speech, wire: handshake, lane, context: { request: { url, headers }, gateway, peer } } = this.#options;
    const request = new Request(url, { method: "POST", headers: plain(headers), body: text });
    let context = withProtocol(openContext(request, peer, gateway), speech.protocol);
    this.#busy.set(name, context);
    context.recorder.entry.protocol = speech.protocol.name;
    context.recorder.entry.lane = lane.name;
    const { body: { previous_response_id: previous } } = message;
    try {
      context = withCaller(context, await gateway.authenticate(request, peer));
      gateway.load.check(gateway.limits);
      const { body: sent, release } = await gateway.uploads.readJson(request);
      context.recorder.atEnd(release);
      const { body, isWarmUp } = speech.read(sent)!;
      const prepared = { ...this.#memory.preparedFor(previous), ...body };
      const session = this.#memory.open(name, text.length, isWarmUp ? withoutInput(body) : undefined);
      const wire = { ...handshake, headers: request.headers, body: prepared };
      const input = await step(() => speech.protocol.parse(wire, context));
      const asked = {
        protocol: inLines(speech.protocol),
        wire,
        input: { ...input, stream: true },
        lane,
        context,
        session,
      };
      const response = await (isWarmUp ? warmUp(asked, session) : this.#options.generate(asked));
      await this.#send(response, message.lane, context);
      if (context.recorder.failure) this.#memory.evict(name, previous);
    } catch (thrown) {
      this.#memory.evict(name, previous);
      await this.#refuse(thrown, message.lane, undefined, context);
    }
  }

  async #send({ body }: Response, lane: string | undefined, context: RequestContext): Promise<void> {
    const decoder = new TextDecoder();
    let rest = "";
    for await (const chunk of body!) {
      const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
      rest = lines.pop()!;
      for (const line of lines) if (line !== "[DONE]") this.#write(this.#options.speech.writeEvent(line, lane));
      await this.#drained(context);
    }
  }

  /** A client that reads slowly slows the upstream down, and one that reads nothing for long is left. */
  async #drained({ gateway: { limits }, leave }: RequestContext): Promise<void> {
    let before = this.#socket.bufferedAmount;
    for (let waited = 0; this.#isOpen() && this.#socket.bufferedAmount > MOST_BUFFERED; waited += LOOK_MS) {
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
      const { bufferedAmount } = this.#socket;
      if (bufferedAmount < before) waited = 0;
      before = bufferedAmount;
      if (waited < limits.sendStallMs) continue;
      leave();
      return this.#socket.close();
    }
  }

  #write(text: string): void {
    if (this.#isOpen()) this.#socket.send(text);
  }

  #isOpen(): boolean {
    return this.#socket.readyState === WebSocket.OPEN;
  }

  async #refuse(
    thrown: unknown,
    lane: string | undefined,
    limit?: SocketLimit,
    context: RequestContext = this.#options.context,
  ): Promise<void> {
    const { speech } = this.#options;
    const error = await describeError(thrown, context);
    const response = speech.protocol.serializeError(error, { requestId: context.id });
    const { status, headers } = response;
    if (context !== this.#options.context) {
      context.recorder.fail(error);
      context.recorder.close(status);
    }
    this.#write(speech.writeError({ status, headers, body: await response.json(), limit }, lane));
    if (limit === "age") this.#closeIfIdle();
  }
}

class LimitReached extends GatewayError {
  readonly limit: SocketLimit;

  constructor(limit: SocketLimit, message: string) {
    super("invalid_request", message);
    this.limit = limit;
  }
}

function parseMessage(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new GatewayError("invalid_request", "The message is not valid JSON");
  }
}

/** The handshake's headers, without those of the handshake. */
function plain(headers: Headers): Headers {
  const others = [...headers].filter(([name]) =>
    !/^(upgrade|connection|sec-|content-|transfer-|accept-enc)/.test(name)
  );
  return new Headers([...others, ["content-type", "application/json"]]);
}

function withoutInput({ input: _input, previous_response_id: _previous, ...rest }: SocketMessage["body"]) {
  return rest;
}

/** The protocol whose events are a line each, with nothing between them. */
function inLines(protocol: Protocol<"generate">): Protocol<"generate"> {
  return { ...protocol, keepAlive: undefined, stream: { ...protocol.stream!, framing: "ndjson" } };
}

/** Keeps what the next request goes on from, and answers nothing. */
async function warmUp(asked: Incoming<"generate">, session: Session): Promise<Response> {
  const { protocol, input: { model }, lane, context } = asked;
  await resolve("generate", model, lane, context);
  const { input } = await recall(asked.input, context, session);
  const exchange: Exchange<"generate"> = { ...openExchange(asked, input), stored: false };
  session.keep(exchange.id);
  const usage = { inputTokens: 0, outputTokens: 0 };
  return await respondWithStream(
    protocol,
    exchange,
    sourceOf([{ type: "start", model, inputTokens: 0 }, { type: "finish", finish: { reason: "stop" }, usage }]),
    context,
  );
}
