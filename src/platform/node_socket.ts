/** WebSockets on Node, where `node:http` leaves them to a library. */
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { Upgraded } from "./platform.ts";

/** How often a client is asked whether it is still there, in milliseconds. One that has not answered by then is disconnected. */
const PING_MS = 30_000;
/** The longest message, in bytes, as on Deno. */
const MOST_BYTES = 64 * 1024 * 1024;

/** The parts of the library `ws` that are used here. It has no types of its own. */
interface Ws {
  WebSocketServer: new (options: object) => {
    handleUpgrade(incoming: IncomingMessage, socket: Duplex, head: Uint8Array, done: (socket: WsSocket) => void): void;
  };
}

type WsSocket = WebSocket & {
  ping(): void;
  terminate(): void;
  emit(event: "open"): void;
  on(event: "message" | "pong" | "close", run: () => void): void;
};

/** A connection that asks for a WebSocket. */
export interface Opening {
  incoming: IncomingMessage;
  socket: Duplex;
  /** The bytes that came behind the request's head. */
  head: Uint8Array;
}

const openings = new WeakMap<Request, Opening>();
let ws: Ws | undefined;
/** The bytes of messages that have not come to their ends yet. */
let incompleteBytes = 0;

/** Lets `upgradeOnNode` take over the connection of the request. Without the library there are no WebSockets. */
export async function expectUpgrade(request: Request, opening: Opening): Promise<void> {
  ws ??= await import("ws").catch(() => undefined) as Ws | undefined;
  openings.set(request, opening);
}

/** The memory of incomplete messages, in bytes. */
export function incompleteMessageBytes(): number {
  return incompleteBytes;
}

export function upgradeOnNode(request: Request): Upgraded {
  const opening = openings.get(request);
  if (!ws || !opening) throw new TypeError("The request did not come over a connection that can be upgraded");
  openings.delete(request);
  const { incoming, socket, head } = opening;
  const server = new ws.WebSocketServer({ noServer: true, clientTracking: false, maxPayload: MOST_BYTES });
  let opened: WsSocket | undefined;
  server.handleUpgrade(incoming, socket, head, (made) => opened = made);
  if (!opened) throw new TypeError("The client's handshake is invalid");
  const made = opened;
  count(made, socket);
  keepAlive(made);
  // The library opens it at once, but the gateway listens later.
  setImmediate(() => made.emit("open"));
  return { socket: made, response: switched(), drop: () => made.terminate() };
}

/** A response with the status 101, which the constructor does not take. */
function switched(): Response {
  return Object.defineProperty(new Response(null), "status", { value: 101 });
}

function count(made: WsSocket, socket: Duplex): void {
  let bytes = 0;
  const reset = () => {
    incompleteBytes -= bytes;
    bytes = 0;
  };
  socket.on("data", (piece: Uint8Array) => {
    bytes += piece.length;
    incompleteBytes += piece.length;
  });
  made.on("message", reset);
  made.on("close", reset);
}

function keepAlive(made: WsSocket): void {
  let isThere = true;
  const timer = setInterval(() => {
    if (!isThere) return made.terminate();
    isThere = false;
    made.ping();
  }, PING_MS);
  timer.unref();
  made.on("pong", () => isThere = true);
  made.on("close", () => clearInterval(timer));
}
