import { GatewayError } from "../errors.ts";
import { findResponse } from "./get_response.ts";
import { type Incoming, openExchange } from "../inference/incoming.ts";

/** Ends an answer that is made in the background. Of one that is over, it changes nothing. */
export async function cancelResponse(incoming: Incoming<"cancelResponse">): Promise<Response> {
  const { protocol, input, context } = incoming;
  const { gateway: { runs }, caller: { owner } } = context;
  const found = await findResponse(input.id, context);
  const run = found.run ?? (await runs.find(input.id, owner))?.run;
  if (!run) throw new GatewayError("invalid_request", "Cannot cancel a response that is not running in the background");
  const isOver = !found.run || run.status === "failed" || run.status === "cancelled";
  if (!isOver) await runs.cancel(input.id, owner);
  return protocol.serialize(isOver ? found : await findResponse(input.id, context), openExchange(incoming, input));
}
