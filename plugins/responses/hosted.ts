/**
 * Tools that the server runs: how clients ask for them, and send back the items of their calls and results. Shapes: the vendor's
 * SDK, and recorded answers of its server.
 */
import type { HostedPart } from "../../src/canonical/generate.ts";
import type {
  Approval,
  HostedApproval,
  HostedCall,
  HostedResult,
  HostedWork,
  Location,
  RemoteTool,
  ToolFilter,
} from "../../src/canonical/hosted.ts";
import { UNNUMBERED } from "../../src/canonical/hosted.ts";
import {
  asObject,
  asObjects,
  asText,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  present,
  presentText,
} from "../../src/canonical/json.ts";
import { drawWork, PICTURE_ITEM, pictureStep } from "./pictures.ts";
import { WIRE } from "./wire.ts";

/** The work of a server tool; nothing for those that only the vendor can run. Dates at the end of a type are versions. */
export function workOf(tool: JsonObject): HostedWork | undefined {
  const type = asText(tool.type);
  if (/^web_search(_preview)?(_\d{4}_\d\d_\d\d)?$/.test(type)) {
    const filters = asObject(tool.filters);
    const [allowed, blocked] = [textsIn(filters.allowed_domains), textsIn(filters.blocked_domains)];
    const size = tool.search_context_size;
    return {
      kind: "web-search",
      // False says that nothing may be fetched for this request.
      opensPages: tool.external_web_access !== false,
      ...((allowed || blocked) && { domains: { ...present("allowed", allowed), ...present("blocked", blocked) } }),
      ...present("location", locationIn(tool.user_location)),
      ...((size === "low" || size === "medium" || size === "high") && { size }),
    };
  }
  if (type === "tool_search" && tool.execution !== "client") {
    const unknown = Object.keys(tool).filter((key) => key !== "type" && key !== "execution");
    return { kind: "tool-search", method: "bm25", unknown };
  }
  if (type === "image_generation") return drawWork(tool);
  if (type === "code_interpreter") return codeWork(tool);
  return type === "mcp" ? remoteWork(tool) : undefined;
}

/** Without a container of its own, a request goes on in the last one of its conversation. */
function codeWork({ container }: JsonObject): HostedWork {
  const { file_ids } = asObject(container);
  return {
    kind: "code",
    prefix: "cntr_",
    continues: true,
    ...presentText("container", container),
    ...present("files", textsIn(file_ids)),
  };
}

function remoteWork(tool: JsonObject): HostedWork | undefined {
  const { server_label: server, server_url: url, authorization: token, allowed_tools, headers } = tool;
  if (typeof server !== "string") return undefined;
  const filter = isJsonObject(allowed_tools) ? filterIn(allowed_tools) : { names: textsIn(allowed_tools) };
  return {
    kind: "mcp",
    server,
    ...presentText("url", url),
    ...presentText("token", token),
    ...(isJsonObject(headers) && { headers: headersIn(headers) }),
    ...present("allowedTools", filter?.names),
    ...(filter?.readOnly && { readOnly: true }),
    approval: approvalIn(tool.require_approval),
  };
}

/** Without a word of the client's every call waits for it, as on the vendor's server. */
function approvalIn(value: unknown): Approval {
  if (value === "never") return value;
  if (!isJsonObject(value)) return "always";
  const [always, never] = [filterIn(value.always), filterIn(value.never)];
  return { ...present("always", always), ...present("never", never) };
}

function filterIn(value: unknown): ToolFilter | undefined {
  if (!isJsonObject(value)) return undefined;
  const { read_only } = value;
  return {
    ...present("names", textsIn(value.tool_names)),
    ...(typeof read_only === "boolean" && { readOnly: read_only }),
  };
}

function headersIn(headers: JsonObject): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).filter((one): one is [string, string] => typeof one[1] === "string"),
  );
}

function locationIn(value: unknown): Location | undefined {
  if (!isJsonObject(value)) return undefined;
  const { city, region, country, timezone } = value;
  return {
    ...presentText("city", city),
    ...presentText("region", region),
    ...presentText("country", country),
    ...presentText("timezone", timezone),
  };
}

function textsIn(value: unknown): string[] | undefined {
  return Array.isArray(value) ? value.filter((one) => typeof one === "string") : undefined;
}

/** A tool without the client's secrets. They go to the tool's server, and into nothing that is stored or sent back. */
export function withoutCredentials(tool: JsonValue): JsonValue {
  if (!isJsonObject(tool) || tool.type !== "mcp") return tool;
  const { authorization: _authorization, headers: _headers, ...rest } = tool;
  return rest;
}

// History

/** The step for an item. `undefined` if the item is not from a tool that the gateway could run. */
export function parseHosted(item: JsonObject): HostedPart | undefined {
  const { id } = item;
  if (typeof id !== "string") return undefined;
  const step = stepIn(item);
  return step && { type: "hosted", id: id.replace(PREFIX, ""), ...step, extra: { wire: WIRE, fields: item } };
}

const PREFIX = /^(ws|ig|mcp|mcpl|mcpr|tsc|tso|ci)_/;

/** The step that an item's id names. */
export function stepId(item: string): { id: string; awaitsApproval: boolean } {
  return { id: item.replace(PREFIX, ""), awaitsApproval: item.startsWith("mcpr_") };
}

function stepIn(item: JsonObject): Pick<HostedPart, "call" | "result" | "awaitsApproval"> | undefined {
  const server = asText(item.server_label);
  switch (item.type) {
    case "web_search_call":
      return searchIn(item);
    case PICTURE_ITEM:
      return pictureStep(item);
    case "mcp_list_tools": {
      if (!isNothing(item.error)) return { call: { kind: "mcp-list", server }, result: outputIn(item) };
      const tools = asObjects(item.tools).map(toolIn);
      return { call: { kind: "mcp-list", server }, result: { kind: "tools", tools } };
    }
    case "code_interpreter_call":
      return codeIn(item);
    case "mcp_approval_request":
      return { call: remoteCall(item), awaitsApproval: true };
    case "mcp_call":
      return { call: remoteCall(item), result: outputIn(item) };
    default:
      return undefined;
  }
}

function isNothing(value: unknown): boolean {
  return value === undefined || value === null;
}

/** Clients keep what was done, and mostly not what came of it. */
function searchIn({ action, status }: JsonObject): Pick<HostedPart, "call" | "result"> | undefined {
  const fields = asObject(action);
  const [url, pattern] = [asText(fields.url), asText(fields.pattern)];
  const lost: HostedResult = status === "failed" ? { kind: "error", code: "unavailable" } : { kind: "lost" };
  switch (fields.type) {
    case "search": {
      const sources = asObjects(fields.sources);
      const hits = sources.map(({ url }) => ({
        number: UNNUMBERED,
        url: asText(url),
        title: asText(url),
        text: "",
      }));
      const query = asText(fields.query) || (textsIn(fields.queries) ?? []).join("; ");
      return { call: { kind: "web-search", query }, result: hits.length > 0 ? { kind: "hits", hits } : lost };
    }
    case "open_page":
      return { call: { kind: "web-fetch", url }, result: lost };
    case "find_in_page":
      return { call: { kind: "find-in-page", url, pattern }, result: lost };
    default:
      return undefined;
  }
}

/** Clients may send the call back without its outputs. */
function codeIn({ code, container_id, outputs, status }: JsonObject): Pick<HostedPart, "call" | "result"> {
  const logs = Array.isArray(outputs) ? asObjects(outputs).map((one) => asText(one.logs)) : undefined;
  const result: HostedResult = status === "failed"
    ? { kind: "error", code: "unavailable" }
    : logs
    ? { kind: "executed", stdout: logs.join("\n"), stderr: "", exitCode: 0, files: [] }
    : { kind: "lost" };
  return { call: { kind: "code", code: asText(code), container: asText(container_id) }, result };
}

function remoteCall({ server_label, name, arguments: input }: JsonObject): HostedCall {
  return { kind: "mcp", server: asText(server_label), name: asText(name), input: asText(input) || "{}" };
}

function outputIn({ output, error }: JsonObject): HostedResult {
  if (typeof output === "string") return { kind: "content", content: [{ type: "text", text: output }] };
  const message = isJsonObject(error) ? asText(error.message) || JSON.stringify(error.content ?? error) : asText(error);
  return { kind: "error", code: "unavailable", ...(message !== "" && { message }) };
}

function toolIn({ name, description, input_schema, annotations }: JsonObject): RemoteTool {
  return {
    name: asText(name),
    ...presentText("description", description),
    parameters: isJsonObject(input_schema) ? input_schema : { type: "object" },
    ...(isJsonObject(annotations) && { annotations }),
  };
}

/** The client's decision on a call that waited for it. */
export function parseApproval(item: JsonObject): HostedApproval | undefined {
  const { type, approval_request_id: id, approve } = item;
  if (type !== "mcp_approval_response" || typeof id !== "string") return undefined;
  return { id: id.replace(PREFIX, ""), isApproved: approve === true, ...presentText("reason", item.reason) };
}
