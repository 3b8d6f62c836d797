/** Requests of `node:http` as those of the web standard. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Peer } from "./platform.ts";

export function peerOf({ socket }: IncomingMessage): Peer {
  return { transport: "tcp", hostname: socket.remoteAddress, port: socket.remotePort };
}

/** The URL if the client named no valid host. Its host is invalid, so that the gateway refuses it. */
const NO_HOST = "http://host.invalid";
/** A host with one of them would change the path, or hide another host. */
const NOT_IN_HOST = /[/?#@\\\s]/;

/** The URL as Deno builds it: the client's whole URL, or its path at the host that it named or at the address that it reached. */
function urlOf({ url: target = "/", socket }: IncomingMessage, host: string | null): URL | null {
  if (/^https?:/i.test(target)) return URL.parse(target);
  const path = target === "*" ? "/" : target;
  if (!path.startsWith("/") || (host && NOT_IN_HOST.test(host))) return null;
  const { localAddress = "", localPort } = socket;
  const address = localAddress.includes(":") ? `[${localAddress}]` : localAddress;
  return URL.parse(`http://${host || `${address}:${localPort}`}${path}`);
}

/** The class refuses this method, but the gateway answers it like any other that it does not serve. */
const REFUSED = "TRACE";

/** `outgoing`: absent if the client cannot wait for permission to send its body. */
export function toRequest(incoming: IncomingMessage, signal: AbortSignal, outgoing?: ServerResponse): Request {
  const { method = "GET", rawHeaders } = incoming;
  const headers = new Headers();
  for (let at = 0; at < rawHeaders.length; at += 2) headers.append(rawHeaders[at]!, rawHeaders[at + 1]!);
  const hasBody = "content-length" in incoming.headers || "transfer-encoding" in incoming.headers;
  const body = hasBody && method !== "GET" && method !== "HEAD" ? bodyOf(incoming, outgoing) : undefined;
  const url = urlOf(incoming, headers.get("host"));
  const isUsable = url !== null && !url.username && !url.password;
  if (!isUsable) headers.set("host", "");
  const init = { method: method === REFUSED ? "OPTIONS" : method, headers, body, duplex: "half", signal };
  const request = new Request(isUsable ? url : NO_HOST, init as RequestInit);
  if (method === REFUSED) Object.defineProperty(request, "method", { value: method });
  // The request's own signal would be garbage-collected with the request, even for holders of the signal alone.
  Object.defineProperty(request, "signal", { value: signal });
  return request;
}

/** The client's body, which is read no faster than it is requested. */
function bodyOf(incoming: IncomingMessage, outgoing?: ServerResponse): ReadableStream<Uint8Array> {
  let isOver = false;
  let isWaiting = /^100-continue$/i.test(incoming.headers.expect ?? "");
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
    pull() {
      // A client that is refused before then sends no body at all.
      if (isWaiting) outgoing?.writeContinue();
      isWaiting = false;
      incoming.resume();
    },
    cancel() {
      isOver = true;
      incoming.pause();
    },
  }, { highWaterMark: 0 });
}

/** Whether the whole request has come, read or not. */
export function hasArrived({ complete, readableLength, headers }: IncomingMessage): boolean {
  return complete || readableLength >= Number(headers["content-length"] ?? Infinity);
}
