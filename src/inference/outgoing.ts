/** Hosted calls on their way out, past the stages of plugins. */
import type { GenerateRequest } from "../canonical/generate.ts";
import type { HostedCall, HostedResult, HostedWork } from "../canonical/hosted.ts";
import type { RequestContext } from "../context/request_context.ts";
import type { Destination } from "../contract/stage.ts";
import { passOutgoing } from "../transforms/pass_stages.ts";

/**
 * Runs a hosted call as the stages let it out. A call that they refuse fails like one whose service fails. `within`: the
 * request that the model answered with the call.
 */
export async function runOutgoing(
  call: HostedCall,
  work: HostedWork,
  { gateway: { stages, hosted: { searchService } }, caller, signal, requestLog }: RequestContext,
  within: GenerateRequest | undefined,
  run: (call: HostedCall) => Promise<HostedResult>,
): Promise<HostedResult> {
  let outgoing: HostedCall;
  try {
    const { kind, ...content } = call;
    const to = destinationOf(call, work, searchService);
    const passed = await passOutgoing(stages, content, { caller, signal, within }, to);
    outgoing = { kind, ...passed as object } as HostedCall;
  } catch (thrown) {
    signal.throwIfAborted();
    requestLog.explain(thrown);
    return { kind: "error", code: "unavailable" };
  }
  return await run(outgoing);
}

function destinationOf(call: HostedCall, work: HostedWork, searchService: string | undefined): Destination {
  if (work.kind === "mcp") return { kind: "mcp", name: work.server, isConfigured: work.url === undefined };
  return call.kind === "web-search" && searchService !== undefined
    ? { kind: "search", name: searchService, isConfigured: true }
    : { kind: "page", name: call.kind, isConfigured: false };
}
