import { responseNotFound } from "./get_response.ts";
import { type Incoming, openExchange } from "./incoming.ts";

/** Removes a stored answer, and ends it where it is made still; what was built on it goes on without. */
export async function deleteResponse(incoming: Incoming<"deleteResponse">): Promise<Response> {
  const { protocol, input, context: { gateway, caller } } = incoming;
  const hasRun = await gateway.runs.forget(input.id, caller.owner);
  const wasStored = await gateway.continuity.forget(input.id, caller.owner);
  if (!hasRun && !wasStored) throw responseNotFound(input.id);
  return protocol.serialize(input, openExchange(incoming, input));
}
