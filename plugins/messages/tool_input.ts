/** The input of a call of a tool, which is an object on this wire. */
import type { ToolCallPart } from "../../src/canonical/generate.ts";
import { isJsonObject, type JsonObject, parseJson } from "../../src/canonical/json.ts";

/** A custom tool is spoken as a function with one text. */
export function inputOf({ kind, input }: ToolCallPart): JsonObject {
  return kind === "custom" ? { input } : parseInput(input);
}

/** The input of a call is an object on this wire. */
export function parseInput(input: string): JsonObject {
  const value = parseJson(input);
  if (value === undefined) return input.trim() === "" ? {} : { input };
  return isJsonObject(value) ? value : { input: value };
}
