/**
 * The answer of the vendor's server when a tool of its own could not run: the call, and a result with an error code, status 200.
 * Shapes: the vendor's SDK, and recorded answers of its server.
 */
import type { HostedTool } from "../../src/canonical/generate.ts";
import type { FailedTools } from "../../src/canonical/hosted_tools.ts";
import type { JsonObject } from "../../src/canonical/json.ts";
import type { Exchange } from "../../src/contract/context.ts";
import { GatewayError } from "../../src/errors.ts";
import { WIRE } from "./wire.ts";

/** How the calls of one kind of server tool are written. */
interface Kind {
  /** The types that name it; the date at the end is its version. */
  types: RegExp;
  name: string;
  result: string;
  /** The fields beside the error's code. */
  more?: JsonObject;
}

const KINDS: readonly Kind[] = [
  { types: /^web_search_\d+$/, name: "web_search", result: "web_search_tool_result" },
  { types: /^web_fetch_\d+$/, name: "web_fetch", result: "web_fetch_tool_result" },
  { types: /^code_execution_20250522$/, name: "code_execution", result: "code_execution_tool_result" },
  // Its later versions are two tools: a shell and an editor.
  { types: /^code_execution_\d+$/, name: "bash_code_execution", result: "bash_code_execution_tool_result" },
  ...["tool_search_tool_regex", "tool_search_tool_bm25"].map((name) => ({
    types: new RegExp(`^${name}(_\\d+)?$`),
    name,
    result: "tool_search_tool_result",
    more: { error_message: null },
  })),
  { types: /^advisor_\d+$/, name: "advisor", result: "advisor_tool_result" },
];

const CALLER = { type: "direct" };

/** Throws for tools of which nobody knows how they fail. */
export function failTools(tools: readonly HostedTool[], { id, input }: Exchange<"generate">): FailedTools {
  const kinds = tools.flatMap(({ extra }) => KINDS.find(({ types }) => types.test(String(extra.fields.type))) ?? []);
  if (kinds.length === 0) {
    const names = tools.map(({ name }) => `"${name}"`).join(", ");
    const message = `Cannot run tool ${names}: no upstream of model "${input.model}" runs it`;
    throw new GatewayError("invalid_request", message, { param: "tools" });
  }
  const content = kinds.flatMap(({ name, result, more }, index): JsonObject[] => {
    const call = `srvtoolu_${id.replace(/^msg_/, "")}${index === 0 ? "" : `_${index}`}`;
    const error = { type: `${result}_error`, error_code: "unavailable", ...more };
    return [
      { type: "server_tool_use", id: call, name, input: {}, caller: CALLER },
      { type: result, tool_use_id: call, caller: CALLER, content: error },
    ];
  });
  return {
    content: content.map((fields) => ({ type: "opaque", extra: { wire: WIRE, fields } })),
    usage: { server_tool_use: { web_search_requests: 0, web_fetch_requests: 0 } },
  };
}
