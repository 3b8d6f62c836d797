/** A transport by `node:http` and `node:https`, which Deno has, too. It uses HTTP/1.1, and takes half the work of `fetch`. */
import { type Agent, type ClientRequest, type IncomingMessage, request as requestPlain } from "node:http";
import { request as requestSecure } from "node:https";
import type { LookupFunction } from "node:net";
import { ACCEPTED_CODING, decodeInto, isDecoded } from "./decoding.ts";
import { type MayReach, mayReachHost } from "./guarded_agent.ts";
import { type Connections, connectionsTo, noteAnswer, urlOf } from "./late_body.ts";
import { type Agents, nodeAgents, onKept, valveOf } from "./node_agents.ts";
import { drained, PushedBytes } from "./node_stream.ts";
import {
  failureOf,
  type Transport,
  TransportError,
  type TransportRequest,
  type TransportResponse,
} from "./transport.ts";

/** The longest head, as in the gateway's own server, in bytes. */
const HEAD_BYTES = 64 * 1024;

/** The most interim answers (1xx). A server that sends more is not about to answer, and they would keep other work from running. */
const MOST_INFORMED = 100;

export interface NodeTransportOptions {
  /** Looks up names instead of the system. */
  lookup?: LookupFunction;
  /** Whether a connection to an address is allowed. If absent, all are. */
  mayReach?: MayReach;
}

/** A transport with connections of its own. */
export function nodeTransport({ lookup, mayReach = () => true }: NodeTransportOptions = {}): Transport {
  const agents = nodeAgents(lookup, mayReach);
  return {
    send(request) {
      const url = urlOf(request.url);
      if (mayReachHost(url.hostname, mayReach)) return post(request, url, agents);
      return Promise.reject(new TransportError("not-made", new Error("The address may not be reached")));
    },
    close() {
      for (const agent of Object.values(agents)) agent.destroy();
    },
  };
}

/** Sends a request once more, on a new connection, if nothing of its body was sent. A failure to connect is not retried here. */
function post(request: TransportRequest, url: URL, agents: Agents, isAgain = false): Promise<TransportResponse> {
  const fail = (thrown: unknown) => {
    noteAnswer(url.origin);
    if (isAgain || !(thrown instanceof TransportError) || thrown.failure !== "unsent") throw thrown;
    closeIdle(agents[protocolOf(url)], url);
    return post(request, url, agents, true);
  };
  try {
    return exchange(request, url, agents).then((response) => {
      noteAnswer(url.origin, response);
      return response;
    }, fail);
  } catch (thrown) {
    return Promise.try(fail, thrown);
  }
}

const DEFAULT_PORTS: Readonly<Record<string, number>> = { "http:": 80, "https:": 443 };

/** Closes the other kept connections, because they may be dead if one was. */
function closeIdle({ freeSockets }: Agent, { hostname, port, protocol }: URL): void {
  for (const [name, sockets = []] of Object.entries(freeSockets)) {
    if (!name.startsWith(`${bare(hostname)}:${port || DEFAULT_PORTS[protocol]}:`)) continue;
    for (const socket of sockets) socket.destroy();
  }
}

/** Removes the brackets of an IPv6 address. */
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
  const connections = connectionsTo(url.origin);
  const outgoing = open(request, body, url, agents, connections);
  const isKept = onKept.has(outgoing);
  const made = isKept ? { is: true } : watchMaking(outgoing, url);
  const written = { is: false };
  const bytes = new PushedBytes(signal, () => outgoing.destroy());
  const { promise, resolve, reject } = Promise.withResolvers<TransportResponse>();
  const fail = (error: Error) => {
    // A GET without a body may be repeated.
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
    // A body without a length ends with its connection, and Node's parser accepts any end of it.
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
    // The server has answered without reading the rest of the body, and never will read it.
    incoming.once("end", () => outgoing.writableFinished || outgoing.destroy());
    resolve(new Answer(incoming, bytes));
  });
  // A server that switches protocols without being asked has answered.
  outgoing.once("upgrade", (_incoming, socket) => {
    socket.destroy();
    resolve({ status: 101, ok: false, headers: new Headers() });
  });
  const isLate = isKept && connections.isDoubtful && lengthOf(body) > 0;
  write(outgoing, body, isLate, () => written.is = true);
  return promise;
}

function open(
  { method, headers }: TransportRequest,
  body: Body,
  url: URL,
  agents: Agents,
  { isUsedOnce }: Connections,
): ClientRequest {
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
    headers: { ...more, "accept-encoding": ACCEPTED_CODING, ...headers, ...(isUsedOnce && { connection: "close" }) },
    maxHeaderSize: HEAD_BYTES,
  });
}

function lengthOf(body: Body): number {
  if (body === undefined) return 0;
  if (body instanceof Blob) return body.size;
  return Buffer.byteLength(body);
}

/** Watches whether the connection for a request is made. Nothing of the request is sent before that. */
function watchMaking(outgoing: ClientRequest, { protocol }: URL): { is: boolean } {
  const made = { is: false };
  outgoing.once("socket", (socket) => {
    socket.once(protocol === "https:" ? "secureConnect" : "connect", () => made.is = true);
  });
  return made;
}

/**
 * Sends the body, and calls `onBegin` just before. If `isLate`, the body is sent a moment after its head: within the moment it turns
 * out whether a kept connection is dead.
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

/** Writes no faster than the server reads. */
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

/** Writes a form without copying its files. */
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

/** Converts line breaks to those of the format. */
function lines(text: string): string {
  return text.replace(/\r\n|\r|\n/g, "\r\n");
}
