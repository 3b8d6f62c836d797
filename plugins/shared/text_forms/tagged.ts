/** Calls whose arguments are written one by one, each between tags. */
import { isJsonObject, isJsonText, type JsonObject } from "../../../src/canonical/json.ts";
import { type CallableTools, LONGEST_NAME, type TextCall, toolName } from "./callable_tools.ts";
import { jsonText, oneOf, type Reading, skipSpace, type Source, until, word } from "./source.ts";

/** How arguments are written one by one, each between marks. */
export interface Tagged {
  /** The mark behind the tool's name. */
  nameEnd?: string;
  /** The mark that ends the header of the call, if more than the name is in it. */
  headerEnd?: string;
  key: string;
  keyEnd: string;
  /** The mark that begins the value, if the end of the key does not begin it. */
  value?: string;
  /** `{key}` stands for the key. */
  valueEnd: string;
  end: string;
  /** Values stand on lines of their own. */
  onLines?: true;
  /** The marks around all arguments as one object, if they may come so. */
  object?: { open: string; headerEnd: string; close: string };
  /** Values that are no text are nested tags after this mark. */
  nested?: string;
}

export const FUNCTION_TAG: Tagged = {
  nameEnd: ">",
  key: "<parameter=",
  keyEnd: ">",
  valueEnd: "</parameter>",
  end: "</function>",
  onLines: true,
};

export const ARGUMENT_TAGS: Tagged = {
  key: "<arg_key>",
  keyEnd: "</arg_key>",
  value: "<arg_value>",
  valueEnd: "</arg_value>",
  end: "</tool_call>",
};

export function invokeTag(prefix: string): Tagged {
  return {
    nameEnd: '">',
    key: `<${prefix}parameter name="`,
    keyEnd: ">",
    valueEnd: `</${prefix}parameter>`,
    end: `</${prefix}invoke>`,
  };
}

export function* readTagged(source: Source, tools: CallableTools, tagged: Tagged): Reading<TextCall[] | undefined> {
  const name = yield* toolName(source, tools);
  if (name === undefined || !(yield* endHeader(source, tagged))) return undefined;
  const schema = tools.get(name);
  const members: string[] = [];
  const marks = [tagged.key, tagged.end, ...(tagged.object ? [tagged.object.open] : [])];
  for (;;) {
    yield* skipSpace(source);
    const mark = yield* oneOf(source, marks);
    if (mark === tagged.end) return [{ name, input: `{${members.join(",")}}` }];
    if (mark === tagged.object?.open) {
      const input = yield* readObject(source, tagged);
      return input === undefined ? undefined : [{ name, input }];
    }
    const found = mark && (yield* readMember(source, tagged, schema));
    if (!found) return undefined;
    members.push(found);
  }
}

function* endHeader(source: Source, { nameEnd, headerEnd }: Tagged): Reading<boolean> {
  if (nameEnd && !(yield* word(source, nameEnd))) return false;
  return !headerEnd || (yield* until(source, headerEnd, LONGEST_NAME)) !== undefined;
}

/** All arguments as one object, and the end of the call. */
function* readObject(source: Source, { object, end }: Tagged): Reading<string | undefined> {
  if (!object || (yield* until(source, object.headerEnd, LONGEST_NAME)) === undefined) return undefined;
  yield* skipSpace(source);
  const text = yield* jsonText(source);
  yield* skipSpace(source);
  if (text === undefined || !isJsonText(text) || !(yield* word(source, object.close))) return undefined;
  yield* skipSpace(source);
  return (yield* word(source, end)) ? text : undefined;
}

function* readMember(source: Source, tagged: Tagged, schema: JsonObject | undefined): Reading<string | undefined> {
  const header = yield* until(source, tagged.keyEnd, LONGEST_NAME);
  const argument = header === undefined ? undefined : readHeader(header);
  if (!argument || argument.key.startsWith("/")) return undefined;
  const { key, isClosed, isText = takesStrings(schema, key) } = argument;
  const value = isClosed ? argument.value ?? "" : yield* readValue(source, tagged, key);
  if (value === undefined) return undefined;
  const isPlain = isText || !isJsonText(value);
  const nested = isPlain && tagged.nested ? nestedValue(value, tagged.nested) : undefined;
  return `${JSON.stringify(key)}:${nested ?? (isPlain ? JSON.stringify(value) : value.trim())}`;
}

function* readValue(source: Source, { value: begin, valueEnd, onLines }: Tagged, key: string): Reading<
  string | undefined
> {
  if (begin) {
    yield* skipSpace(source);
    if (!(yield* word(source, begin))) return undefined;
  }
  const value = yield* until(source, valueEnd.replace("{key}", () => key));
  return onLines ? value?.replace(/^\n/, "").replace(/\n$/, "") : value;
}

interface Argument {
  key: string;
  /** Whether it is a text, if the model says so. */
  isText?: boolean;
  /** Its tag ends with a slash: it has no content. */
  isClosed: boolean;
  value?: string;
}

/** The header of an argument: its name, which fields in quotes may follow. */
function readHeader(header: string): Argument {
  const quote = header.indexOf('"');
  if (quote < 0) return { key: header.trim(), isClosed: false };
  const fields = header.slice(quote + 1);
  const field = (name: string) => new RegExp(`\\b${name}="([^"]*)"`).exec(fields)?.[1];
  const [isString, type, value] = ["string", "type", "value"].map(field);
  const isText = isString === undefined ? type && type === "string" : isString === "true";
  return {
    key: header.slice(0, quote).trim(),
    ...(typeof isText === "boolean" && { isText }),
    isClosed: /\/\s*$/.test(fields),
    ...(value !== undefined && { value }),
  };
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

/** Deeper values stay texts. */
const DEEPEST = 32;

/** The value as JSON. `undefined` if it is not made of tags. Tags that are all `item` make a list, others an object. */
export function nestedValue(text: string, mark: string, depth = 0): string | undefined {
  const members: { key: string; value: string }[] = [];
  const open = `${mark}<`;
  let rest = text.trim();
  if (depth > DEEPEST) return undefined;
  while (rest !== "") {
    const keyEnd = rest.indexOf(">", open.length);
    const key = rest.startsWith(open) && keyEnd > 0 ? rest.slice(open.length, keyEnd) : "/";
    if (key.startsWith("/")) return undefined;
    const [begin, close] = [`${open}${key}>`, `${open}/${key}>`];
    const end = closing(rest, begin, close);
    if (end < 0) return undefined;
    const inner = rest.slice(begin.length, end);
    const leaf = isJsonText(inner) ? inner.trim() : JSON.stringify(inner);
    members.push({ key, value: nestedValue(inner, mark, depth + 1) ?? leaf });
    rest = rest.slice(end + close.length).trimStart();
  }
  if (members.length === 0) return undefined;
  const isList = members.every(({ key }) => key === "item");
  const values = members.map(({ key, value }) => isList ? value : `${JSON.stringify(key)}:${value}`).join(",");
  return isList ? `[${values}]` : `{${values}}`;
}

/** Where the tag that opens the text is closed. */
function closing(text: string, begin: string, close: string): number {
  let depth = 1;
  let at = begin.length;
  for (;;) {
    const end = text.indexOf(close, at);
    if (end < 0) return -1;
    const next = text.indexOf(begin, at);
    const isOpened = next >= 0 && next < end;
    depth += isOpened ? 1 : -1;
    if (depth === 0) return end;
    at = isOpened ? next + begin.length : end + close.length;
  }
}
