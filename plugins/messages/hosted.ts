/**
 * Tools that the server runs: how clients ask for them, and the blocks of their calls and results. Shapes: the vendor's SDK, and
 * recorded answers of its server.
 */
import type { HostedPart, HostedTool, Tool } from "../../src/canonical/generate.ts";
import type {
  CodeWork,
  Domains,
  HostedCall,
  HostedResult,
  HostedWork,
  Location,
  RemoteWork,
  SearchHit,
  ToolSearchWork,
} from "../../src/canonical/hosted.ts";
import { UNNUMBERED } from "../../src/canonical/hosted.ts";
import {
  asCount,
  asObject,
  asObjects,
  asText,
  asTexts,
  isJsonObject,
  type JsonObject,
  present,
  presentText,
} from "../../src/canonical/json.ts";
import { CODE_OF } from "./hosted_blocks.ts";
import { WIRE, type WireTool } from "./wire.ts";

/** The work of a server tool; nothing for those that only the vendor can run. Dates at the end of a type are versions. */
export function workOf(tool: WireTool): HostedWork | undefined {
  const fields = tool as JsonObject;
  // A tool that only code of the vendor's may call is none that can be called here.
  if (Array.isArray(fields.allowed_callers) && !fields.allowed_callers.includes("direct")) return undefined;
  const shared = { ...present("maxUses", asCount(fields.max_uses)), ...present("domains", domainsIn(fields)) };
  if (/^web_search_\d+$/.test(tool.type ?? "")) {
    const location = locationIn(fields.user_location);
    return { kind: "web-search", opensPages: false, ...shared, ...present("location", location) };
  }
  const search = TOOL_SEARCH.exec(tool.type ?? "");
  if (search) {
    const unknown = Object.keys(fields).filter((key) => !["type", "name", "allowed_callers"].includes(key));
    return { kind: "tool-search", method: search[1] as ToolSearchWork["method"], unknown };
  }
  if (/^web_fetch_\d+$/.test(tool.type ?? "")) {
    return { kind: "web-fetch", ...shared, ...present("maxTokens", asCount(fields.max_content_tokens)) };
  }
  if (!/^code_execution_\d+$/.test(tool.type ?? "")) return undefined;
  const isPython = tool.type === "code_execution_20250522";
  return { kind: "code", prefix: "container_", ...(!isPython && { lacks: "the shell and the text editor" }) };
}

/** The request's tools, with what it says of the container of its code: the container's id, and the files to put into it. */
export function withContainer(tools: readonly Tool[], { container, messages }: JsonObject): Tool[] {
  if (!tools.some(runsCode)) return [...tools];
  const named = isJsonObject(container) ? container.id : container;
  const turns = asObjects(messages);
  const present = turns.slice(turns.findLastIndex(({ role }) => role === "assistant") + 1);
  const place = {
    field: "container",
    ...presentText("container", named),
    files: turns.flatMap(uploadsIn),
    newFiles: present.flatMap(uploadsIn),
  };
  return tools.map((tool) => runsCode(tool) ? { ...tool, work: { ...tool.work, ...place } } : tool);
}

function runsCode(tool: Tool): tool is HostedTool & { work: CodeWork } {
  return tool.type === "hosted" && tool.work?.kind === "code";
}

function uploadsIn({ content }: JsonObject): string[] {
  return asObjects(content).flatMap(({ type, file_id }) =>
    type === "container_upload" && typeof file_id === "string" ? [file_id] : []
  );
}

/** The tools that search for tools, and the name of their calls. */
const TOOL_SEARCH = /^tool_search_tool_(regex|bm25)(?:_\d+)?$/;

function domainsIn({ allowed_domains, blocked_domains }: JsonObject): Domains | undefined {
  const [allowed, blocked] = [textsIn(allowed_domains), textsIn(blocked_domains)];
  return allowed || blocked ? { ...present("allowed", allowed), ...present("blocked", blocked) } : undefined;
}

function textsIn(value: unknown): string[] | undefined {
  const texts = asTexts(value);
  return texts.length > 0 ? texts : undefined;
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

/** The tool of this wire that stands for another server's tools. */
export const TOOL_SET = "mcp_toolset";

/**
 * The request's tools with the servers that it names (`mcp_servers`): which of a server's tools are offered stands in a tool set
 * of its name, or, in the beta before that, at the server itself, which then has no place among the tools.
 */
export function withRemoteTools(tools: readonly Tool[], body: JsonObject): Tool[] {
  const servers = asObjects(body.mcp_servers);
  if (servers.length === 0) return [...tools];
  const setOf = (tool: Tool) =>
    tool.type === "hosted" && tool.extra.fields.type === TOOL_SET ? tool.extra.fields : undefined;
  const named = new Set(tools.map((tool) => setOf(tool)?.mcp_server_name));
  // The first of several servers with the same name.
  const byName = new Map(servers.toReversed().map((server) => [server.name, server]));
  const own = servers.flatMap((server): Tool[] => {
    const { name, tool_configuration } = server;
    const filter = asObject(tool_configuration);
    const work = named.has(name) || filter.enabled === false
      ? undefined
      : remoteWork(server, textsIn(filter.allowed_tools));
    return work ? [{ type: "hosted", name: work.server, work, extra: { wire: WIRE, fields: {} } }] : [];
  });
  return [
    ...tools.map((tool) => {
      const set = setOf(tool);
      const server = set && byName.get(set.mcp_server_name);
      const work = server && remoteWork(server, enabledIn(set));
      return work ? { ...tool, work } as Tool : tool;
    }),
    ...own,
  ];
}

/** Calls run at once on this wire. */
function remoteWork({ name, url, authorization_token }: JsonObject, allowedTools?: string[]): RemoteWork | undefined {
  if (typeof name !== "string" || typeof url !== "string") return undefined;
  return {
    kind: "mcp",
    server: name,
    url,
    field: "mcp_servers",
    ...presentText("token", authorization_token),
    ...present("allowedTools", allowedTools),
    approval: "never",
  };
}

/** The tools that a set names as enabled. `undefined` if it offers all tools that it does not name. */
function enabledIn({ default_config, configs }: JsonObject): string[] | undefined {
  const isOffered = !isJsonObject(default_config) || default_config.enabled !== false;
  if (isOffered || !isJsonObject(configs)) return isOffered ? undefined : [];
  return Object.entries(configs).flatMap(([name, config]) =>
    isJsonObject(config) && config.enabled !== false ? [name] : []
  );
}

// History

/** The steps of hosted tools among the blocks of one turn. A result is understood by its call, which comes before it. */
export class HostedBlocks {
  readonly #calls = new Map<string, HostedCall>();

  /** The part for a block. `undefined` if the block is not from a tool that the gateway could run. */
  parse(block: JsonObject): HostedPart | undefined {
    const extra = { wire: WIRE, fields: block };
    const call = callIn(block);
    if (call && typeof block.id === "string") {
      this.#calls.set(block.id, call);
      return { type: "hosted", id: block.id, call, extra };
    }
    const id = block.tool_use_id;
    const called = typeof id === "string" ? this.#calls.get(id) : undefined;
    const result = called && resultIn(block);
    return result && { type: "hosted", id: id as string, call: called, result, extra };
  }
}

function resultIn({ type, content, is_error }: JsonObject): HostedResult | undefined {
  if (isJsonObject(content) && typeof content.error_code === "string") {
    const code = CODE_OF[content.error_code] ?? "unavailable";
    return { kind: "error", code, ...presentText("message", content.error_message) };
  }
  switch (type) {
    case "tool_search_tool_result":
      return { kind: "found", tools: foundIn(asObject(content)) };
    case "web_search_tool_result":
      return Array.isArray(content) ? { kind: "hits", hits: content.filter(isJsonObject).map(hitIn) } : undefined;
    case "web_fetch_tool_result":
      return isJsonObject(content) ? pageIn(content) : undefined;
    case "code_execution_tool_result":
      return isJsonObject(content) ? executedIn(content) : undefined;
    case "mcp_tool_result": {
      const texts = typeof content === "string" ? [content] : blockTexts(content);
      const isError = is_error === true ? { isError: true as const } : {};
      return { kind: "content", content: texts.map((text) => ({ type: "text", text })), ...isError };
    }
    default:
      return undefined;
  }
}

function foundIn({ tool_references }: JsonObject): string[] {
  return asObjects(tool_references).map(({ tool_name }) => asText(tool_name)).filter((name) => name !== "");
}

function hitIn({ url, title, page_age, encrypted_content }: JsonObject): SearchHit {
  return {
    number: UNNUMBERED,
    url: asText(url),
    title: asText(title),
    text: "",
    ...presentText("age", page_age),
    ...presentText("sealed", encrypted_content),
  };
}

function callIn({ type, name, server_name, input }: JsonObject): HostedCall | undefined {
  const fields = asObject(input);
  if (type === "mcp_tool_use") {
    return { kind: "mcp", server: asText(server_name), name: asText(name), input: JSON.stringify(fields) };
  }
  if (type !== "server_tool_use") return undefined;
  const search = typeof name === "string" ? TOOL_SEARCH.exec(name) : undefined;
  if (search) return searchIn(search[1] as ToolSearchWork["method"], fields);
  if (name === "code_execution") return { kind: "code", code: asText(fields.code), container: "" };
  if (name === "web_search") return { kind: "web-search", query: asText(fields.query) };
  return name === "web_fetch" ? { kind: "web-fetch", url: asText(fields.url) } : undefined;
}

function searchIn(method: ToolSearchWork["method"], { pattern, query, limit }: JsonObject): HostedCall {
  return {
    kind: "tool-search",
    method,
    query: asText(method === "regex" ? pattern : query),
    ...present("limit", asCount(limit)),
  };
}

function pageIn({ url, retrieved_at, content }: JsonObject): HostedResult | undefined {
  const source = asObject(asObject(content).source);
  // What is no text, the model that it is for has read itself.
  if (source.type !== "text") return undefined;
  const page = {
    url: asText(url),
    text: asText(source.data),
    mediaType: asText(source.media_type),
    ...presentText("title", isJsonObject(content) ? content.title : undefined),
    ...presentText("retrievedAt", retrieved_at),
  };
  return { kind: "page", page };
}

/** Files are named by their ids alone. */
function executedIn({ stdout, stderr, return_code, content }: JsonObject): HostedResult | undefined {
  // Only the server that encrypted its output can read it.
  if (typeof stdout !== "string") return undefined;
  const files = asObjects(content).map(({ file_id }) => {
    const id = asText(file_id);
    return { id, name: id, mediaType: "application/octet-stream", bytes: 0 };
  });
  return { kind: "executed", stdout, stderr: asText(stderr), exitCode: Number(return_code ?? 0), files };
}

function blockTexts(content: unknown): string[] {
  return asObjects(content).map(({ text }) => asText(text));
}
