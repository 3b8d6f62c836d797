/** The tools of remote servers, as the conversation or the servers themselves list them. */
import type { HostedPart, Message } from "../canonical/generate.ts";
import type { RemoteTool, RemoteWork } from "../canonical/hosted.ts";
import type { RequestContext } from "../context/request_context.ts";
import type { CallFacts } from "../hosted/runner.ts";
import { stepsIn } from "../transforms/approvals.ts";
import { runTraced } from "./traced.ts";

export interface Lists {
  /** By server. */
  known: Map<string, readonly RemoteTool[]>;
  /** The servers that are to be asked for their tools. */
  unknown: readonly RemoteWork[];
  /** The lists that the conversation has, believed or not: the client does not get the same one again. */
  brought: ReadonlySet<string>;
}

/**
 * The lists in the conversation. What a client says of a server of the configuration is not believed: a tool that it makes up
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

/** Asks servers for their tools, which are known then. Returns what is new to the client. */
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
