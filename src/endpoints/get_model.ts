import { maskValue } from "../inference/mask_secrets.ts";
import { type Incoming, openExchange } from "../inference/incoming.ts";
import { findModel } from "../inference/resolve.ts";

/** One of the lane's models, by its name. */
export async function getModel(incoming: Incoming<"getModel">): Promise<Response> {
  const { protocol, input, lane, context } = incoming;
  const model = await findModel(input.model, lane, context);
  return protocol.serialize(maskValue(model, context.hide), openExchange(incoming, input));
}
