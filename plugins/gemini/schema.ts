/** Converts this wire's schemas, in the dialect of OpenAPI 3.0, to standard JSON schemas. */
import { isJsonObject, type JsonObject, type JsonValue, setField } from "../../src/canonical/json.ts";

/** Names in snake case, and names that differ in JSON schema. */
const NAME_OF: Readonly<Record<string, string>> = {
  any_of: "anyOf",
  min_items: "minItems",
  max_items: "maxItems",
  min_length: "minLength",
  max_length: "maxLength",
  min_properties: "minProperties",
  max_properties: "maxProperties",
  prefix_items: "prefixItems",
  additional_properties: "additionalProperties",
  property_ordering: "propertyOrdering",
  defs: "$defs",
  ref: "$ref",
};
/** Keywords with 64-bit integers, which protocol buffers write as texts in JSON. */
const COUNTS: ReadonlySet<string> = new Set(
  ["min", "max"].flatMap((edge) => ["Items", "Length", "Properties"].map((what) => edge + what)),
);
const SCHEMAS: ReadonlySet<string> = new Set(["items", "additionalProperties", "not"]);
const LISTS: ReadonlySet<string> = new Set(["anyOf", "oneOf", "allOf", "prefixItems"]);
const MAPS: ReadonlySet<string> = new Set(["properties", "$defs", "definitions"]);

export function toJsonSchema(schema: JsonObject): JsonObject {
  const made: JsonObject = {};
  for (const key in schema) {
    const name = Object.hasOwn(NAME_OF, key) ? NAME_OF[key]! : key;
    const value = convert(name, schema[key]);
    if (value !== undefined && value !== null) setField(made, name, value);
  }
  const { nullable, propertyOrdering, format, ...rest } = made;
  const kept: JsonObject = format === undefined || format === "enum" ? rest : { ...rest, format };
  return ordered(nullable === true ? withNull(kept) : kept, propertyOrdering);
}

function convert(name: string, value: JsonValue | undefined): JsonValue | undefined {
  if (name === "type") return Array.isArray(value) ? value.map(typeOf).filter((type) => type !== "") : typeOf(value);
  if (COUNTS.has(name) && typeof value === "string" && /^\d{1,15}$/.test(value)) return Number(value);
  if (SCHEMAS.has(name)) return isJsonObject(value) ? toJsonSchema(value) : value;
  if (LISTS.has(name) && Array.isArray(value)) return value.map(inner);
  if (!MAPS.has(name) || !isJsonObject(value)) return value;
  const made: JsonObject = {};
  for (const key in value) setField(made, key, inner(value[key]!));
  return made;
}

function inner(value: JsonValue): JsonValue {
  return isJsonObject(value) ? toJsonSchema(value) : value;
}

/** The type in lower case. Null for an unspecified type. */
function typeOf(type: JsonValue | undefined): JsonValue {
  if (typeof type !== "string") return type ?? null;
  return type === "TYPE_UNSPECIFIED" ? null : type.toLowerCase();
}

function withNull(schema: JsonObject): JsonObject {
  const { type, anyOf, oneOf, allOf, $ref, $defs, enum: values } = schema;
  const takesNull = Array.isArray(values) && !values.includes(null) ? { enum: [...values, null] } : {};
  const types = [type ?? []].flat();
  if (types.length > 0) return { ...schema, type: [...new Set([...types, "null"])], ...takesNull };
  if (Array.isArray(anyOf)) return { ...schema, anyOf: [...anyOf, { type: "null" }] };
  const isOther = ($ref ?? oneOf ?? allOf) !== undefined;
  if (isOther && $defs === undefined) return { anyOf: [schema, { type: "null" }] };
  return { ...schema, ...takesNull };
}

/** Puts the properties into the order in which the model has to write them. */
function ordered(schema: JsonObject, order: JsonValue | undefined): JsonObject {
  const { properties } = schema;
  if (!Array.isArray(order) || !isJsonObject(properties)) return schema;
  const names = new Set([
    ...order.filter((name) => typeof name === "string" && Object.hasOwn(properties, name)) as string[],
    ...Object.keys(properties),
  ]);
  const made: JsonObject = {};
  for (const name of names) setField(made, name, properties[name]);
  return { ...schema, properties: made };
}
