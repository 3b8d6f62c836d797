/** Calls by `node:http` and `node:https`, which both Deno and Node have: HTTP/1.1, half the work of `fetch`. */
import { type Agent, type ClientRequest, type IncomingMessage, request as requestPlain } from "node:http";
import { request as requestSecure } from "node:https";
import type { LookupFunction } from "node:net";
import { ACCEPTED_CODING, decodeInto, isDecoded } from "./decoding.ts";
import { type MayReach, mayReachHost } from "./guarded_agent.ts";
import { headersFor, isDoubtful, noteAnswer } from "./late_body.ts";
import { type Agents, nodeAgents, onKept, valveOf } from "./node_agents.ts";
import { drained, PushedBytes } from "./node_stream.ts";
import {
  failureOf,
  type Transport,
  TransportError,
  type TransportRequest,
  type TransportResponse,
  urlOf,
} from "./transport.ts";

/** As much of a head as the gateway's own server takes. */
const HEAD_BYTES = 64 * 1024;

/** A server that sends more interim answers (1xx) than this is not about to answer, and they would keep others from running. */
const MOST_INFORMED = 100;

export interface NodeTransportOptions {
  /** Finds the addresses of names, in place of the system. */
  lookup?: LookupFunction;
  /** Whether there may be a connection to an address; to all where absent. */
  mayReach?: MayReach;
}

/** A transport with connections of its own. */
export function nodeTransport({ lookup, mayReach = () => true }: NodeTransportOptions = {}): Transport {
  const agents = nodeAgents(lookup, mayReach);
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

/** Once more where nothing of the body went out, on a new connection; whom none could be made to is not tried again here. */
async function post(request: TransportRequest, agents: Agents): Promise<TransportResponse> {
  const url = urlOf(request.url);
  for (let isAgain = false;; isAgain = true) {
    try {
      const response = await exchange(request, url, agents);
      noteAnswer(url.origin, response);
      return response;
    } catch (thrown) {
      noteAnswer(url.origin);
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

/** Without the brackets of an IPv6 address. */
function bare(hostname: string): string {
  return hostname.startsWith("[") ? hostname.slice(1, -1) : hostname;
}

function protocolOf({ protocol }: URL): "http:" | "https:" {
  return protocol === "https:" ? "https:" : "http:";
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
  let answer: IncomingMessage | undefined;
  outgoing.on("error", (error) => {
    // A body without a length ends with its connection, and node's parser takes any end for that.
    if (answer && !answer.complete) bytes.fail(error);
    fail(error);
  });
  let informed = 0;
  outgoing.on("information", () => {
    if (++informed > MOST_INFORMED) outgoing.destroy(new Error("The server sends nothing but interim answers"));
  });
  outgoing.once("close", () => {
    signal.removeEventListener("abort", stop);
    fail(new Error("The connection was closed"));
  });
  outgoing.once("response", (incoming: IncomingMessage) => {
    answer = incoming;
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
    headers: { ...more, "accept-encoding": ACCEPTED_CODING, ...headersFor(url.origin, headers) },
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

/** The parts that are files stay where they are. */
function toMultipart(form: FormData): Blob {
  const boundary = `----formdata-${crypto.randomUUID()}`;
  const pieces: (string | Blob)[] = [];
  for (const [name, value] of form) {
    const disposition = `--${boundary}\r\nContent-Disposition: form-data; name="${escaped(lines(name))}"`;
    if (typeof value === "string") pieces.push(`${disposition}\r\n\r\n${lines(value)}\r\n`);
    else {
      const type = value.type || "application/octet-stream";
      pieces.push(`${disposition}; filename="${escaped(value.name)}"\r\nContent-Type: ${type}\r\n\r\n`, value, "\r\n");
    }
  }
  pieces.push(`--${boundary}--\r\n`);
  return new Blob(pieces, { type: `multipart/form-data; boundary=${boundary}` });
}

const ESCAPES: Readonly<Record<string, string>> = { "\n": "%0A", "\r": "%0D", '"': "%22" };

function escaped(name: string): string {
  return name.replace(/[\n\r"]/g, (found) => ESCAPES[found]!);
}

/** With the ends of lines that the format has. */
function lines(text: string): string {
  return text.replace(/\r\n|\r|\n/g, "\r\n");
}
