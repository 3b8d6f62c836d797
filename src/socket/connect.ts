/**
 * WebSockets: requests and answers are messages, and answers that are not stored are kept as long as the connection.
 */
import { GatewayError } from "../errors.ts";
import { clientClosed, type RequestContext, shuttingDown } from "../context/request_context.ts";
import type { Guards } from "../context/guards.ts";
import type { Incoming } from "../inference/incoming.ts";
import { infer } from "../inference/stages.ts";

/** Opens a WebSocket. Throws `upgrade_required` if the platform has none. */
export async function connect({ protocol, wire, lane, context }: Incoming<"connect">): Promise<Response> {
  const { gateway: { guards, sockets: part, process: { draining } }, requestLog, caller } = context;
  // These modules are loaded with the first socket.
  const [{ ResponsesSocket }, sockets] = await Promise.all([
    import("./responses_socket.ts"),
    part.load(),
  ]);
  const capacity = { total: mostSockets(guards), isShared: guards.hasSeveralCallers };
  await sockets.relieved(caller.owner, capacity);
  if (draining.aborted) throw shuttingDown();
  if (context.hasLeft()) throw clientClosed();
  sockets.checkRoom(caller.owner, capacity);
  const upgraded = upgrade(context);
  if (!upgraded || !protocol.socket) {
    throw new GatewayError("upgrade_required", "The gateway does not serve WebSockets here: use HTTP");
  }
  const socket = new ResponsesSocket(upgraded, {
    speech: protocol.socket,
    wire,
    lane,
    context,
    sockets,
    generate: infer,
  });
  sockets.add(socket);
  requestLog.close(upgraded.response.status);
  return upgraded.response;
}

/** The default number of sockets is between these. */
const [MOST_SOCKETS, LEAST_SOCKETS] = [500, 8];

/** How many sockets may be open: as many as messages of the largest size fit into half of the memory. */
function mostSockets({ limits, loadShedder }: Guards): number {
  const fitting = Math.floor(loadShedder.limitBytes(limits) / 2 / limits.bodyBytes);
  return limits.sockets ?? Math.min(MOST_SOCKETS, Math.max(LEAST_SOCKETS, fitting));
}

/** `undefined` if the platform has no WebSockets, or the request did not come over a connection. */
function upgrade({ gateway, request }: RequestContext) {
  try {
    return gateway.sockets.upgrade?.(request);
  } catch {
    return undefined;
  }
}
