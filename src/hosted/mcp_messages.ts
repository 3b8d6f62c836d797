/**
 * The Model Context Protocol's messages, as far as tools need them. Sources: its specification of 2025-11-25 and of 2026-07-28,
 * which has neither a beginning nor sessions.
 */
import type { HostedResult, RemoteContent, RemoteTool } from "../canonical/hosted.ts";
import {
  asObject,
  asObjects,
  asText,
  isJsonObject,
  isText,
  type JsonObject,
  type JsonValue,
} from "../canonical/json.ts";
import { GatewayError } from "../errors.ts";

/** Which of the two a server speaks. */
export type Era = "modern" | "legacy";

export const VERSIONS: Record<Era, string> = { modern: "2026-07-28", legacy: "2025-11-25" };

const CLIENT = { name: "laneway", version: "1" };

/** A request. In the modern era each one says what the older one agreed on at its beginning. */
export function requestOf(id: number, method: string, params: JsonObject, era: Era): JsonObject {
  const meta = {
    "io.modelcontextprotocol/protocolVersion": VERSIONS.modern,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": CLIENT,
  };
  return { jsonrpc: "2.0", id, method, params: era === "modern" ? { ...params, _meta: meta } : params };
}

export const INITIALIZE: JsonObject = { protocolVersion: VERSIONS.legacy, capabilities: {}, clientInfo: CLIENT };
export const INITIALIZED: JsonObject = { jsonrpc: "2.0", method: "notifications/initialized" };

/** The headers that a request has beside its message. */
export function headersOf(era: Era, method: string, name: string | undefined, version: string): Record<string, string> {
  const common = { accept: "application/json, text/event-stream", "content-type": "application/json" };
  if (era === "legacy") return method === "initialize" ? common : { ...common, "mcp-protocol-version": version };
  return {
    ...common,
    "mcp-protocol-version": version,
    "mcp-method": method,
    ...(name !== undefined && { "mcp-name": toHeader(name) }),
  };
}

/** A value that no header can carry goes as base64, as the specification has it. */
function toHeader(name: string): string {
  if (/^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(name)) return name;
  return `=?base64?${new TextEncoder().encode(name).toBase64()}?=`;
}

/** The codes with which a server of the modern era finds fault with a request. */
const MODERN_FAULTS: ReadonlySet<unknown> = new Set([-32020, -32021, -32022]);

/** Whether a refusal comes from a server of the modern era. */
export function isModernFault(body: unknown): boolean {
  return isJsonObject(body) && isJsonObject(body.error) && MODERN_FAULTS.has(body.error.code);
}

/** The value with each of its texts, keys included, as `hide` returns it. Secrets of digits alone may have become numbers. */
export function hiddenIn(value: JsonValue, hide: (text: string) => string): JsonValue {
  if (typeof value === "string") return hide(value);
  if (typeof value === "number") return hide(String(value)) === String(value) ? value : hide(String(value));
  if (Array.isArray(value)) return value.map((one) => hiddenIn(one, hide));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.keys(value).map((key) => [hide(key), hiddenIn(value[key] ?? null, hide)]));
}

/** What a server asks in the middle of its answer, and what it is told: that it lives, and that there is nothing more. */
export function replyTo({ id, method }: JsonObject): JsonObject | undefined {
  if (typeof method !== "string" || id === undefined) return undefined;
  if (method === "ping") return { jsonrpc: "2.0", id, result: {} };
  return { jsonrpc: "2.0", id, error: { code: -32601, message: "Method not found" } };
}

/** The result in a message. Throws where it is an error of the protocol. */
export function resultIn(message: JsonObject): JsonObject {
  const { result, error } = message;
  if (isJsonObject(error)) {
    // Its message is the server's own text, which may repeat anything that it was sent: none for a log.
    const code = typeof error.code === "number" ? ` ${error.code}` : "";
    throw new GatewayError("upstream_error", `The server answered with error${code}`);
  }
  if (!isJsonObject(result)) throw new GatewayError("upstream_error", "The server's answer contains no result");
  if (result.resultType === "input_required") {
    throw new GatewayError("upstream_error", "The server asks for input that only a person can give");
  }
  return result;
}

export interface ToolPage {
  tools: RemoteTool[];
  cursor?: string;
  /** How long the list holds, in milliseconds, where the server says so. */
  ttlMs?: number;
}

export function toolsIn({ tools, nextCursor, ttlMs }: JsonObject): ToolPage {
  return {
    tools: asObjects(tools).flatMap(toolIn),
    ...(isText(nextCursor) && { cursor: nextCursor }),
    ...(typeof ttlMs === "number" && { ttlMs }),
  };
}

function toolIn({ name, description, inputSchema, annotations }: JsonObject): RemoteTool[] {
  if (typeof name !== "string" || name === "") return [];
  return [{
    name,
    ...(typeof description === "string" && { description }),
    parameters: isJsonObject(inputSchema) ? inputSchema : { type: "object", properties: {} },
    ...(isJsonObject(annotations) && { annotations }),
  }];
}

/** What a call came to. `mostCharacters`: of all its texts together. */
export function contentIn({ content, structuredContent, isError }: JsonObject, mostCharacters: number): HostedResult {
  const blocks = asObjects(content);
  const parts = blocks.flatMap(partIn);
  const whole = parts.length === 0 && isJsonObject(structuredContent)
    ? [{ type: "text" as const, text: JSON.stringify(structuredContent) }]
    : parts;
  let left = mostCharacters;
  const fitting = whole.map((part) => {
    if (part.type !== "text") return part;
    const text = part.text.length > left ? `${part.text.slice(0, left).toWellFormed()} …` : part.text;
    left = Math.max(0, left - part.text.length);
    return { ...part, text };
  });
  return { kind: "content", content: fitting, ...(isError === true && { isError: true }) };
}

function partIn(block: JsonObject): RemoteContent[] {
  const { type, data, mimeType } = block;
  switch (type) {
    case "text":
      return [{ type: "text", text: asText(block.text) }];
    case "image":
    case "audio":
      return typeof data === "string" && typeof mimeType === "string"
        ? [{ type: "file", mediaType: mimeType, source: { type: "base64", data } }]
        : [];
    case "resource_link":
      return [{
        type: "text",
        text: [block.title ?? block.name, block.uri, block.description].filter(isText).join("\n"),
      }];
    case "resource": {
      const resource = asObject(block.resource);
      return isText(resource.text)
        ? [{ type: "text", text: resource.text }]
        : [{ type: "text", text: `[${asText(resource.uri)}]` }];
    }
    default:
      return [];
  }
}
