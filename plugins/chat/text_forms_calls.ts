/** The forms in which models write calls of tools, each with its reader. */
import { isJsonObject, isJsonText, type JsonObject, parseJson } from "../../src/canonical/json.ts";
import { jsonText, oneOf, peek, type Reading, skipSpace, type Source, until, word } from "./text_forms_source.ts";

export interface TextCall {
  name: string;
  /** The arguments as JSON text. */
  input: string;
}

/** The tools that may be called, each with the schema of its arguments. */
export type CallableTools = ReadonlyMap<string, JsonObject | undefined>;

/** Reads what follows a form's opening mark; nothing where it is not a call of one of the tools. */
type CallReader = (source: Source, tools: CallableTools) => Reading<TextCall[] | undefined>;

export interface CallForm {
  open: string;
  read: CallReader;
  /** The mark is a token that a model does not write as a text, so that it may follow one at any place. */
  isToken?: true;
  /** The mark stands inside another tag as a rule: where one comes before it that is text, it is text too. */
  isInner?: true;
}

/** What no name and no header of a call is longer than, in characters. */
const LONGEST_NAME = 256;

/** How arguments are written one by one, each between marks. */
interface Tagged {
  nameEnd: string;
  key: string;
  keyEnd: string;
  /** What begins the value, where the end of the key does not. */
  value?: string;
  valueEnd: string;
  end: string;
  /** Values stand on lines of their own. */
  onLines?: true;
}

const FUNCTION_TAG: Tagged = {
  nameEnd: ">",
  key: "<parameter=",
  keyEnd: ">",
  valueEnd: "</parameter>",
  end: "</function>",
  onLines: true,
};

const ARGUMENT_TAGS: Tagged = {
  nameEnd: "",
  key: "<arg_key>",
  keyEnd: "</arg_key>",
  value: "<arg_value>",
  valueEnd: "</arg_value>",
  end: "</tool_call>",
};

function invokeTag(prefix: string): Tagged {
  return {
    nameEnd: '">',
    key: `<${prefix}parameter name="`,
    keyEnd: ">",
    valueEnd: `</${prefix}parameter>`,
    end: `</${prefix}invoke>`,
  };
}

const DSML = "｜DSML｜";

/** Every form. No opening mark begins with another. */
export const CALL_FORMS: readonly CallForm[] = [
  // Hermes and Qwen: JSON; Qwen's coders: a function tag; GLM: a name with tags of arguments.
  { open: "<tool_call>", read: readToolCall },
  // Qwen's coders leave the outer tag out at times.
  { open: "<function=", read: (source, tools) => readTagged(source, tools, FUNCTION_TAG), isInner: true },
  // Llama
  { open: "<|python_tag|>", read: readObjects, isToken: true },
  // Mistral
  { open: "[TOOL_CALLS]", read: readToolCalls, isToken: true },
  // DeepSeek, in its first form, and in the later one with one mark for each argument
  section("<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>", "<｜tool▁calls▁end｜>", readSeparated),
  ...["function_calls", "tool_calls"].map((name) =>
    section(
      `<${DSML}${name}>`,
      `<${DSML}invoke name="`,
      `</${DSML}${name}>`,
      (source, tools) => readTagged(source, tools, invokeTag(DSML)),
    )
  ),
  // MiniMax
  section(
    "<minimax:tool_call>",
    '<invoke name="',
    "</minimax:tool_call>",
    (source, tools) => readTagged(source, tools, invokeTag("")),
  ),
  // Kimi
  section("<|tool_calls_section_begin|>", "<|tool_call_begin|>", "<|tool_calls_section_end|>", readNumbered),
];

/** Calls between a mark that opens them all and one that ends them all, which is left out where the answer ends. */
function section(open: string, item: string, close: string, read: CallReader): CallForm {
  return {
    open,
    isToken: true,
    *read(source, tools) {
      const calls: TextCall[] = [];
      for (;;) {
        if ((yield* skipSpace(source)) === "" && calls.length > 0) return calls;
        const mark = yield* oneOf(source, [item, close]);
        if (mark === close) return calls.length > 0 ? calls : undefined;
        const found = mark && (yield* read(source, tools));
        if (!found) return undefined;
        for (const call of found) calls.push(call);
      }
    },
  };
}

/** The mark that ends a call; models that stop with it leave it out. */
function* ends(source: Source, mark: string): Reading<boolean> {
  return (yield* skipSpace(source)) === "" || (yield* word(source, mark));
}

function* readToolCall(source: Source, tools: CallableTools): Reading<TextCall[] | undefined> {
  const next = yield* skipSpace(source);
  if (next !== "{" && next !== "<") return yield* readTagged(source, tools, ARGUMENT_TAGS);
  if (next === "<" && !(yield* word(source, "<function="))) return undefined;
  const calls = next === "{"
    ? asCalls([yield* jsonText(source)], tools)
    : yield* readTagged(source, tools, FUNCTION_TAG);
  return calls && (yield* ends(source, "</tool_call>")) ? calls : undefined;
}

/** `{…}; {…}` */
function* readObjects(source: Source, tools: CallableTools): Reading<TextCall[] | undefined> {
  const texts: (string | undefined)[] = [];
  for (;;) {
    if ((yield* skipSpace(source)) !== "{") return undefined;
    texts.push(yield* jsonText(source));
    if ((yield* skipSpace(source, " ")) !== ";") return asCalls(texts, tools);
    source.at++;
  }
}

/** `[{…}, {…}]`, or `name[ARGS]{…}` with or without an id, or `name{…}`. */
function* readToolCalls(source: Source, tools: CallableTools): Reading<TextCall[] | undefined> {
  if ((yield* skipSpace(source)) === "[") {
    const list = yield* jsonText(source);
    return list && parseJson(list) ? asCalls(membersOf(list).map(({ value }) => value), tools) : undefined;
  }
  const name = yield* toolName(source, tools);
  if (name === undefined) return undefined;
  if ((yield* peek(source)) !== "{") {
    const mark = yield* oneOf(source, ["[ARGS]", "[CALL_ID]"]);
    if (mark === undefined) return undefined;
    if (mark === "[CALL_ID]" && (yield* until(source, "[ARGS]", LONGEST_NAME)) === undefined) return undefined;
  }
  yield* skipSpace(source);
  return asCall(name, yield* jsonText(source), tools);
}

/** `name<｜tool▁sep｜>{…}`, or in the older form a kind before the mark, then the name, and JSON in a fence. */
function* readSeparated(source: Source, tools: CallableTools): Reading<TextCall[] | undefined> {
  let name = yield* until(source, "<｜tool▁sep｜>", LONGEST_NAME);
  const isFenced = name?.trim() === "function" && (yield* peek(source)) !== "{";
  if (isFenced) {
    name = yield* toolName(source, tools);
    yield* skipSpace(source);
    if (!(yield* word(source, "```json"))) return undefined;
  }
  yield* skipSpace(source);
  const calls = asCall(name?.trim(), yield* jsonText(source), tools);
  yield* skipSpace(source);
  if (isFenced && !(yield* word(source, "```"))) return undefined;
  return (yield* ends(source, "<｜tool▁call▁end｜>")) ? calls : undefined;
}

/** `functions.name:0<|tool_call_argument_begin|>{…}` */
function* readNumbered(source: Source, tools: CallableTools): Reading<TextCall[] | undefined> {
  const header = yield* until(source, "<|tool_call_argument_begin|>", LONGEST_NAME);
  const name = header?.trim().replace(/^functions\./, "").replace(/:\d+$/, "");
  yield* skipSpace(source);
  const calls = asCall(name, yield* jsonText(source), tools);
  return calls && (yield* ends(source, "<|tool_call_end|>")) ? calls : undefined;
}

function* readTagged(source: Source, tools: CallableTools, tagged: Tagged): Reading<TextCall[] | undefined> {
  const name = yield* toolName(source, tools);
  if (name === undefined || (tagged.nameEnd && !(yield* word(source, tagged.nameEnd)))) return undefined;
  const schema = tools.get(name);
  const members: string[] = [];
  for (;;) {
    yield* skipSpace(source);
    const mark = yield* oneOf(source, [tagged.key, tagged.end]);
    if (mark === tagged.end) return [{ name, input: `{${members.join(",")}}` }];
    const header = mark && (yield* until(source, tagged.keyEnd, LONGEST_NAME));
    if (header === undefined) return undefined;
    if (tagged.value) {
      yield* skipSpace(source);
      if (!(yield* word(source, tagged.value))) return undefined;
    }
    const value = yield* until(source, tagged.valueEnd);
    if (value === undefined) return undefined;
    // A name in quotes may say of its value whether it is a string.
    const [, key = "", told] = /^\s*(.*?)\s*(?:"(?: string="(true|false)")?)?$/s.exec(header) ?? [];
    const text = tagged.onLines ? value.replace(/^\n/, "").replace(/\n$/, "") : value;
    const isString = told === undefined ? takesStrings(schema, key) : told === "true";
    members.push(`${JSON.stringify(key)}:${!isString && isJsonText(text) ? text.trim() : JSON.stringify(text)}`);
  }
}

/** Whether the schema lets the property be a string. */
function takesStrings(schema: JsonObject | undefined, key: string): boolean {
  const properties = schema?.properties;
  const property = isJsonObject(properties) ? properties[key] : undefined;
  return isJsonObject(property) &&
    [property, ...alternatives(property)].some(({ type, enum: values }) =>
      type === "string" || (Array.isArray(type) && type.includes("string")) ||
      (type === undefined && Array.isArray(values) && values.some((value) => typeof value === "string"))
    );
}

function alternatives({ anyOf, oneOf }: JsonObject): JsonObject[] {
  return [anyOf, oneOf].flat().filter(isJsonObject);
}

/** An answer that is one call and nothing else; its first bracket is next. What it is called comes first. */
export function* readBareObject(source: Source, tools: CallableTools): Reading<TextCall[] | undefined> {
  source.at++;
  for (;;) {
    yield* skipSpace(source);
    const key = yield* oneOf(source, ['"name"', '"type"'] as const);
    yield* skipSpace(source);
    if (key === undefined || !(yield* word(source, ":"))) return undefined;
    yield* skipSpace(source);
    if (key === '"name"') break;
    if (!(yield* word(source, '"function"'))) return undefined;
    yield* skipSpace(source);
    if (!(yield* word(source, ","))) return undefined;
  }
  if (!(yield* word(source, '"')) || (yield* toolName(source, tools)) === undefined) return undefined;
  if (!(yield* word(source, '"')) || (yield* jsonText(source, 1)) === undefined) return undefined;
  const text = source.held().trim();
  const hasArguments = ["arguments", "parameters"].some((key) => memberOf(text, key) !== undefined);
  return (yield* skipSpace(source)) === "" && hasArguments ? asCalls([text], tools) : undefined;
}

/** The body of a message of harmony to `functions.name`. */
export function* readAddressed(
  source: Source,
  to: string,
  tools: CallableTools,
): Reading<TextCall[] | undefined> {
  const name = to.replace(/^functions\./, "");
  if (!tools.has(name)) return undefined;
  yield* skipSpace(source);
  const calls = asCall(name, yield* jsonText(source), tools);
  return calls && (yield* ends(source, "<|call|>")) ? calls : undefined;
}

/** The longest name of a tool that comes next. */
function* toolName(source: Source, tools: CallableTools): Reading<string | undefined> {
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

/** Objects with a name and arguments, or with the arguments as a text of JSON; nothing where one is not a call. */
function asCalls(texts: readonly (string | undefined)[], tools: CallableTools): TextCall[] | undefined {
  const calls = texts.flatMap((text = "") => {
    const call = parseJson(text);
    if (!isJsonObject(call) || typeof call.name !== "string") return [];
    const key = "arguments" in call ? "arguments" : "parameters";
    const args = call[key] ?? "{}";
    return asCall(call.name, typeof args === "string" ? args : memberOf(text, key), tools) ?? [];
  });
  return calls.length === texts.length && calls.length > 0 ? calls : undefined;
}

function asCall(name: string | undefined, input: string | undefined, tools: CallableTools): TextCall[] | undefined {
  if (name === undefined || input === undefined || !tools.has(name)) return undefined;
  return isJsonObject(parseJson(input)) ? [{ name, input }] : undefined;
}

/** The text of a field, as the model wrote it: its numbers may be longer than ours. */
function memberOf(text: string, wanted: string): string | undefined {
  return membersOf(text).findLast(({ key }) => key === wanted)?.value;
}

const MARKS = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]/gs;

/** What is in an object or a list of JSON, each as its text. */
function membersOf(text: string): { key?: string; value: string }[] {
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
