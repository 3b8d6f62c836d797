/** Calls by `node:http` and `node:https`, which both Deno and Node have: HTTP/1.1, half the work of `fetch`. */
import { Agent, type ClientRequest, type IncomingMessage, request as requestPlain } from "node:http";
import { connect, type LookupFunction, type NetConnectOpts, type Socket } from "node:net";
import { Agent as SecureAgent, request as requestSecure } from "node:https";
import { connect as connectSecurely, type ConnectionOptions } from "node:tls";
import { ACCEPTED_CODING, decodeInto, isDecoded } from "./decoding.ts";
import { guardAgent, guardSocket, type MayReach, mayReachHost } from "./guarded_agent.ts";
import { isDoubtful, noteAnswer } from "./late_body.ts";
import { toMultipart } from "./multipart.ts";
import { drained, PushedBytes, type Valve } from "./node_stream.ts";
import {
  failureOf,
  type Transport,
  TransportError,
  type TransportRequest,
  type TransportResponse,
} from "./transport.ts";

/** An idle connection is closed after so many milliseconds. */
const IDLE_MS = 90_000;
/** As much of a head as the gateway's own server takes. */
const HEAD_BYTES = 64 * 1024;
/** How much of an answer waits below what is read, in bytes. */
const BUFFER_BYTES = 16 * 1024;
/** How long one address of a host is tried before the next one, in milliseconds. */
const ADDRESS_MS = 2_500;

const OPTIONS = {
  keepAlive: true,
  highWaterMark: BUFFER_BYTES,
  autoSelectFamilyAttemptTimeout: ADDRESS_MS,
};

const anything = () => true;

export interface NodeTransportOptions {
  /** Finds the addresses of names, in place of the system. */
  lookup?: LookupFunction;
  /** Whether there may be a connection to an address; to all where absent. */
  mayReach?: MayReach;
}

/** A transport with connections of its own. */
export function nodeTransport({ lookup, mayReach = anything }: NodeTransportOptions = {}): Transport {
  const options = lookup ? { ...OPTIONS, lookup } : OPTIONS;
  const agents: Agents = {
    "http:": withoutRepeats(closingIdle(guardAgent(new Agent(options), mayReach))),
    "https:": withoutRepeats(closingIdle(overOwnConnections(guardAgent(new SecureAgent(options), mayReach), mayReach))),
  };
  return {
    send(request) {
      if (mayReachHost(new URL(request.url).hostname, mayReach)) return post(request, agents);
      return Promise.reject(new TransportError("not-made", new Error("The address may not be reached")));
    },
    close() {
      for (const agent of Object.values(agents)) agent.destroy();
    },
  };
}

type Agents = Readonly<Record<"http:" | "https:", Agent>>;

/** The requests that go out on a connection which was kept. */
const onKept = new WeakSet<ClientRequest>();

/**
 * Deno (2.9.6) sends a request again when a kept connection dies before the answer, or is given up, unless the request denies
 * that it is on one.
 */
function withoutRepeats(agent: Agent): Agent {
  const { reuseSocket } = agent;
  agent.reuseSocket = (socket, request) => {
    reuseSocket.call(agent, socket, request);
    request.reusedSocket = false;
    onKept.add(request);
  };
  return agent;
}

/**
 * Closes connections that are idle for too long, or that the server said it will close. An agent's own time-out would watch over
 * those in use, too, which costs more than all else that is done here for a request.
 */
function closingIdle<A extends Agent>(agent: A): A {
  const { keepSocketAlive, reuseSocket } = agent;
  const idle = Object.create(agent, { options: { value: { timeout: IDLE_MS } } });
  agent.keepSocketAlive = (socket) => keepSocketAlive.call(idle, socket);
  agent.reuseSocket = (socket, request) => {
    (socket as Socket).setTimeout(0);
    reuseSocket.call(agent, socket, request);
  };
  return agent;
}

/** Once more where nothing of the body went out, on a new connection; whom none could be made to is not tried again here. */
async function post(request: TransportRequest, agents: Agents): Promise<TransportResponse> {
  const url = new URL(request.url);
  for (let isAgain = false;; isAgain = true) {
    try {
      const response = await exchange(request, url, agents);
      noteAnswer(url.origin, response.ok);
      return response;
    } catch (thrown) {
      noteAnswer(url.origin, false);
      if (isAgain || !(thrown instanceof TransportError) || thrown.failure !== "unsent") throw thrown;
      closeIdle(agents[protocolOf(url)], url);
    }
  }
}

const DEFAULT_PORTS: Readonly<Record<string, number>> = { "http:": 80, "https:": 443 };

/** Where one kept connection was dead, the others may be. */
function closeIdle({ freeSockets }: Agent, { hostname, port, protocol }: URL): void {
  for (const [name, sockets = []] of Object.entries(freeSockets)) {
    if (!name.startsWith(`${bare(hostname)}:${port || DEFAULT_PORTS[protocol]}:`)) continue;
    for (const socket of sockets) socket.destroy();
  }
}

function protocolOf({ protocol }: URL): "http:" | "https:" {
  return protocol === "https:" ? "https:" : "http:";
}

/** Without the brackets of an IPv6 address. */
function bare(hostname: string): string {
  return hostname.startsWith("[") ? hostname.slice(1, -1) : hostname;
}

type Body = Exclude<TransportRequest["body"], FormData>;

/** A request and its answer on one connection. */
function exchange(request: TransportRequest, url: URL, agents: Agents): Promise<TransportResponse> {
  const { method, signal } = request;
  signal.throwIfAborted();
  const body = request.body instanceof FormData ? toMultipart(request.body) : request.body;
  const outgoing = open(request, body, url, agents);
  const isKept = onKept.has(outgoing);
  const made = isKept ? { is: true } : watchMaking(outgoing, url);
  const written = { is: false };
  const bytes = new PushedBytes(signal, () => outgoing.destroy());
  const { promise, resolve, reject } = Promise.withResolvers<TransportResponse>();
  const fail = (error: Error) => {
    // What only asks may be asked again.
    const isUnsent = isKept && (lengthOf(body) > 0 ? !written.is : method === "GET");
    const failure = failureOf(error, !made.is ? "not-made" : isUnsent ? "unsent" : "lost");
    reject(new TransportError(failure, error));
  };
  const stop = () => {
    outgoing.destroy();
    bytes.fail(signal.reason);
    reject(signal.reason);
  };
  signal.addEventListener("abort", stop, { once: true });
  outgoing.on("error", fail);
  outgoing.once("close", () => {
    signal.removeEventListener("abort", stop);
    fail(new Error("The connection was closed"));
  });
  outgoing.once("response", (incoming: IncomingMessage) => {
    receive(incoming, bytes);
    // Of what was sent, the server has not read the rest, and never will.
    incoming.once("end", () => outgoing.writableFinished || outgoing.destroy());
    resolve(new Answer(incoming, bytes));
  });
  // A server that switches protocols, which nobody asked it to, has answered.
  outgoing.once("upgrade", (_incoming, socket) => {
    socket.destroy();
    resolve({ status: 101, ok: false, headers: new Headers() });
  });
  const isLate = isKept && isDoubtful(url.origin) && lengthOf(body) > 0;
  write(outgoing, body, isLate, () => written.is = true);
  return promise;
}

function open({ method, headers }: TransportRequest, body: Body, url: URL, agents: Agents): ClientRequest {
  const protocol = protocolOf(url);
  const more: Record<string, string | number> = {};
  if (body !== undefined) more["content-length"] = lengthOf(body);
  if (body instanceof Blob && body.type !== "") more["content-type"] = body.type;
  return (protocol === "https:" ? requestSecure : requestPlain)({
    agent: agents[protocol],
    hostname: bare(url.hostname),
    port: url.port,
    path: url.pathname + url.search,
    method,
    headers: { ...more, "accept-encoding": ACCEPTED_CODING, ...headers },
    maxHeaderSize: HEAD_BYTES,
  });
}

function lengthOf(body: Body): number {
  if (body === undefined) return 0;
  if (body instanceof Blob) return body.size;
  return Buffer.byteLength(body);
}

/** Whether the connection for a request was made: nothing of the request went out before. */
function watchMaking(outgoing: ClientRequest, { protocol }: URL): { is: boolean } {
  const made = { is: false };
  outgoing.once("socket", (socket) => {
    socket.once(protocol === "https:" ? "secureConnect" : "connect", () => made.is = true);
  });
  return made;
}

/**
 * Sends the body; `onBegin` is called just before. Where it is late, it goes out a moment after its head: within the moment it
 * turns out whether a kept connection is dead.
 */
function write(outgoing: ClientRequest, body: Body, isLate: boolean, onBegin: () => void): void {
  const begin = () => {
    if (outgoing.destroyed) return;
    onBegin();
    if (body instanceof Blob) void writePieces(outgoing, body);
    else outgoing.end(body);
  };
  if (!isLate) return begin();
  outgoing.flushHeaders();
  const timer = setTimeout(begin);
  outgoing.once("close", () => clearTimeout(timer));
}

/** No faster than the server reads. */
async function writePieces(outgoing: ClientRequest, body: Blob): Promise<void> {
  for await (const piece of body.stream()) {
    if (outgoing.destroyed) return;
    if (!outgoing.write(piece)) await drained(outgoing);
  }
  outgoing.end();
}

function receive(incoming: IncomingMessage, bytes: PushedBytes): void {
  const coding = incoming.headers["content-encoding"];
  const valve = valveOf(incoming);
  if (isDecoded(coding)) decodeInto(bytes, incoming, valve, coding);
  else bytes.attach(incoming, valve);
  incoming.once("error", (error) => bytes.fail(error));
  incoming.once("close", () => incoming.complete || bytes.fail(new Error("The connection was closed")));
}

/** A connection, down to what the system reads it by. */
type Below = Socket & { _handle?: { readStart(): void; readStop(): void } | null };

/** The connections below those with TLS. */
const below = new WeakMap<object, Below>();

/**
 * Deno (2.9.6) reads on below a connection with TLS that is paused, and keeps all that comes in memory. Pausing what is below is
 * no way to go on; its handle can be stopped and started.
 */
function overOwnConnections(agent: SecureAgent, mayReach: MayReach): SecureAgent {
  if (!("Deno" in globalThis)) return agent;
  // The agent's own way asks for the permission to list the system's certificates.
  agent.createConnection = (options) => {
    const socket = guardSocket(connect(options as NetConnectOpts), mayReach);
    const secure = connectSecurely({ ...options, socket } as ConnectionOptions);
    below.set(secure, socket);
    return secure;
  };
  return agent;
}

function valveOf(incoming: IncomingMessage): Valve {
  const socket = below.get(incoming.socket);
  if (!socket) return incoming;
  return {
    pause() {
      incoming.pause();
      socket._handle?.readStop();
    },
    resume() {
      socket._handle?.readStart();
      incoming.resume();
    },
  };
}

/** The statuses of answers that have no body. */
const BODILESS: ReadonlySet<number> = new Set([204, 205, 304]);

class Answer implements TransportResponse {
  readonly status: number;
  readonly body: PushedBytes | undefined;
  readonly #rawHeaders: readonly string[];
  #headers: Headers | undefined;

  constructor({ statusCode = 0, rawHeaders }: IncomingMessage, bytes: PushedBytes) {
    this.status = statusCode;
    this.body = BODILESS.has(statusCode) ? undefined : bytes;
    this.#rawHeaders = rawHeaders;
  }

  get ok(): boolean {
    return this.status >= 200 && this.status < 300;
  }

  get headers(): Headers {
    return this.#headers ??= toHeaders(this.#rawHeaders);
  }
}

function toHeaders(raw: readonly string[]): Headers {
  const headers = new Headers();
  for (let at = 0; at < raw.length; at += 2) headers.append(raw[at]!, raw[at + 1]!);
  return headers;
}
