/** JSON schemas with less in them, for servers that cannot read all of the language. What is left out constrains, and is never needed. */
import { isJsonObject, type JsonObject, type JsonValue } from "../canonical/json.ts";

/** Keywords with a schema, with several by name, and with a list of them. */
const ONE = [
  "items",
  "additionalProperties",
  "not",
  "if",
  "then",
  "else",
  "contains",
  "propertyNames",
  "unevaluatedItems",
  "unevaluatedProperties",
  "additionalItems",
];
const NAMED = ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];
const SEVERAL = ["anyOf", "oneOf", "allOf", "prefixItems"];
const DEEPEST = 64;

type Change = (schema: JsonObject) => JsonObject;

/** The schema with each schema in it changed, the inner ones first. */
function everywhere(
  schema: JsonValue,
  change: Change,
  atBoolean?: (schema: boolean) => JsonValue,
  depth = 0,
): JsonValue {
  if (typeof schema === "boolean" && atBoolean) return atBoolean(schema);
  if (!isJsonObject(schema) || depth > DEEPEST) return schema;
  const inner = (value: JsonValue) => everywhere(value, change, atBoolean, depth + 1);
  const entries = Object.entries(schema).map(([key, value]): [string, JsonValue] => {
    if (value === undefined) return [key, null];
    if (ONE.includes(key)) return [key, Array.isArray(value) ? value.map(inner) : inner(value)];
    if (SEVERAL.includes(key) && Array.isArray(value)) return [key, value.map(inner)];
    if (NAMED.includes(key) && isJsonObject(value)) {
      return [key, Object.fromEntries(Object.entries(value).map(([name, one]) => [name, inner(one ?? {})]))];
    }
    return [key, value];
  });
  return change(Object.fromEntries(entries));
}

/** The keywords that a schema uses, in itself and in the schemas in it. */
export function keywordsIn(schema: JsonValue): Set<string> {
  const found = new Set<string>();
  everywhere(schema, (one) => {
    for (const key of Object.keys(one)) found.add(key);
    return one;
  });
  return found;
}

export function withoutKeyword(schema: JsonValue, keyword: string): JsonValue {
  return everywhere(schema, ({ [keyword]: _, ...others }) => others);
}

/** A type for each schema that has none, found in what else it says. */
export function withTypes(schema: JsonValue): JsonValue {
  return everywhere(schema, (one) => {
    if (one.type !== undefined || [...SEVERAL, "$ref"].some((key) => Object.hasOwn(one, key))) return one;
    return { ...one, type: typeOf(one) };
  }, (isAny) => isAny ? { type: "object" } : { type: "null" });
}

function typeOf({ enum: values, const: value, properties, items }: JsonObject): string {
  if (properties !== undefined) return "object";
  if (items !== undefined) return "array";
  const [one] = Array.isArray(values) ? values : [value];
  if (typeof one === "number") return Number.isInteger(one) ? "integer" : "number";
  return typeof one === "boolean" ? "boolean" : "string";
}

/** The keywords that every reader of schemas knows. */
const SIMPLE = new Set([
  "type",
  "description",
  "title",
  "properties",
  "required",
  "items",
  "enum",
  "anyOf",
  "additionalProperties",
  "default",
]);
const BARE = new Set(["type", "description", "properties", "required", "items", "enum"]);

/** Without patterns, formats, bounds and references, with one type each and no boolean schemas. */
export function simplified(schema: JsonValue): JsonValue {
  return everywhere(inlined(schema), (one) => onlyKeywords(withConst(oneType(one)), SIMPLE), () => ({}));
}

/** With types, properties, items and enumerations alone. */
export function bare(schema: JsonValue): JsonValue {
  return everywhere(inlined(schema), (one) => {
    const chosen = onlyKeywords(withConst(oneType(firstChoice(one))), BARE);
    return { ...chosen, type: chosen.type ?? typeOf(chosen) };
  }, () => ({ type: "string" }));
}

export function empty(schema: JsonValue): JsonValue {
  const { description } = isJsonObject(schema) ? schema : {};
  return { type: "object", properties: {}, ...(typeof description === "string" && { description }) };
}

function onlyKeywords(schema: JsonObject, kept: ReadonlySet<string>): JsonObject {
  return Object.fromEntries(
    Object.entries(schema).filter(([key, value]) =>
      kept.has(key) && !(key === "additionalProperties" && !isJsonObject(value) && value !== false)
    ),
  );
}

function oneType(schema: JsonObject): JsonObject {
  if (!Array.isArray(schema.type)) return schema;
  return { ...schema, type: schema.type.find((one) => one !== "null") ?? "null" };
}

function withConst({ const: value, ...others }: JsonObject): JsonObject {
  return value === undefined || others.enum !== undefined ? others : { ...others, enum: [value] };
}

function firstChoice(schema: JsonObject): JsonObject {
  const choices = [schema.anyOf, schema.oneOf, schema.allOf].find(Array.isArray);
  const chosen = choices?.find((one) => isJsonObject(one) && one.type !== "null");
  return isJsonObject(chosen) ? { ...chosen, ...schema, type: schema.type ?? chosen.type ?? "object" } : schema;
}

/** References into the schema itself are replaced once by what they refer to. Others, and those in a circle, become schemas for anything. */
function inlined(root: JsonValue): JsonValue {
  if (!isJsonObject(root)) return root;
  let left = MOST_REFERENCES;
  const expand = (value: JsonValue, open: readonly string[]): JsonValue =>
    everywhere(value, (one) => {
      const { $ref: ref, ...others } = one;
      if (typeof ref !== "string") return one;
      const target = open.includes(ref) || open.length >= DEEPEST_REFERENCE || left-- <= 0
        ? undefined
        : resolve(root, ref);
      const found = target === undefined ? {} : expand(target, [...open, ref]);
      return isJsonObject(found) ? { ...found, ...others } : others;
    });
  const { $defs: _, definitions: __, ...rest } = expand(root, []) as JsonObject;
  return rest;
}

const DEEPEST_REFERENCE = 4;
const MOST_REFERENCES = 300;

function resolve(root: JsonObject, ref: string): JsonValue | undefined {
  if (!ref.startsWith("#")) return undefined;
  let found: JsonValue | undefined = root;
  for (const step of ref.slice(1).split("/").filter((one) => one !== "")) {
    const name = step.replaceAll("~1", "/").replaceAll("~0", "~");
    found = isJsonObject(found) && Object.hasOwn(found, name) ? found[name] : undefined;
  }
  return found;
}
