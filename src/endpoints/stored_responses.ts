import type { StoredAnswer } from "../canonical/stored.ts";
import type { RequestContext } from "../context/request_context.ts";
import { GatewayError } from "../errors.ts";
import { follow } from "../inference/background.ts";
import { type Incoming, openExchange } from "../inference/incoming.ts";

/** Returns an answer that is stored or made in the background, or its events. */
export async function getResponse(incoming: Incoming<"getResponse">): Promise<Response> {
  const { protocol, input, context } = incoming;
  if (input.events) {
    const events = await context.gateway.state.runs.events(input.id, context.caller.owner);
    if (events) return follow(events, input.events.from, context);
    await findResponse(input.id, context);
    const message = `The events of response '${input.id}' are not kept: ask for it without "stream"`;
    throw new GatewayError("not_found", message, { param: "stream" });
  }
  return protocol.serialize(await findResponse(input.id, context), openExchange(incoming, input));
}

/** Throws `not_found` if the caller has no stored answer with this id. */
export async function findResponse(id: string, { gateway, caller }: RequestContext): Promise<StoredAnswer> {
  const stored = await gateway.state.continuity.find(id, caller.owner) ??
    await gateway.state.runs.find(id, caller.owner);
  if (!stored) throw responseNotFound(id);
  return stored;
}

export function responseNotFound(id: string): GatewayError {
  return new GatewayError("not_found", `Response with id '${id}' not found`, { param: "id" });
}

/** Ends an answer that is made in the background. An answer that has ended is left unchanged. */
export async function cancelResponse(incoming: Incoming<"cancelResponse">): Promise<Response> {
  const { protocol, input, context } = incoming;
  const { gateway: { state: { runs } }, caller: { owner } } = context;
  const found = await findResponse(input.id, context);
  const run = found.run ?? (await runs.find(input.id, owner))?.run;
  if (!run) throw new GatewayError("invalid_request", "Cannot cancel a response that is not running in the background");
  const isOver = !found.run || run.status === "failed" || run.status === "cancelled";
  if (!isOver) await runs.cancel(input.id, owner);
  return protocol.serialize(isOver ? found : await findResponse(input.id, context), openExchange(incoming, input));
}

/** Removes a stored answer, and ends it if it is still being made. Answers that continue it are kept. */
export async function deleteResponse(incoming: Incoming<"deleteResponse">): Promise<Response> {
  const { protocol, input, context: { gateway: { state: { runs, continuity } }, caller: { owner } } } = incoming;
  const { id } = input;
  const wasThere = await continuity.forget(id, owner);
  const running = wasThere ? undefined : (await runs.find(id, owner))?.run;
  // Another gateway may be making it.
  if (running?.status === "in_progress") await runs.cancel(id, owner);
  const hasRun = await runs.forget(id, owner);
  // It may have ended meanwhile.
  const wasStored = wasThere || await continuity.forget(id, owner);
  if (!hasRun && !wasStored) throw responseNotFound(id);
  return protocol.serialize(input, openExchange(incoming, input));
}
