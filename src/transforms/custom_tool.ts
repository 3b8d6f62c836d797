/**
 * Custom tools for upstreams that only support functions: the tool becomes a function with one string, `input`, and the
 * model's call is converted back.
 */
import type { CustomTool, FunctionTool, Tool } from "../canonical/generate.ts";
import { isJsonObject, parseJson } from "../canonical/json.ts";

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

/** The text in the arguments of the substitute function. Arguments of any other form count as the text themselves. */
export function unwrapCustomInput(args: string): string {
  const value = parseJson(args);
  return isJsonObject(value) && typeof value.input === "string" ? value.input : args;
}

export function customNames(tools: readonly Tool[] | undefined): ReadonlySet<string> {
  return new Set((tools ?? []).filter(({ type }) => type === "custom").map(({ name }) => name));
}
