import { GatewayError } from "../errors.ts";
import { findResponse } from "./get_response.ts";
import type { Incoming } from "./incoming.ts";

/** Nothing is made in the background, so there is nothing to cancel. */
export async function cancelResponse({ input, context }: Incoming<"cancelResponse">): Promise<Response> {
  await findResponse(input.id, context);
  throw new GatewayError("invalid_request", "Cannot cancel a response that was not made in the background");
}
