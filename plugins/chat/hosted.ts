/** Tools that the server is to run. This wire has no answer for one that failed: such a request is refused. */
import type { HostedTool } from "../../src/canonical/generate.ts";
import type { AskedBeside } from "../../src/canonical/hosted_tools.ts";
import { isJsonObject } from "../../src/canonical/json.ts";
import type { Exchange, WireRequest } from "../../src/contract/context.ts";
import { GatewayError } from "../../src/errors.ts";
import { WIRE } from "./wire.ts";

const SEARCH = "web_search_options";

/** A search of the web is asked for by a field of its own. */
export function toolsBeside({ body }: WireRequest): AskedBeside | undefined {
  if (!isJsonObject(body) || !isJsonObject(body[SEARCH])) return undefined;
  return { tools: [{ type: "hosted", name: SEARCH, extra: { wire: WIRE, fields: { [SEARCH]: body[SEARCH] } } }] };
}

export function failTools(tools: readonly HostedTool[], { input }: Exchange<"generate">): never {
  const [first] = tools;
  const isForced = input.toolChoice?.type === "tool";
  const at = input.tools?.findIndex((tool) => tool === first) ?? -1;
  const param = isForced ? "tool_choice" : at < 0 ? SEARCH : `tools[${at}]`;
  const needs = first?.name === SEARCH ? "searches the web" : `runs tool "${first?.name}"`;
  const message = `Cannot serve "${param}": no upstream of model "${input.model}" ${needs}`;
  throw new GatewayError("invalid_request", message, { param });
}
