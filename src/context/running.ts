/** Requests as the console shows them while they run. */
import type { RunningFacts } from "../observe/feed.ts";
import type { RequestContext } from "./request_context.ts";

/**
 * From now on the request is among those that run. Apart from who dispatches it, because this lives as long as the answer,
 * and who dispatches holds the whole conversation.
 */
export function listAsRunning(context: RequestContext): void {
  context.gateway.feed?.begin(context.id, () => factsOf(context));
}

function factsOf({ request: { headers }, recorder }: RequestContext): RunningFacts {
  const { entry, attempt, elapsedMs } = recorder;
  const client = headers.get("user-agent")?.slice(0, 100);
  return { entry, target: attempt?.target, elapsedMs: elapsedMs(), client };
}
