/** Serves on Node: answers requests of `node:http` with responses of the web standard. */
import { createServer, type IncomingMessage, type ServerOptions, ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { expectUpgrade, type Opening } from "./node_socket.ts";
import { hasArrived, peerOf, toRequest } from "./node_request.ts";
import { inTurn, isAnswering } from "./node_turns.ts";
import { endOfUnused } from "./node_unused.ts";
import type { ServeOptions, Serving } from "./platform.ts";

/** Higher than the gateway's own limit, so that the gateway itself refuses a longer head. */
const HEADER_BYTES = 65_536;
/** How long a request's head may take, in milliseconds. The gateway limits the time for bodies. */
const HEAD_MS = 60_000;
/** How long an idle connection is kept, in milliseconds: longer than most proxies keep theirs. */
const KEEP_ALIVE_MS = 75_000;

export async function serve(options: ServeOptions): Promise<Serving> {
  const { hostname, port, shared, handler, onListen, onError, say } = options;
  // A shared port could also be shared with a foreign process, so the first worker makes sure that it is free.
  if (shared?.isFirst) await claim(hostname, port);
  let isStopped = false;
  const server = createServer({
    maxHeaderSize: HEADER_BYTES,
    headersTimeout: HEAD_MS,
    requestTimeout: 0,
    keepAliveTimeout: KEEP_ALIVE_MS,
    // Health checks without a host header are served.
    requireHostHeader: false,
    // The other upgrades that clients offer, such as HTTP/2, are not taken up: the request is answered as it is.
    shouldUpgradeCallback: asksForWebSocket,
  } as ServerOptions);
  const endUnused = endOfUnused(server);
  const take = (incoming: IncomingMessage, outgoing: ServerResponse) =>
    inTurn(incoming.socket, outgoing, async () => {
      // A failure here is a broken connection or a broken body, and nothing else would close the connection.
      await answer(incoming, outgoing, handler, onError).catch(() => outgoing.destroy());
      if (isStopped) server.closeIdleConnections();
    });
  server.on("request", take);
  // Clients that wait for permission to send their bodies get it once the body is read.
  server.on("checkContinue", take);
  server.on("upgrade", async (incoming: IncomingMessage, socket: Socket, head: Uint8Array) => {
    socket.on("error", () => {}); // the connection closes then
    // Node gives the connection away at once, so an answer that is on its way would run into the WebSocket.
    if (isAnswering(socket)) return socket.destroy();
    await upgrade({ incoming, socket, head }, handler, onError).catch(() => socket.destroy());
  });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once("error", reject);
  server.listen({ port, host: hostname, reusePort: shared !== undefined }, resolve);
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
      endUnused();
      return promise;
    },
  };
}

/** Throws if another process has the port. */
async function claim(host: string, port: number): Promise<void> {
  const server = createServer();
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once("error", reject).listen({ port, host }, resolve);
  await promise;
  await new Promise((resolve) => server.close(resolve));
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
    response = await handler(toRequest(incoming, left.signal, outgoing), { remoteAddr: peerOf(incoming) });
  } catch (thrown) {
    response = onError(thrown);
  }
  await send(response, incoming, outgoing, left.signal);
}

function asksForWebSocket({ headers }: IncomingMessage): boolean {
  return headers.upgrade?.toLowerCase() === "websocket";
}

/** Answers a request for a WebSocket. An answer other than the WebSocket ends the connection. */
async function upgrade(
  { incoming, socket, head }: Opening & { socket: Socket },
  handler: ServeOptions["handler"],
  onError: ServeOptions["onError"],
): Promise<void> {
  const left = new AbortController();
  socket.once("close", () => left.abort());
  const request = toRequest(incoming, left.signal);
  let response: Response;
  try {
    await expectUpgrade(request, { incoming, socket, head });
    response = await handler(request, { remoteAddr: peerOf(incoming) });
  } catch (thrown) {
    response = onError(thrown);
  }
  if (response.status === 101) return;
  const outgoing = new ServerResponse(incoming);
  outgoing.assignSocket(socket);
  outgoing.shouldKeepAlive = false;
  outgoing.once("finish", () => socket.destroySoon()); // the client may never end its side
  await send(response, incoming, outgoing, left.signal);
}

async function send(
  response: Response,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  left: AbortSignal,
): Promise<void> {
  // The rest of an unread body is not waited for.
  if (!hasArrived(incoming)) outgoing.shouldKeepAlive = false;
  const headers: string[] = [];
  for (const [name, value] of response.headers) headers.push(name, value);
  outgoing.writeHead(response.status, headers);
  const { body } = response;
  if (!body || incoming.method === "HEAD") {
    outgoing.end();
    await body?.cancel();
    return;
  }
  outgoing.flushHeaders();
  const reader = body.getReader();
  const stop = () => reader.cancel(left.reason).catch(() => {}); // the body's owner reports its failure
  if (left.aborted) await stop();
  left.addEventListener("abort", stop, { once: true });
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    if (!outgoing.write(read.value)) await drained(outgoing);
  }
  outgoing.end();
}

/** Resolves once more can be written, or the connection is closed. */
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
