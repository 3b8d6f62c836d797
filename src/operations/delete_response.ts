import { responseNotFound } from "./get_response.ts";
import { type Incoming, openExchange } from "./incoming.ts";

/** Removes a stored answer; what was built on it goes on without. */
export async function deleteResponse(incoming: Incoming<"deleteResponse">): Promise<Response> {
  const { protocol, input, context: { gateway, caller } } = incoming;
  if (!await gateway.continuity.forget(input.id, caller.owner)) throw responseNotFound(input.id);
  return protocol.serialize(input, openExchange(incoming, input));
}
