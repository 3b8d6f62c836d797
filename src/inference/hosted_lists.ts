/** The tools of remote servers, as the conversation or the servers themselves list them. */
import type { HostedPart, Message } from "../canonical/generate.ts";
import type { RemoteTool, RemoteWork } from "../canonical/hosted.ts";
import type { RequestContext } from "../context/request_context.ts";
import type { CallFacts } from "../hosted/runner.ts";
import { stepsIn } from "../transforms/approvals.ts";
import { runTraced } from "./tracing.ts";

export interface Lists {
  /** The tools of each server whose tools are known. */
  known: Map<string, readonly RemoteTool[]>;
  /** The servers whose tools have to be asked for. */
  unknown: readonly RemoteWork[];
  /** The lists in the conversation, trusted or not. The client gets none of them a second time. */
  brought: ReadonlySet<string>;
}

/**
 * The lists in the conversation. A client's list for a configured server is not trusted: a tool that the client made up
 * would be called with the gateway's secret.
 */
export function listsIn(messages: readonly Message[], servers: readonly RemoteWork[]): Lists {
  const known = new Map<string, readonly RemoteTool[]>();
  const brought = new Set<string>();
  const configured = new Set(servers.filter(({ url }) => url === undefined).map(({ server }) => server));
  for (const step of stepsIn(messages)) {
    const { call, result, extra } = step;
    if (call.kind !== "mcp-list" || result?.kind !== "tools") continue;
    brought.add(stepKey(step));
    // Parts that the client sent have `extra` of its wire. Parts that the gateway stored have none.
    if (extra === undefined || !configured.has(call.server)) known.set(call.server, result.tools);
  }
  return { known, unknown: servers.filter(({ server }) => !known.has(server)), brought };
}

/** Asks the other servers for their tools, and adds these to `known`. Returns the lists that are new to the client. */
export async function listTools(
  { known, unknown, brought }: Lists,
  facts: CallFacts,
  context: RequestContext,
): Promise<HostedPart[]> {
  const list = (work: RemoteWork) => runTraced({ kind: "mcp-list", server: work.server }, work, facts, context);
  const results = await Promise.all(unknown.map(list));
  const parts = unknown.map(({ server }, index): HostedPart => {
    const result = results[index];
    if (result?.kind === "tools") known.set(server, result.tools);
    else context.note(`could not list the tools of ${server}`);
    return { type: "hosted", id: context.gateway.newId(), call: { kind: "mcp-list", server }, result };
  });
  return parts.filter((part) => !brought.has(stepKey(part)));
}

function stepKey({ call, result }: HostedPart): string {
  return JSON.stringify([call, result]);
}
