/**
 * Custom tools for upstreams that only support functions: the tool becomes a function with one string, `input`, and the
 * model's call is converted back.
 */
import type { CustomTool, FunctionTool, Tool } from "../canonical/generate.ts";
import { isJsonObject, type JsonValue, parseJson } from "../canonical/json.ts";

export function asFunctionTool({ name, description, grammar, extra }: CustomTool): FunctionTool {
  const rule = grammar && `The input must match this ${grammar.syntax} grammar:\n${grammar.definition}`;
  const described = [description, rule].filter((text) => text !== undefined).join("\n\n");
  return {
    type: "function",
    name,
    ...(described !== "" && { description: described }),
    parameters: {
      type: "object",
      properties: { input: { type: "string", description: "The whole input of the tool, as plain text" } },
      required: ["input"],
      additionalProperties: false,
    },
    ...(extra && { extra }),
  };
}

export function wrapCustomInput(input: string): string {
  return JSON.stringify({ input });
}

/**
 * The text in the arguments of the substitute function. Models also wrap it in their own ways: under another name, as a
 * command after the tool's `name`, or as a JSON string. Anything else counts as the text itself.
 */
export function unwrapCustomInput(args: string, name: string): string {
  const value = parseJson(args);
  if (!isJsonObject(value)) return typeof value === "string" ? value : args;
  if (typeof value.input === "string") return value.input;
  const [only, ...others] = Object.values(value);
  if (others.length > 0) return args;
  const text = Array.isArray(only) ? commandText(only, name) : only;
  return typeof text === "string" ? text : args;
}

/** The text of a command of one word, before which the tool may be named. */
function commandText(words: readonly JsonValue[], name: string): JsonValue | undefined {
  const rest = words[0] === name ? words.slice(1) : words;
  return rest.length === 1 ? rest[0] : undefined;
}

export function customNames(tools: readonly Tool[] | undefined): ReadonlySet<string> {
  return new Set((tools ?? []).filter(({ type }) => type === "custom").map(({ name }) => name));
}
