/** Running requests, as the console shows them. */
import type { RunningFacts } from "../observe/feed.ts";
import type { RequestContext } from "./request_context.ts";

/**
 * Lists the request as running. This is separate from the dispatcher, because the closure lives as long as the answer, and the
 * dispatcher's scope holds the whole conversation.
 */
export function listAsRunning(context: RequestContext): void {
  context.gateway.observe.feed?.begin(context.id, () => factsOf(context));
}

function factsOf({ request: { headers }, requestLog }: RequestContext): RunningFacts {
  const { entry, attempt, elapsedMs } = requestLog;
  const client = headers.get("user-agent")?.slice(0, 100);
  return { entry, target: attempt?.target, elapsedMs: elapsedMs(), client };
}
