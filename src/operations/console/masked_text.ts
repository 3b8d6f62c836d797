/** What hides the secrets in what was recorded: those that the gateway knows, and those that a client sent for tools. */
import type { Recorded } from "../../context/recorded.ts";
import { SHORTEST_MASKED } from "../../context/secrets.ts";
import { isObject } from "../../util/merge.ts";

/** Names of fields with credentials, in the descriptions of hosted tools and of servers of tools. */
const CREDENTIAL = /^(authorization|authorization_token|token|api_key|headers)$/i;

/** The same in a text that is no whole JSON: a field with its text, or with all that stands in braces. */
const WRITTEN =
  /"(?:authorization|authorization_token|token|api_key|headers)"\s*:\s*(?:"((?:\\.|[^"\\])*)"?|\{([^}]*))/gi;

export function hiderOf({ body, hide }: Recorded): (text: string) => string {
  const spellings = credentialsIn(new TextDecoder().decode(body.bytes())).flatMap((one) => {
    const inJson = JSON.stringify(one).slice(1, -1);
    return [inJson, JSON.stringify(inJson).slice(1, -1), one];
  });
  return (text) => spellings.reduce((masked, one) => masked.replaceAll(one, "***"), hide(text));
}

/** What the client's JSON holds for servers that hosted tools call. Of a body that is cut off, whatever looks like it. */
function credentialsIn(text: string): string[] {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return Array.from(text.matchAll(WRITTEN), ([, one, headers]) => one ?? headers ?? "")
      .flatMap((found) => found.split('"')).filter(({ length }) => length >= SHORTEST_MASKED);
  }
  if (!isObject(body)) return [];
  const { tools, messages: _messages, input: _input, ...rest } = body;
  const hosted = Array.isArray(tools) ? tools.filter((tool) => !isFunction(tool)) : [];
  const found = secretsUnder({ hosted, rest });
  return [...new Set(found)].sort((one, other) => other.length - one.length);
}

/** A function of the client's own describes what it takes, perhaps a token. */
function isFunction(tool: unknown): boolean {
  return isObject(tool) && (tool.type === "function" || "input_schema" in tool || "function" in tool);
}

function secretsUnder(value: unknown, isSecret = false): string[] {
  if (typeof value === "string") return isSecret && value.length >= SHORTEST_MASKED ? [value] : [];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => secretsUnder(inner, isSecret || CREDENTIAL.test(key)));
}
