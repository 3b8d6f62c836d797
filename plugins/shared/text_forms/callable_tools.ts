/** The tools that an answer's text may call, and what makes a call of one of them: its name, and an object for its arguments. */
import { isJsonObject, type JsonObject, parseJson } from "../../../src/canonical/json.ts";
import { peek, type Reading, type Source } from "./source.ts";

export interface TextCall {
  name: string;
  /** The arguments as JSON text. */
  input: string;
}

/** The tools that may be called, each with the schema of its arguments. */
export type CallableTools = ReadonlyMap<string, JsonObject | undefined>;

/** The greatest length of a name or a header of a call, in characters. */
export const LONGEST_NAME = 256;

/** The longest name of a tool that comes next. */
export function* toolName(source: Source, tools: CallableTools): Reading<string | undefined> {
  let left = [...tools.keys()];
  let name = "";
  for (;;) {
    const next = yield* peek(source);
    const longer = next === "" ? [] : left.filter((one) => one[name.length] === next);
    if (longer.length === 0) return tools.has(name) ? name : undefined;
    left = longer;
    name += next;
    source.at++;
  }
}

/** Objects with a name and arguments, which may be JSON in a text. `undefined` if one of them is not a call. */
export function asCalls(texts: readonly (string | undefined)[], tools: CallableTools): TextCall[] | undefined {
  const calls = texts.flatMap((text = "") => {
    const call = parseJson(text);
    if (!isJsonObject(call)) return [];
    const name = call.name ?? call.tool_name;
    const key = "arguments" in call ? "arguments" : "parameters";
    const args = call[key] ?? "{}";
    return typeof name !== "string"
      ? []
      : asCall(name, typeof args === "string" ? args : memberOf(text, key), tools) ?? [];
  });
  return calls.length === texts.length && calls.length > 0 ? calls : undefined;
}

export function asCall(
  name: string | undefined,
  input: string | undefined,
  tools: CallableTools,
): TextCall[] | undefined {
  if (name === undefined || input === undefined || !tools.has(name)) return undefined;
  return isJsonObject(parseJson(input)) ? [{ name, input }] : undefined;
}

/** The text of a field, as the model wrote it: its numbers may be longer than ours. */
export function memberOf(text: string, wanted: string): string | undefined {
  return membersOf(text).findLast(({ key }) => key === wanted)?.value;
}

const MARKS = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]/gs;

/** The members of an object or a list of JSON, each as its text. */
export function membersOf(text: string): { key?: string; value: string }[] {
  const members: { key?: string; value: string }[] = [];
  let depth = 0;
  let key: string | undefined;
  let start = text.search(/\S/) + 1;
  for (const { 0: mark, index } of text.matchAll(MARKS)) {
    const isTop = depth === 1;
    if (mark === "{" || mark === "[") depth++;
    if (mark === "}" || mark === "]") depth--;
    if (!isTop) continue;
    if (mark === ":") {
      key = String(parseJson(text.slice(start, index)));
      start = index + 1;
    } else if (mark === "," || depth === 0) {
      const value = text.slice(start, index).trim();
      if (value !== "") members.push({ key, value });
      key = undefined;
      start = index + 1;
    }
  }
  return members;
}
