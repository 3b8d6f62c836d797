/** A connection that stays: requests and answers are messages in it, and what is not stored is remembered as long as it lasts. */
import { GatewayError } from "../errors.ts";
import { type RequestContext, shuttingDown } from "../context/request_context.ts";
import { Connection } from "./connection.ts";
import { generate } from "./generate.ts";
import type { Incoming } from "./incoming.ts";

/** Throws `upgrade_required` where the platform has no WebSockets. */
// deno-lint-ignore require-await -- what it throws is a rejection, as with every operation
export async function connect({ protocol, wire, lane, context }: Incoming<"connect">): Promise<Response> {
  const { gateway, recorder } = context;
  const { sockets, limits, draining } = gateway;
  if (draining.aborted) throw shuttingDown();
  sockets.checkRoom(limits.sockets);
  const upgraded = upgrade(context);
  if (!upgraded || !protocol.socket) {
    throw new GatewayError("upgrade_required", "The gateway does not serve WebSockets here: use HTTP");
  }
  const connection = new Connection(upgraded.socket, { speech: protocol.socket, wire, lane, context, generate });
  sockets.add(connection);
  const onLinger = () => sockets.linger(connection);
  const onClosed = () => sockets.delete(connection);
  Object.assign(connection, { onLinger, onClosed } satisfies Partial<Connection>);
  recorder.close(upgraded.response.status);
  return upgraded.response;
}

/** Nothing where the platform has no WebSockets, or the request came over no connection of its own. */
function upgrade({ gateway, request }: RequestContext) {
  try {
    return gateway.upgrade?.(request);
  } catch {
    return undefined;
  }
}
