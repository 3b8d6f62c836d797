import { type Incoming, openExchange } from "../inference/incoming.ts";

/** The gateway is there. */
export function ping(incoming: Incoming<"ping">): Promise<Response> {
  return Promise.resolve(incoming.protocol.serialize({}, openExchange(incoming, incoming.input)));
}
