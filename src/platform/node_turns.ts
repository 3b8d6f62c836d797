/** Requests that come before the one before them is answered. Each waits for its turn, as on Deno. */
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** How many requests of a connection may wait. While that many do, nothing is read from it. */
const MOST_WAITING = 100;

/** The requests that wait for the one that is being answered, by connection. */
const lines = new WeakMap<Socket, (() => unknown)[]>();

/** Calls `answer` once the earlier requests on the connection are answered. Behind the connection's last answer it is never called. */
export function inTurn(socket: Socket, outgoing: ServerResponse, answer: () => void): void {
  const begin = () => {
    if (!socket.writable) return lines.delete(socket);
    // Node has given the connection to the next answer by then, or has ended it.
    outgoing.once("close", () => passOn(socket));
    answer();
  };
  const waiting = lines.get(socket);
  if (!waiting) {
    lines.set(socket, []);
    begin();
  } else if (waiting.push(begin) === MOST_WAITING) {
    // Node resumes at the end of each request that it has read already.
    process.nextTick(() => waiting.length >= MOST_WAITING && socket.pause());
  }
}

/** Whether a request on the connection is being answered. */
export function isAnswering(socket: Socket): boolean {
  return lines.has(socket);
}

function passOn(socket: Socket): void {
  const waiting = lines.get(socket);
  if (waiting?.length === MOST_WAITING) socket.resume();
  const next = waiting?.shift();
  if (next) next();
  else lines.delete(socket);
}
