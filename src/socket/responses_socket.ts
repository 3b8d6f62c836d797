/** One WebSocket. The messages of each of its lanes are answered in order. */
import type { WireRequest } from "../contract/context.ts";
import type { SocketLimit, SocketMessage } from "../contract/socket.ts";
import { openContext, type RequestContext, withCaller, withProtocol } from "../context/request_context.ts";
import type { Protocol, SocketEndpoint } from "../contract/protocol.ts";
import { GatewayError } from "../errors.ts";
import { LARGE_BYTES, parseBody, parseLarge } from "../http/body.ts";
import type { OpenSocket, Sockets } from "../http/sockets.ts";
import type { Upgraded } from "../platform/platform.ts";
import type { Lane } from "../lanes/lane.ts";
import { runSliced, runStep } from "../util/sliced_work.ts";
import { type ReceivedMessage, ReceivedMessages } from "./received_messages.ts";
import { BackpressuredSocket } from "./socket_backpressure.ts";
import { describeError } from "../inference/describe_error.ts";
import type { Incoming } from "../inference/incoming.ts";
import { SocketConversationCache } from "./socket_conversation_cache.ts";
import { warmUp } from "./warm_up.ts";

/** The most answers at once, the most named lanes, and the most waiting messages. */
const MOST_AT_ONCE = 16;
const MOST_LANES = 32;
const MOST_WAITING = 256;
/** The most messages in a row that may be refused. */
const MOST_REFUSED = 20;

export interface ResponsesSocketOptions {
  speech: SocketEndpoint;
  /** The request of the handshake. */
  wire: WireRequest;
  lane: Lane;
  context: RequestContext;
  /** The sockets of all callers. */
  sockets: Sockets;
  generate(asked: Incoming<"generate">): Promise<Response>;
}

interface Waiting extends Omit<ReceivedMessage, "body"> {
  message: SocketMessage;
}

export class ResponsesSocket implements OpenSocket {
  readonly #channel: BackpressuredSocket;
  readonly #received: ReceivedMessages;
  readonly #options: ResponsesSocketOptions;
  readonly #cache: SocketConversationCache;
  /** The waiting messages by lane. A lane exists from its first message on. */
  readonly #lanes = new Map<string, Waiting[]>();
  /** The lanes that have a message being answered, with its context. */
  readonly #busy = new Map<string, RequestContext | undefined>();
  /** Messages that are read, but not being answered yet. */
  #waiting = 0;
  /** Messages refused since the last one that was not. */
  #refused = 0;
  #isOld = false;
  #isRetired = false;

  constructor(upgraded: Upgraded, options: ResponsesSocketOptions) {
    this.#options = options;
    const { sockets, context } = options;
    const { guards: { limits, loadShedder, uploads, hasSeveralCallers }, pace } = context.gateway;
    this.#cache = new SocketConversationCache({
      kept: sockets.kept,
      capacity: { total: limits.socketBytes, isShared: hasSeveralCallers },
      owner: this.owner,
      longest: limits.bodyBytes,
      onFull: () => this.retire(),
    });
    this.#received = new ReceivedMessages({
      caller: this.owner,
      hold: (text) => {
        if (text.length > LARGE_BYTES) loadShedder.check(limits);
        return uploads.hold(text, this.owner);
      },
      parse: (text) =>
        text.length > LARGE_BYTES
          ? parseLarge(text, { caller: this.owner, json: limits.json })
          : runSliced(parseBody(text, limits.json)),
      onMessage: (message) => this.#queue(message),
      onRefused: (thrown) => this.#refuse(thrown),
    });
    const age = setTimeout(() => {
      this.#isOld = true;
      this.#closeIfIdle();
    }, pace.socketMs);
    this.#channel = new BackpressuredSocket(upgraded, {
      sendStallMs: limits.sendStallMs,
      onMessage: (data) => this.#take(data),
      onEnd: () => {
        clearTimeout(age);
        this.#received.clear();
        for (const lane of this.#lanes.values()) for (const { release } of lane) release();
        this.#lanes.clear();
        this.#cache.clear();
        for (const context of this.#busy.values()) context?.leave();
      },
      onClosed: () => sockets.delete(this),
    });
  }

  get owner(): string {
    return this.#options.context.caller.owner;
  }

  get key(): string {
    return this.#options.context.caller.name;
  }

  get isIdle(): boolean {
    return this.#busy.size + this.#waiting + this.#received.size === 0;
  }

  retire(): void {
    this.#isRetired = true;
    this.#closeIfIdle();
  }

  abort(): void {
    this.#channel.close(1001, "The gateway is shutting down");
  }

  drop(): void {
    this.#channel.end(1013, "The gateway is short of memory: try again later, or use HTTP");
  }

  #closeIfIdle(): void {
    if (!this.#isOld && !this.#isRetired || !this.isIdle) return;
    this.#channel.close(1000, this.#isOld ? "The connection is too old" : "The gateway asks for a new connection");
  }

  #take(data: unknown): void {
    this.#cache.countText(typeof data === "string" ? data.length : 0);
    const beyond = this.#received.size + this.#waiting - MOST_WAITING;
    if (beyond < 0) return this.#received.add(data);
    if (beyond >= MOST_REFUSED) return this.#channel.close(1008, "Too many messages are waiting");
    this.#received.refuse(new GatewayError("rate_limit", "Too many messages are waiting on this connection"));
  }

  async #queue({ body, size, release }: ReceivedMessage): Promise<void> {
    let name: string | undefined;
    try {
      const message = this.#channel.isOver ? undefined : this.#options.speech.read(body);
      name = message?.lane;
      if (message) {
        this.#laneOf(name ?? "").push({ message, size, release });
        this.#waiting++;
        return this.#next();
      }
    } catch (thrown) {
      await this.#refuse(thrown, name);
    }
    release();
    this.#closeIfIdle();
  }

  /** The waiting messages of a lane. Throws if the connection has reached a limit. */
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

  /** Starts the messages that may start. */
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

  /** Opens the context of one message. */
  #open(): RequestContext {
    const { speech, lane, context: { request: { url, headers }, gateway, peer } } = this.#options;
    const request = new Request(url, { method: "POST", headers: plain(headers) });
    const context = withProtocol(openContext(request, peer, gateway), speech.protocol);
    context.requestLog.entry.protocol = speech.protocol.name;
    context.requestLog.entry.lane = lane.name;
    return context;
  }

  async #answer({ message, size, release }: Waiting, name: string): Promise<void> {
    const { speech, wire: handshake, lane, context: { gateway, peer, caller } } = this.#options;
    let context = this.#open();
    const { request, requestLog } = context;
    requestLog.atEnd(release);
    requestLog.isLarge = size > LARGE_BYTES;
    this.#busy.set(name, context);
    gateway.observe.feed?.begin(context.id, requestLog, request.headers);
    if (caller.team !== undefined) gateway.observe.feed?.identify(context.id, caller.team);
    const { body, isWarmUp } = message;
    const { previous_response_id: previous } = body;
    try {
      context = withCaller(context, await gateway.guards.authenticate(request, peer));
      gateway.guards.loadShedder.check(gateway.guards.limits);
      const prepared = { ...this.#cache.preparedFor(previous), ...body };
      requestLog.capture = gateway.observe.captures?.loaded?.begin(context);
      requestLog.capture?.bodyCopy?.addText(JSON.stringify(prepared));
      requestLog.capture?.receive("json", prepared);
      const conversationCache = this.#cache.open(name, size, isWarmUp ? withoutInput(body) : undefined);
      const wire = { ...handshake, headers: request.headers, body: prepared };
      const input = await runStep(() => speech.protocol.parse(wire, context));
      const asked = {
        protocol: inLines(speech.protocol),
        wire,
        input: { ...input, stream: true },
        lane,
        context,
        conversationCache,
      };
      const response = await (isWarmUp ? warmUp(asked, conversationCache) : this.#options.generate(asked));
      this.#refused = 0;
      await requestLog.capture?.settle();
      await this.#send(response, message.lane);
      if (requestLog.failure) this.#cache.evict(name, previous);
    } catch (thrown) {
      this.#cache.evict(name, previous);
      await requestLog.capture?.settle();
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
    this.#countRefusal(status, context);
    context.requestLog.fail(error);
    context.requestLog.close(status);
    const limit = thrown instanceof LimitReached ? thrown.limit : undefined;
    this.#channel.send(speech.writeError({ status, headers, body: await response.json(), limit }, lane));
    if (this.#refused >= MOST_REFUSED) this.#channel.close(1008, "Too many messages in a row were refused");
    this.#closeIfIdle();
  }

  /**
   * Counts a refused message against its caller's limits although it was never admitted, unless a limit was the reason.
   */
  #countRefusal(status: number, { gateway, requestLog }: RequestContext): void {
    if (requestLog.asked > 0) return;
    this.#refused++;
    const { caller } = this.#options.context;
    if (!requestLog.isMetered && status < 500 && status !== 429) void gateway.guards.admission(caller)?.takeCall();
    const unlogged = this.#options.sockets.countRefusal(caller.owner, gateway.clocks.monotonic());
    if (unlogged === undefined) requestLog.entry.isRepeated = true;
    else if (unlogged > 0) requestLog.note(`${unlogged} refused messages before this one are not in the log`);
  }
}

class LimitReached extends GatewayError {
  readonly limit: SocketLimit;

  constructor(limit: SocketLimit, message: string) {
    super("invalid_request", message);
    this.limit = limit;
  }
}

/** The request headers of the handshake, without those that are about the handshake itself. */
function plain(headers: Headers): Headers {
  const others = [...headers].filter(([name]) =>
    !/^(upgrade|connection|sec-|content-|transfer-|accept-enc)/.test(name)
  );
  return new Headers([...others, ["content-type", "application/json"]]);
}

function withoutInput({ input: _input, previous_response_id: _previous, ...rest }: SocketMessage["body"]) {
  return rest;
}

/** The protocol with one line for each event, and nothing between them. */
function inLines(protocol: Protocol<"generate">): Protocol<"generate"> {
  return { ...protocol, keepAlive: undefined, stream: { ...protocol.stream!, framing: "ndjson" } };
}
