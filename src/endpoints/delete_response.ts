import { responseNotFound } from "./get_response.ts";
import { type Incoming, openExchange } from "../inference/incoming.ts";

/** Removes a stored answer, and ends it where it is made still; what was built on it goes on without. */
export async function deleteResponse(incoming: Incoming<"deleteResponse">): Promise<Response> {
  const { protocol, input, context: { gateway: { runs, continuity }, caller: { owner } } } = incoming;
  const { id } = input;
  const wasThere = await continuity.forget(id, owner);
  const running = wasThere ? undefined : (await runs.find(id, owner))?.run;
  // Another gateway may work on it.
  if (running?.status === "in_progress") await runs.cancel(id, owner);
  const hasRun = await runs.forget(id, owner);
  // It may have come to its end meanwhile.
  const wasStored = wasThere || await continuity.forget(id, owner);
  if (!hasRun && !wasStored) throw responseNotFound(id);
  return protocol.serialize(input, openExchange(incoming, input));
}
