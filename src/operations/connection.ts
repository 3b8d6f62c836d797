/** One WebSocket: its messages are answered in the order of their lanes. */
import type { Exchange, WireRequest } from "../contract/context.ts";
import type { SocketLimit, SocketMessage } from "../contract/socket.ts";
import { openContext, type RequestContext, withCaller, withProtocol } from "../context/request_context.ts";
import { listAsRunning } from "../context/running.ts";
import type { Protocol, SocketEndpoint } from "../contract/protocol.ts";
import { GatewayError } from "../errors.ts";
import type { OpenSocket } from "../http/sockets.ts";
import type { Lane } from "../lanes/lane.ts";
import { sourceOf } from "../util/event_source.ts";
import { step } from "../util/work.ts";
import { Channel } from "./channel.ts";
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

const encoder = new TextEncoder();

export interface ConnectionOptions {
  speech: SocketEndpoint;
  /** The handshake. */
  wire: WireRequest;
  lane: Lane;
  context: RequestContext;
  generate(asked: Incoming<"generate">): Promise<Response>;
}

interface Waiting {
  message: SocketMessage;
  /** Bytes. */
  size: number;
  isLarge: boolean;
  /** Gives back the memory that was set aside for it. */
  release(): void;
}

export class Connection implements OpenSocket {
  onLinger = () => {};
  onClosed = () => {};
  readonly #channel: Channel;
  readonly #options: ConnectionOptions;
  readonly #memory: SocketMemory;
  /** Messages are read in their order. */
  #reading: Promise<void> = Promise.resolve();
  /** What waits, by its lane; a lane is there from its first message on. */
  readonly #lanes = new Map<string, Waiting[]>();
  /** The lanes that are being answered. */
  readonly #busy = new Map<string, RequestContext | undefined>();
  /** Messages that are not answered yet, nor being answered. */
  #waiting = 0;
  #isOld = false;
  #isRetired = false;

  constructor(socket: WebSocket, options: ConnectionOptions) {
    this.#options = options;
    const { limits, pace } = options.context.gateway;
    this.#memory = new SocketMemory(limits.bodyBytes);
    const age = setTimeout(() => {
      this.#isOld = true;
      this.#closeIfIdle();
    }, pace.socketMs);
    this.#channel = new Channel(socket, {
      sendStallMs: limits.sendStallMs,
      onMessage: (data) => this.#take(data),
      onEnd: () => {
        clearTimeout(age);
        for (const lane of this.#lanes.values()) for (const { release } of lane) release();
        this.#lanes.clear();
        this.#memory.clear();
        for (const context of this.#busy.values()) context?.leave();
      },
      onLinger: () => this.onLinger(),
      onClosed: () => this.onClosed(),
    });
  }

  retire(): void {
    this.#isRetired = true;
    this.#closeIfIdle();
  }

  abort(): void {
    this.#channel.close(1001, "The gateway is shutting down");
  }

  #closeIfIdle(): void {
    if (!this.#isOld && !this.#isRetired || this.#busy.size + this.#waiting > 0) return;
    this.#channel.close(1000, this.#isOld ? "The connection is too old" : "The gateway asks for a new connection");
  }

  #take(data: unknown): void {
    const { gateway, request: { url }, caller: { owner } } = this.#options.context;
    if (this.#waiting >= MOST_WAITING) {
      return void this.#refuse(new GatewayError("rate_limit", "Too many messages are waiting on this connection"));
    }
    if (typeof data !== "string") {
      return void this.#refuse(new GatewayError("invalid_request", "Expected a text message"));
    }
    const body = encoder.encode(data);
    const { length: size } = body;
    const headers = { "content-length": String(size) };
    this.#waiting++;
    // Memory is set aside for it at once, also while others are read before it.
    const reading = gateway.uploads.readJson(new Request(url, { method: "POST", headers, body }), owner);
    this.#reading = Promise.allSettled([reading, this.#reading]).then(([read]) => {
      if (read.status === "rejected") {
        this.#waiting--;
        return void this.#refuse(read.reason);
      }
      const { body, isLarge, release } = read.value;
      if (!this.#queue(body, { size, isLarge, release })) {
        this.#waiting--;
        release();
        this.#closeIfIdle();
      }
    });
  }

  /** Whether it is going to be answered. */
  #queue(body: unknown, held: Omit<Waiting, "message">): boolean {
    let name: string | undefined;
    try {
      const message = this.#options.speech.read(body);
      if (!message || this.#channel.isOver) return false;
      name = message.lane;
      this.#laneOf(name ?? "").push({ ...held, message });
    } catch (thrown) {
      void this.#refuse(thrown, name);
      return false;
    }
    this.#next();
    return true;
  }

  /** What waits in the lane. Throws where the connection has reached a limit. */
  #laneOf(name: string): Waiting[] {
    if (this.#isOld) throw new LimitReached("age", "The connection is too old: open a new one");
    const known = this.#lanes.get(name);
    if (known) return known;
    if (name !== "" && this.#lanes.size - Number(this.#lanes.has("")) >= MOST_LANES) {
      throw new LimitReached("lanes", `A connection has at most ${MOST_LANES} lanes`);
    }
    const lane: Waiting[] = [];
    this.#lanes.set(name, lane);
    return lane;
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

  /** The context of one message. */
  #open(): RequestContext {
    const { speech, lane, context: { request: { url, headers }, gateway, peer } } = this.#options;
    const request = new Request(url, { method: "POST", headers: plain(headers) });
    const context = withProtocol(openContext(request, peer, gateway), speech.protocol);
    context.recorder.entry.protocol = speech.protocol.name;
    context.recorder.entry.lane = lane.name;
    return context;
  }

  async #answer({ message, size, isLarge, release }: Waiting, name: string): Promise<void> {
    const { speech, wire: handshake, lane, context: { gateway, peer } } = this.#options;
    let context = this.#open();
    const { request, recorder } = context;
    recorder.atEnd(release);
    recorder.isLarge = isLarge;
    this.#busy.set(name, context);
    listAsRunning(context);
    const { body, isWarmUp } = message;
    const { previous_response_id: previous } = body;
    try {
      context = withCaller(context, await gateway.authenticate(request, peer));
      gateway.load.check(gateway.limits);
      const prepared = { ...this.#memory.preparedFor(previous), ...body };
      recorder.record = gateway.recording?.loaded?.begin(context);
      recorder.record?.body.addText(JSON.stringify(prepared));
      const session = this.#memory.open(name, size, isWarmUp ? withoutInput(body) : undefined);
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
      await this.#send(response, message.lane);
      if (recorder.failure) this.#memory.evict(name, previous);
    } catch (thrown) {
      this.#memory.evict(name, previous);
      await this.#refuse(thrown, message.lane, context);
    }
  }

  async #send({ body }: Response, lane: string | undefined): Promise<void> {
    const decoder = new TextDecoder();
    let rest = "";
    for await (const chunk of body!) {
      const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
      rest = lines.pop()!;
      for (const line of lines) if (line !== "[DONE]") this.#channel.send(this.#options.speech.writeEvent(line, lane));
      await this.#channel.drained();
    }
  }

  async #refuse(thrown: unknown, lane?: string, context: RequestContext = this.#open()): Promise<void> {
    const { speech } = this.#options;
    const error = await describeError(thrown, context);
    const response = speech.protocol.serializeError(error, { requestId: context.id });
    const { status, headers } = response;
    context.recorder.fail(error);
    context.recorder.close(status);
    const limit = thrown instanceof LimitReached ? thrown.limit : undefined;
    this.#channel.refuse(speech.writeError({ status, headers, body: await response.json(), limit }, lane));
    this.#closeIfIdle();
  }
}

class LimitReached extends GatewayError {
  readonly limit: SocketLimit;

  constructor(limit: SocketLimit, message: string) {
    super("invalid_request", message);
    this.limit = limit;
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
