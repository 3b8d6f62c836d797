/** Restricts connections to permitted addresses. */
import type { Agent } from "node:http";
import { isIP, type Socket } from "node:net";

/** Whether a connection may go to an address. */
export type MayReach = (address: string) => boolean;

/** Guards every connection that the agent makes. */
export function guardAgent<A extends Agent>(agent: A, mayReach: MayReach): A {
  const { createConnection } = agent;
  agent.createConnection = (...args) => guardSocket(createConnection.apply(agent, args) as Socket, mayReach);
  return agent;
}

/**
 * Ends the connection before it is made if the host's name resolves to an address that must not be reached. A host that is an
 * address itself is not looked up: `mayReachHost` checks it.
 */
export function guardSocket(socket: Socket, mayReach: MayReach): Socket {
  return socket.on("lookup", (error, address) => {
    if (!error && !mayReach(address)) socket.destroy(new Error("The address may not be reached"));
  });
}

/** Whether a connection to a URL's host is allowed, as far as its name shows. */
export function mayReachHost(hostname: string, mayReach: MayReach): boolean {
  const address = hostname.startsWith("[") ? hostname.slice(1, -1) : hostname;
  return isIP(address) === 0 || mayReach(address);
}
