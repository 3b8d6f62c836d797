/** Hosted calls on their way out, past the stages of plugins. */
import type { HostedCall, HostedResult, HostedWork } from "../canonical/hosted.ts";
import type { JsonValue } from "../canonical/json.ts";
import type { RequestContext } from "../context/request_context.ts";
import type { Destination } from "../contract/stage.ts";
import { passOutgoing } from "../transforms/pass_stages.ts";

/** Runs a hosted call as the stages let it out. A call that they refuse fails like one whose service fails. */
export async function runOutgoing(
  call: HostedCall,
  work: HostedWork,
  { gateway: { stages }, caller, signal, requestLog }: RequestContext,
  run: (call: HostedCall) => Promise<HostedResult>,
): Promise<HostedResult> {
  let outgoing: JsonValue;
  try {
    const { kind, ...content } = call;
    outgoing = await passOutgoing(
      stages,
      content as unknown as JsonValue,
      { caller, signal },
      destinationOf(call, work),
    );
    outgoing = { kind, ...outgoing as object } as JsonValue;
  } catch (thrown) {
    signal.throwIfAborted();
    requestLog.explain(thrown);
    return { kind: "error", code: "unavailable" };
  }
  return await run(outgoing as unknown as HostedCall);
}

function destinationOf(call: HostedCall, work: HostedWork): Destination {
  if (work.kind === "mcp") return { kind: "mcp", name: work.server, isConfigured: work.url === undefined };
  const kind = call.kind === "web-search" ? "search" : "page";
  return { kind, name: call.kind, isConfigured: kind === "search" };
}
