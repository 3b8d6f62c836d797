/** Serves on Node: requests and responses of the web standard, made of those of `node:http`. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Peer, ServeOptions, Serving } from "./platform.ts";

/** Beyond the gateway's own limit, so that it is the gateway that refuses a longer one. */
const HEADER_BYTES = 65_536;
/** How long a request's head may take, in milliseconds; the gateway limits how long bodies take. */
const HEAD_MS = 60_000;
/** How long an idle connection is kept, in milliseconds: longer than most proxies keep theirs. */
const KEEP_ALIVE_MS = 75_000;

export async function serve({ hostname, port, handler, onListen, onError, say }: ServeOptions): Promise<Serving> {
  let isStopped = false;
  const server = createServer({
    maxHeaderSize: HEADER_BYTES,
    headersTimeout: HEAD_MS,
    requestTimeout: 0,
    keepAliveTimeout: KEEP_ALIVE_MS,
    // Health checks that send none are served.
    requireHostHeader: false,
  });
  server.on("request", async (incoming: IncomingMessage, outgoing: ServerResponse) => {
    // What ends here has nobody else to end it: a connection that broke, or a body that did.
    await answer(incoming, outgoing, handler, onError).catch(() => outgoing.destroy());
    if (isStopped) server.closeIdleConnections();
  });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once("error", reject);
  server.listen(port, hostname, resolve);
  await promise;
  server.on("error", (error) => say(`Cannot take connections: ${error.message}`));
  const { address, port: taken } = server.address() as AddressInfo;
  onListen({ hostname: address, port: taken });
  return {
    shutdown() {
      isStopped = true;
      const { promise, resolve } = Promise.withResolvers<void>();
      server.close(() => resolve());
      server.closeIdleConnections();
      return promise;
    },
  };
}

async function answer(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  handler: ServeOptions["handler"],
  onError: ServeOptions["onError"],
): Promise<void> {
  const left = new AbortController();
  outgoing.once("close", () => outgoing.writableFinished || left.abort());
  let response: Response;
  try {
    response = await handler(toRequest(incoming, left.signal), { remoteAddr: peerOf(incoming) });
  } catch (thrown) {
    response = onError(thrown);
  }
  await send(response, incoming, outgoing, left.signal);
}

function peerOf({ socket }: IncomingMessage): Peer {
  return { transport: "tcp", hostname: socket.remoteAddress, port: socket.remotePort };
}

/** Stands for an address that is none. No host goes with it, which the gateway refuses. */
const NO_HOST = "http://host.invalid";

/** As Deno has it: what the client asked for, whole, or at the host that it named, or at the address that it reached. */
function urlOf({ url: target = "/", socket }: IncomingMessage, host: string | null): URL | null {
  if (/^https?:/i.test(target)) return URL.parse(target);
  const { localAddress = "", localPort } = socket;
  const address = localAddress.includes(":") ? `[${localAddress}]` : localAddress;
  return URL.parse(`http://${host ?? `${address}:${localPort}`}${target}`);
}

function toRequest(incoming: IncomingMessage, signal: AbortSignal): Request {
  const { method = "GET", rawHeaders } = incoming;
  const headers = new Headers();
  for (let at = 0; at < rawHeaders.length; at += 2) headers.append(rawHeaders[at]!, rawHeaders[at + 1]!);
  const hasBody = "content-length" in incoming.headers || "transfer-encoding" in incoming.headers;
  const body = hasBody && method !== "GET" && method !== "HEAD" ? bodyOf(incoming) : undefined;
  const url = urlOf(incoming, headers.get("host"));
  const isUsable = url !== null && !url.username && !url.password;
  if (!isUsable) headers.set("host", "");
  const init = { method, headers, body, duplex: "half", signal };
  const request = new Request(isUsable ? url : NO_HOST, init as RequestInit);
  // The request's own signal is forgotten together with the request, also by those who hold the signal alone.
  Object.defineProperty(request, "signal", { value: signal });
  return request;
}

/** What the client sends, read no faster than it is asked for. */
function bodyOf(incoming: IncomingMessage): ReadableStream<Uint8Array> {
  let isOver = false;
  return new ReadableStream<Uint8Array>({
    start(controller) {
      const end = (finish: () => void) => {
        if (!isOver) finish();
        isOver = true;
      };
      incoming.on("data", (bytes: Uint8Array) => {
        if (isOver) return;
        controller.enqueue(bytes);
        incoming.pause();
      });
      incoming.once("end", () => end(() => controller.close()));
      const failed = () => end(() => controller.error(new Error("The connection was lost")));
      incoming.once("error", failed).once("close", failed);
      incoming.pause();
    },
    pull: () => void incoming.resume(),
    cancel() {
      isOver = true;
      incoming.pause();
    },
  }, { highWaterMark: 0 });
}

async function send(
  response: Response,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  left: AbortSignal,
): Promise<void> {
  outgoing.statusCode = response.status;
  for (const [name, value] of response.headers) outgoing.appendHeader(name, value);
  // The rest of a body that nobody reads is not waited for.
  if (!incoming.complete) outgoing.setHeader("connection", "close");
  const { body } = response;
  if (!body || incoming.method === "HEAD") {
    outgoing.end();
    await body?.cancel();
    return;
  }
  outgoing.flushHeaders();
  const reader = body.getReader();
  const stop = () => reader.cancel(left.reason).catch(() => {}); // how the body fails is its owner's to report
  if (left.aborted) await stop();
  left.addEventListener("abort", stop, { once: true });
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    if (!outgoing.write(read.value)) await drained(outgoing);
  }
  outgoing.end();
}

/** Resolves once more may be written, or nothing may be any more. */
function drained(outgoing: ServerResponse): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const over = () => {
    outgoing.off("drain", over).off("close", over);
    resolve();
  };
  outgoing.on("drain", over).on("close", over);
  if (outgoing.destroyed) over();
  return promise;
}
