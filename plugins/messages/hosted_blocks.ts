/** The blocks of what hosted tools do in an answer. Shapes: the vendor's SDK, and recorded answers of its server. */
import { fieldsFor } from "../../src/canonical/extra.ts";
import type { HostedPart } from "../../src/canonical/generate.ts";
import type { HostedCall, HostedErrorCode, HostedResult } from "../../src/canonical/hosted.ts";
import { searchInput } from "../../src/transforms/hosted_functions.ts";
import { type JsonObject, type JsonValue, parseJson, toJsonText } from "../../src/canonical/json.ts";
import { WIRE } from "./wire.ts";

const ERROR_CODES: Record<HostedErrorCode, { search: string; fetch: string; code: string }> = {
  invalid_input: { search: "invalid_tool_input", fetch: "invalid_tool_input", code: "invalid_tool_input" },
  unavailable: { search: "unavailable", fetch: "unavailable", code: "unavailable" },
  too_many_uses: { search: "max_uses_exceeded", fetch: "max_uses_exceeded", code: "too_many_requests" },
  too_many_requests: { search: "too_many_requests", fetch: "too_many_requests", code: "too_many_requests" },
  too_long: { search: "query_too_long", fetch: "url_too_long", code: "invalid_tool_input" },
  not_allowed: { search: "invalid_tool_input", fetch: "url_not_allowed", code: "invalid_tool_input" },
  not_in_conversation: { search: "invalid_tool_input", fetch: "url_not_in_prior_context", code: "invalid_tool_input" },
  not_accessible: { search: "unavailable", fetch: "url_not_accessible", code: "unavailable" },
  unsupported_type: { search: "unavailable", fetch: "unsupported_content_type", code: "unavailable" },
  too_late: { search: "unavailable", fetch: "url_not_accessible", code: "execution_time_exceeded" },
  expired: { search: "unavailable", fetch: "unavailable", code: "container_expired" },
  too_large: { search: "request_too_large", fetch: "content_too_large", code: "unavailable" },
};

export const CODE_OF: Readonly<Record<string, HostedErrorCode>> = Object.fromEntries(
  Object.entries(ERROR_CODES).flatMap(([is, { search, fetch, code }]) => [[search, is], [fetch, is], [code, is]])
    .reverse(),
);

const DIRECT = { type: "direct" };

/** Whether the wire has a block for the step: it tells neither of lists of tools nor of calls that wait for approval. */
export function isSpoken({ call, awaitsApproval }: HostedPart): boolean {
  return call.kind !== "mcp-list" && !awaitsApproval;
}

/** The block of a step. What came in a block of this wire goes back as it was. */
export function serializeHosted(part: HostedPart): JsonObject {
  const own = fieldsFor(WIRE, part.extra);
  if (Object.keys(own).length > 0) return own;
  const { call, result } = part;
  return result ? serializeResult(part, result) : { ...serializeCall(part), input: parseJson(inputOf(call)) ?? {} };
}

/** The container in which code ran, for the client to name in the next request. `step`: the last step of the answer that is over. */
export function containerOf({ call, result, extra }: HostedPart): JsonObject {
  if (extra || call.kind !== "code" || result?.kind !== "executed" || result.expires === undefined) return {};
  return { container: { id: call.container, expires_at: new Date(result.expires).toISOString(), skills: null } };
}

/** The block of a call without its input, which comes in pieces. */
export function serializeCall({ id, call }: HostedPart): JsonObject {
  return call.kind === "mcp"
    ? { type: "mcp_tool_use", id: blockId(id, call), name: call.name, server_name: call.server, input: {} }
    : { type: "server_tool_use", id: blockId(id, call), name: nameOf(call), input: {}, caller: DIRECT };
}

/** A call's input as the text of a JSON object. */
export function inputOf(call: HostedCall): string {
  if (call.kind === "code") return JSON.stringify({ code: call.code });
  if (call.kind === "tool-search") return JSON.stringify(searchInput(call));
  const { kind, ...fields } = call;
  return kind === "mcp" ? toJsonText(call.kind === "mcp" && call.input) : JSON.stringify(fields);
}

function nameOf(call: HostedCall): string {
  const { kind } = call;
  if (kind === "tool-search") return `tool_search_tool_${call.method}`;
  return kind === "code" ? "code_execution" : kind === "web-search" ? "web_search" : "web_fetch";
}

/** Clients tell the kinds of calls apart by their ids. */
function blockId(id: string, { kind }: HostedCall): string {
  const prefix = kind === "mcp" ? "mcptoolu_" : "srvtoolu_";
  return id.startsWith(prefix) ? id : `${prefix}${id.replace(/^(toolu|call|fc)_/, "").replace(/[^\w-]/g, "_")}`;
}

function serializeResult({ id, call }: HostedPart, result: HostedResult): JsonObject {
  const place = { tool_use_id: blockId(id, call) };
  if (call.kind === "mcp") {
    const content = result.kind === "content"
      ? result.content.flatMap((one) => one.type === "text" ? [{ type: "text", text: one.text }] : [])
      : [];
    const message = result.kind === "error" ? result.message ?? result.code : undefined;
    return {
      type: "mcp_tool_result",
      ...place,
      is_error: result.kind === "error" || result.kind === "content" && result.isError === true,
      content: message === undefined ? content : [{ type: "text", text: message }],
    };
  }
  if (call.kind === "tool-search") {
    return { type: "tool_search_tool_result", ...place, content: searchContent(result) };
  }
  const kind = call.kind === "code" ? "code" : call.kind === "web-search" ? "search" : "fetch";
  const type = `${nameOf(call)}_tool_result`;
  return { type, ...place, caller: DIRECT, content: contentOf(result, kind, type) };
}

/** The codes of a search for tools, of which there are few. Any other is `unavailable`. */
const TOOL_SEARCH_CODES: Partial<Record<HostedErrorCode, string>> = {
  invalid_input: "invalid_tool_input",
  too_large: "execution_time_exceeded",
  too_many_requests: "too_many_requests",
  too_many_uses: "too_many_requests",
};

function searchContent(result: HostedResult): JsonObject {
  if (result.kind === "found") {
    const references = result.tools.map((tool_name) => ({ type: "tool_reference", tool_name }));
    return { type: "tool_search_tool_search_result", tool_references: references };
  }
  const { code, message } = result.kind === "error" ? result : { code: "unavailable" as const, message: undefined };
  const error_code = TOOL_SEARCH_CODES[code] ?? "unavailable";
  return { type: "tool_search_tool_result_error", error_code, error_message: message ?? null };
}

function contentOf(result: HostedResult, kind: "search" | "fetch" | "code", type: string): JsonValue {
  switch (result.kind) {
    case "hits":
      return result.hits.map(({ url, title, age, sealed }) => ({
        type: "web_search_result",
        url,
        title,
        encrypted_content: sealed ?? "",
        page_age: age ?? null,
      }));
    case "page": {
      const { url, title, text, retrievedAt } = result.page;
      return {
        type: "web_fetch_result",
        url,
        retrieved_at: retrievedAt ?? null,
        content: {
          type: "document",
          source: { type: "text", media_type: "text/plain", data: text },
          title: title ?? null,
          citations: null,
        },
      };
    }
    case "executed": {
      const { stdout, stderr, exitCode, files } = result;
      const content = files.map(({ id }) => ({ type: "code_execution_output", file_id: `file_${id}` }));
      return { type: "code_execution_result", stdout, stderr, return_code: exitCode, content };
    }
    case "error":
      return { type: `${type}_error`, error_code: ERROR_CODES[result.code][kind] };
    case "content":
    case "found":
    case "tools":
    case "lost":
      return { type: `${type}_error`, error_code: "unavailable" };
    default:
      return result satisfies never;
  }
}
