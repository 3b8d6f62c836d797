/**
 * The steps of hosted tools in an answer: their items, and in a stream the events of an item that begins, goes on and has run.
 * Shapes: the vendor's SDK, and recorded answers of its server.
 */
import { fieldsFor } from "../../src/canonical/extra.ts";
import type { HostedPart } from "../../src/canonical/generate.ts";
import type { ExecutedCode, HostedCall, HostedResult, MadeFile, RemoteTool } from "../../src/canonical/hosted.ts";
import { isJsonObject, type JsonObject, present } from "../../src/canonical/json.ts";
import { type Define, nameOnly, serializeToolSearch } from "./namespaces.ts";
import { offsetsIn } from "./offsets.ts";
import { PICTURE_ITEM, serializePicture } from "./pictures.ts";
import { WIRE } from "./wire.ts";

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

// Streams

type ItemEvent = [type: string, fields: JsonObject];

/** The events of an item that is done when it is sent. */
export function wholeItem(item: JsonObject, output_index: number): ItemEvent[] {
  return [
    ["response.output_item.added", { output_index, item }],
    ["response.output_item.done", { output_index, item }],
  ];
}

/** The events that begin a step: its item, without what only its end can say. */
export function beginHosted(part: HostedPart, output_index: number, sources: boolean): ItemEvent[] {
  const item = serializeHosted(part, sources);
  const added = (item: JsonObject): ItemEvent => ["response.output_item.added", { output_index, item }];
  const { call } = part;
  if (part.awaitsApproval || call.kind === "tool-search") return wholeItem(item, output_index);
  const place = { output_index, item_id: item.id };
  const begun: ItemEvent = [`response.${item.type}.in_progress`, place];
  switch (call.kind) {
    case "web-search":
    case "web-fetch":
    case "find-in-page":
      return [added(item), begun, ["response.web_search_call.searching", place]];
    case "image":
      return [added(item), begun, ["response.image_generation_call.generating", place]];
    case "code": {
      const { code } = call;
      return [
        added({ ...item, code: "", outputs: [] }),
        begun,
        ["response.code_interpreter_call_code.delta", { ...place, delta: code }],
        ["response.code_interpreter_call_code.done", { ...place, code }],
        ["response.code_interpreter_call.interpreting", place],
      ];
    }
    case "mcp-list":
      return [added({ ...item, tools: [] }), begun];
    case "mcp": {
      const { input } = call;
      return [
        added({ ...item, arguments: "" }),
        begun,
        ["response.mcp_call_arguments.delta", { ...place, delta: input }],
        ["response.mcp_call_arguments.done", { ...place, arguments: input }],
      ];
    }
    default:
      return call satisfies never;
  }
}

/** The events that end a step. A search that failed has no event of its own but that of its end. */
export function endHosted(part: HostedPart, item: JsonObject, output_index: number): ItemEvent[] {
  const hasFailed = part.result?.kind === "error" && part.call.kind !== "code";
  const isFailure = hasFailed && item.type !== "web_search_call" && item.type !== PICTURE_ITEM;
  return [
    [`response.${item.type}.${isFailure ? "failed" : "completed"}`, { output_index, item_id: item.id }],
    ["response.output_item.done", { output_index, item }],
  ];
}
