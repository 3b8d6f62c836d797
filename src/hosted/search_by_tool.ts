/** Searching the web by a tool of a server of the Model Context Protocol. */
import type { HostedResult } from "../canonical/hosted.ts";
import { isJsonObject, isText, type JsonObject, parseJson } from "../canonical/json.ts";
import type { FoundPage } from "../contract/search.ts";
import { GatewayError } from "../errors.ts";
import type { RemoteServer } from "./mcp.ts";
import type { FindPages } from "./search.ts";

/** Finds pages by the tool, which takes a `query` and answers with JSON that holds a list of pages. */
export function findByTool(server: RemoteServer, tool: string): FindPages {
  return async ({ query }, signal) => pagesIn(await server.call(tool, JSON.stringify({ query }), signal));
}

function pagesIn(result: HostedResult): FoundPage[] {
  if (result.kind !== "content" || result.isError) {
    throw new GatewayError("upstream_error", "The search tool failed");
  }
  const list = result.content.flatMap((part) => part.type === "text" ? listIn(parseJson(part.text)) ?? [] : []);
  const isList = result.content.some((part) => part.type === "text" && listIn(parseJson(part.text)));
  if (!isList) throw new GatewayError("upstream_error", "The search tool's answer contains no list of pages");
  return list.flatMap(pageOf);
}

/** The first list of objects, however deep it stands. */
function listIn(value: unknown): JsonObject[] | undefined {
  if (Array.isArray(value)) return value.filter(isJsonObject);
  if (!isJsonObject(value)) return undefined;
  for (const inner of Object.values(value)) {
    const list = listIn(inner);
    if (list) return list;
  }
  return undefined;
}

/** The names that services have for the fields of a page. */
function pageOf(entry: JsonObject): FoundPage[] {
  const text = (...names: string[]) => names.map((name) => entry[name]).find((one) => isText(one));
  const url = text("url", "link", "href");
  if (typeof url !== "string" || !/^https?:/i.test(url)) return [];
  const age = text("age", "date", "published_date", "publishedDate");
  return [{
    url,
    title: String(text("title", "name") ?? url),
    text: String(text("text", "content", "snippet", "description") ?? ""),
    ...(typeof age === "string" && { age }),
  }];
}
