// deno-lint-ignore-file house/file-length -- one subject: hosted tools on this wire, in both directions
/**
 * Tools that the server runs: how clients ask for them, and the items of their calls and results. Shapes: the vendor's SDK, and
 * recorded answers of its server.
 */
import { fieldsFor } from "../../src/canonical/extra.ts";
import type { HostedPart } from "../../src/canonical/generate.ts";
import type {
  Approval,
  ExecutedCode,
  HostedApproval,
  HostedCall,
  HostedResult,
  HostedWork,
  Location,
  MadeFile,
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
import { type Define, nameOnly, serializeToolSearch } from "./namespaces.ts";
import { offsetsIn } from "./offsets.ts";
import { drawWork, PICTURE_ITEM, pictureStep, serializePicture } from "./pictures.ts";
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

// Answers

/**
 * The item of a step: as it begins, and as it is once it has run. `sources`: whether the client wants to see what was found.
 * `define`: the definitions of the request's tools of these names.
 */
export function serializeHosted(part: HostedPart, sources: boolean, define: Define = nameOnly): JsonObject {
  const own = fieldsFor(WIRE, part.extra);
  if (Object.keys(own).length > 0) return own;
  const { id: bare, call, result, awaitsApproval, wasApproved } = part;
  const failed = result?.kind === "error";
  const status = result === undefined ? "in_progress" : failed ? "failed" : "completed";
  switch (call.kind) {
    case "tool-search":
      return serializeToolSearch(bare, call, result, define);
    case "web-search":
    case "web-fetch":
    case "find-in-page": {
      const action = actionOf(call, result, sources);
      return { type: "web_search_call", id: `ws_${bare}`, status, ...(result && { action }) };
    }
    case "image":
      return serializePicture(part);
    case "code":
      return {
        type: "code_interpreter_call",
        id: `ci_${bare}`,
        status,
        code: call.code,
        container_id: call.container,
        outputs: result?.kind === "executed" ? outputsOf(result) : result ? [] : null,
      };
    case "mcp-list": {
      const tools = result?.kind === "tools" ? result.tools.map(serializeTool) : [];
      const error = failed ? { error: result.message ?? result.code } : {};
      return { type: "mcp_list_tools", id: `mcpl_${bare}`, server_label: call.server, tools, ...error };
    }
    case "mcp": {
      const asked = { server_label: call.server, name: call.name, arguments: call.input };
      if (awaitsApproval) return { type: "mcp_approval_request", id: `mcpr_${bare}`, ...asked };
      return {
        type: "mcp_call",
        id: `mcp_${bare}`,
        ...asked,
        ...resultOf(result),
        status,
        approval_request_id: wasApproved ? `mcpr_${bare}` : null,
      };
    }
    default:
      return call satisfies never;
  }
}

function actionOf(
  call: Exclude<HostedCall, { kind: "mcp" | "mcp-list" | "code" | "tool-search" | "image" }>,
  result: HostedResult | undefined,
  sources: boolean,
): JsonObject {
  switch (call.kind) {
    case "web-search": {
      const hits = result?.kind === "hits" ? result.hits : [];
      return {
        type: "search",
        query: call.query,
        queries: [call.query],
        ...(sources && { sources: hits.map(({ url }) => ({ type: "url", url })) }),
      };
    }
    case "web-fetch":
      return { type: "open_page", url: call.url };
    case "find-in-page":
      return { type: "find_in_page", url: call.url, pattern: call.pattern };
    default:
      return call satisfies never;
  }
}

/** The files that code has made, as citations of the text after it. The whole list is cited there: no later text has them. */
export function citeFiles(text: string, made: MadeHere[]): JsonObject[] {
  const points = (units: number) => offsetsIn(text).toCodePoints(units);
  return made.splice(0).map(({ container, file: { id, name } }) => {
    const found = [`sandbox:/mnt/data/${name}`, name].find((words) => text.includes(words));
    const start = found === undefined ? text.length : text.indexOf(found);
    return {
      type: "container_file_citation",
      container_id: container,
      file_id: `file-${id}`,
      filename: name,
      start_index: points(start),
      end_index: points(start + (found?.length ?? 0)),
    };
  });
}

/** A file that no text has cited yet. */
export interface MadeHere {
  container: string;
  file: MadeFile;
}

export function filesMadeBy({ call, result }: HostedPart): MadeHere[] {
  if (call.kind !== "code" || result?.kind !== "executed") return [];
  return result.files.map((file) => ({ container: call.container, file }));
}

function outputsOf({ stdout, stderr }: ExecutedCode): JsonObject[] {
  const logs = [stdout, stderr].filter((text) => text !== "").join("\n");
  return logs === "" ? [] : [{ type: "logs", logs }];
}

function resultOf(result: HostedResult | undefined): JsonObject {
  if (result?.kind === "error") {
    const message = result.message ?? result.code;
    return { output: null, error: { type: "mcp_protocol_error", code: -32603, message } };
  }
  if (result?.kind !== "content") return { output: null, error: null };
  const texts = result.content.flatMap((one) => one.type === "text" ? [one.text] : []);
  const content = texts.map((text) => ({ type: "text", text }));
  return result.isError
    ? { output: null, error: { type: "mcp_tool_execution_error", content } }
    : { output: texts.join("\n"), error: null };
}

function serializeTool({ name, description, parameters, annotations }: RemoteTool): JsonObject {
  return {
    name,
    input_schema: parameters,
    ...present("description", description),
    ...present("annotations", annotations),
  };
}

/** Whether the client wants to see which pages a search consulted. */
export function includesSources(body: unknown): boolean {
  return isJsonObject(body) && Array.isArray(body.include) && body.include.includes("web_search_call.action.sources");
}
