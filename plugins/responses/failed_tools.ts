/**
 * The answer of the vendor's server when a tool of its own failed: the tool's item, with its status. Shapes: the vendor's SDK.
 */
import type { HostedTool } from "../../src/canonical/generate.ts";
import type { FailedTools } from "../../src/canonical/hosted_tools.ts";
import { asText, type JsonObject } from "../../src/canonical/json.ts";
import type { Exchange } from "../../src/contract/context.ts";
import { GatewayError } from "../../src/errors.ts";
import { WIRE } from "./wire.ts";

interface Kind {
  /** The types that name it; some have a version at their end. */
  types: RegExp;
  idPrefix: string;
  item(tool: JsonObject): JsonObject;
}

const FAILED = { status: "failed" };

const KINDS: readonly Kind[] = [
  {
    types: /^web_search(_preview)?(_\d{4}_\d\d_\d\d)?$/,
    idPrefix: "ws",
    item: () => ({ type: "web_search_call", ...FAILED, action: { type: "search", query: "", queries: [] } }),
  },
  {
    types: /^file_search$/,
    idPrefix: "fs",
    item: () => ({ type: "file_search_call", ...FAILED, queries: [], results: null }),
  },
  {
    types: /^code_interpreter$/,
    idPrefix: "ci",
    item: ({ container }) => ({
      type: "code_interpreter_call",
      ...FAILED,
      code: null,
      container_id: asText(container),
      outputs: null,
    }),
  },
  {
    types: /^image_generation$/,
    idPrefix: "ig",
    item: () => ({ type: "image_generation_call", ...FAILED, result: null }),
  },
  {
    types: /^mcp$/,
    idPrefix: "mcpl",
    item: ({ server_label }) => ({
      type: "mcp_list_tools",
      server_label: asText(server_label),
      tools: [],
      error: "The gateway does not connect to remote servers",
    }),
  },
  {
    types: /^tool_search$/,
    idPrefix: "tsc",
    // None of its statuses says that it failed.
    item: () => ({ type: "tool_search_call", status: "incomplete", call_id: null, execution: "server", arguments: {} }),
  },
];

/** Tools that have a type of their own here, and that the client runs. */
const CLIENTS = /^(local_shell|shell|apply_patch|computer(_use)?(_preview)?)(_\d{4}_\d\d_\d\d)?$/;

/** Throws for tools of which nobody knows how they fail. */
export function failTools(tools: readonly HostedTool[], { id, input }: Exchange<"generate">): FailedTools | undefined {
  const kinds = tools.flatMap(({ extra: { fields } }) => {
    const kind = KINDS.find(({ types }) => types.test(String(fields.type)));
    return kind ? [{ kind, fields }] : [];
  });
  if (kinds.length === 0) {
    if (tools.every(({ name }) => CLIENTS.test(name))) return undefined;
    const names = tools.map(({ name }) => `"${name}"`).join(", ");
    const message = `Cannot run tool ${names}: no upstream of model "${input.model}" runs it`;
    throw new GatewayError("invalid_request", message, { param: "tools" });
  }
  const content = kinds.map(({ kind, fields }, index): JsonObject => ({
    id: `${kind.idPrefix}_${id.replace(/^resp_/, "")}_${index}`,
    ...kind.item(fields),
  }));
  return { content: content.map((fields) => ({ type: "opaque", extra: { wire: WIRE, fields } })) };
}
