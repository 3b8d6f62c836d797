/** Calls whose arguments are written one by one, each between tags. */
import { isJsonObject, isJsonText, type JsonObject } from "../../src/canonical/json.ts";
import { type CallableTools, LONGEST_NAME, type TextCall, toolName } from "./callable_tools.ts";
import { oneOf, type Reading, skipSpace, type Source, until, word } from "./text_forms_source.ts";

/** How arguments are written one by one, each between marks. */
interface Tagged {
  nameEnd: string;
  key: string;
  keyEnd: string;
  /** The mark that begins the value, if the end of the key does not begin it. */
  value?: string;
  valueEnd: string;
  end: string;
  /** Values stand on lines of their own. */
  onLines?: true;
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
  nameEnd: "",
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
  if (name === undefined || (tagged.nameEnd && !(yield* word(source, tagged.nameEnd)))) return undefined;
  const schema = tools.get(name);
  const members: string[] = [];
  for (;;) {
    yield* skipSpace(source);
    const mark = yield* oneOf(source, [tagged.key, tagged.end]);
    if (mark === tagged.end) return [{ name, input: `{${members.join(",")}}` }];
    const header = mark && (yield* until(source, tagged.keyEnd, LONGEST_NAME));
    if (header === undefined) return undefined;
    const value = yield* readValue(source, tagged);
    if (value === undefined) return undefined;
    members.push(member(header, value, schema));
  }
}

function* readValue(source: Source, { value: begin, valueEnd, onLines }: Tagged): Reading<string | undefined> {
  if (begin) {
    yield* skipSpace(source);
    if (!(yield* word(source, begin))) return undefined;
  }
  const value = yield* until(source, valueEnd);
  return onLines ? value?.replace(/^\n/, "").replace(/\n$/, "") : value;
}

/** The argument as a member of an object. Its name, if it is in quotes, may say whether the value is a string. */
function member(header: string, value: string, schema: JsonObject | undefined): string {
  const [, key = "", declared] = /^\s*(.*?)\s*(?:"(?: string="(true|false)")?)?$/s.exec(header) ?? [];
  const isString = declared === undefined ? takesStrings(schema, key) : declared === "true";
  return `${JSON.stringify(key)}:${!isString && isJsonText(value) ? value.trim() : JSON.stringify(value)}`;
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
