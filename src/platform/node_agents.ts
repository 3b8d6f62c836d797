/** The connections of `node:http` and `node:https`: how long they are kept, and how they are paused. */
import { Agent, type ClientRequest, type IncomingMessage } from "node:http";
import { connect, type LookupFunction, type NetConnectOpts, type Socket } from "node:net";
import { Agent as SecureAgent } from "node:https";
import { connect as connectSecurely, type ConnectionOptions } from "node:tls";
import { guardAgent, guardSocket, type MayReach } from "./guarded_agent.ts";
import type { Valve } from "./node_stream.ts";

/** An idle connection is closed after this many milliseconds. */
const IDLE_MS = 90_000;
/** How much of an answer is buffered below the reader, in bytes. */
const BUFFER_BYTES = 16 * 1024;
/** How long one address of a host is tried before the next one, in milliseconds. */
const ADDRESS_MS = 2_500;

const OPTIONS = {
  keepAlive: true,
  highWaterMark: BUFFER_BYTES,
  autoSelectFamilyAttemptTimeout: ADDRESS_MS,
};

export type Agents = Readonly<Record<"http:" | "https:", Agent>>;

/** The agents of one transport. Names are looked up by `lookup`, or by the system. Only permitted addresses are connected to. */
export function nodeAgents(lookup: LookupFunction | undefined, mayReach: MayReach): Agents {
  const options = lookup ? { ...OPTIONS, lookup } : OPTIONS;
  const secure = overOwnConnections(guardAgent(new SecureAgent(options), mayReach), mayReach);
  return {
    "http:": withoutRepeats(closingIdle(hearingErrors(guardAgent(new Agent(options), mayReach)))),
    "https:": withoutRepeats(closingIdle(hearingErrors(secure))),
  };
}

/** Handles the errors of every connection that the agent makes. */
function hearingErrors<A extends Agent>(agent: A): A {
  const { createConnection } = agent;
  agent.createConnection = (...args) => hearErrors(createConnection.apply(agent, args) as Socket);
  return agent;
}

/** In Deno (2.9.6) no other listener is there for a moment after each answer, and an unhandled error ends the process. */
function hearErrors(socket: Socket): Socket {
  return socket.on("error", () => {});
}

/** The requests that are sent on a kept connection. */
export const onKept = new WeakSet<ClientRequest>();

/**
 * Keeps Deno (2.9.6) from sending a request again when a kept connection dies before the answer, or is given up. It does so unless
 * the request claims not to be on a kept connection.
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
 * Closes connections that are idle for too long, or that the server has said it will close. An agent's own time-out would also watch
 * connections in use, which costs more than everything else that this transport does for a request.
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

/** A connection with its internal handle. */
type Below = Socket & { _handle?: { readStart(): void; readStop(): void } | null };

/** The connections below those with TLS. */
const below = new WeakMap<object, Below>();

/**
 * Makes the connection below TLS itself. If a TLS connection is paused, Deno (2.9.6) reads on below it and keeps all data in memory.
 * A paused connection below could not be resumed, but its handle can be stopped and started.
 */
function overOwnConnections(agent: SecureAgent, mayReach: MayReach): SecureAgent {
  if (!("Deno" in globalThis)) return agent;
  // The agent's own method would need the permission to list the system's certificates.
  agent.createConnection = (options) => {
    const socket = hearErrors(guardSocket(connect(options as NetConnectOpts), mayReach));
    const secure = connectSecurely({ ...options, socket } as ConnectionOptions);
    below.set(secure, socket);
    return secure;
  };
  return agent;
}

/** The valve that pauses an answer down to its connection. */
export function valveOf(incoming: IncomingMessage): Valve {
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
