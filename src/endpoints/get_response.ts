import type { StoredAnswer } from "../canonical/stored.ts";
import type { RequestContext } from "../context/request_context.ts";
import { GatewayError } from "../errors.ts";
import { follow } from "../inference/background.ts";
import { type Incoming, openExchange } from "../inference/incoming.ts";

/** An answer that was stored, or is made in the background; or the events of one. */
export async function getResponse(incoming: Incoming<"getResponse">): Promise<Response> {
  const { protocol, input, context } = incoming;
  if (input.events) {
    const events = await context.gateway.runs.events(input.id, context.caller.owner);
    if (events) return follow(events, input.events.from, context);
    await findResponse(input.id, context);
    const message = `The events of response '${input.id}' are not kept: ask for it without "stream"`;
    throw new GatewayError("not_found", message, { param: "stream" });
  }
  return protocol.serialize(await findResponse(input.id, context), openExchange(incoming, input));
}

/** Throws `not_found` where the caller has no stored answer of this id. */
export async function findResponse(id: string, { gateway, caller }: RequestContext): Promise<StoredAnswer> {
  const stored = await gateway.continuity.find(id, caller.owner) ?? await gateway.runs.find(id, caller.owner);
  if (!stored) throw responseNotFound(id);
  return stored;
}

export function responseNotFound(id: string): GatewayError {
  return new GatewayError("not_found", `Response with id '${id}' not found`, { param: "id" });
}
