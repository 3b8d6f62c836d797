import { isJsonObject, type JsonObject, type JsonValue, setField } from "../canonical/json.ts";
import { isNumber } from "../canonical/raw_number.ts";

/**
 * A tool's schema in the form that every server accepts: an object schema with `properties`. Clients leave out what is
 * empty. A schema of another type would fail the whole request, and such a tool takes no arguments. The values that the
 * schema allows stay the same; a schema that is in this form already is returned as it is.
 */
export function objectSchema(schema: JsonObject | undefined): JsonObject {
  if (!schema) return { type: "object", properties: {} };
  const { type } = schema;
  if (type !== undefined && type !== null && type !== "object" && !isList(type)) {
    return { type: "object", properties: {} };
  }
  const plain = plainSchema(schema);
  return plain.type && plain.properties ? plain : { type: "object", properties: {}, ...plain };
}

/** `["object", "null"]` is an object schema too. */
function isList(type: unknown): boolean {
  return Array.isArray(type) && type.includes("object");
}

/** Keywords whose value is a schema, a list of schemas, or schemas by name. */
const ONE = ["items", "additionalProperties", "not", "contains"];
const SEVERAL = ["anyOf", "oneOf", "allOf", "prefixItems"];
const NAMED = ["properties", "patternProperties", "$defs", "definitions"];

/** Keywords for which null is a value. */
const NULLABLE: ReadonlySet<string> = new Set(["const", "default", "example"]);

/** The schema without what means nothing: null for an absent keyword, and an empty list for an empty object (PHP's). */
function plainSchema(schema: JsonObject): JsonObject {
  let plain = schema;
  const set = (keyword: string, value: JsonValue) => {
    if (value === plain[keyword]) return;
    if (plain === schema) plain = { ...schema };
    plain[keyword] = value;
  };
  for (const keyword in schema) {
    const value = schema[keyword];
    if (value !== null || NULLABLE.has(keyword)) continue;
    if (plain === schema) plain = { ...schema };
    delete plain[keyword];
  }
  for (const keyword of ONE) {
    const value = plain[keyword];
    if (isJsonObject(value)) set(keyword, keyword === "items" ? valueSchema(value) : plainSchema(value));
    // Elements are any by default, but parsers that want an object there fail at a boolean.
    else if (keyword === "items" && value === true) set(keyword, {});
  }
  for (const keyword of SEVERAL) {
    const list = plain[keyword];
    if (!Array.isArray(list)) continue;
    const schemas = list.map((one) => isJsonObject(one) ? plainSchema(one) : one);
    if (schemas.some((one, at) => one !== list[at])) set(keyword, schemas);
  }
  for (const keyword of NAMED) {
    const named = plain[keyword];
    if (Array.isArray(named) && named.length === 0) set(keyword, {});
    else if (isJsonObject(named)) set(keyword, plainSchemas(named));
  }
  return plain;
}

function plainSchemas(named: JsonObject): JsonObject {
  let plain = named;
  for (const name of Object.keys(named)) {
    const value = named[name]!;
    const schema = valueSchema(value);
    if (schema === value) continue;
    if (plain === named) plain = { ...named };
    setField(plain, name, schema);
  }
  return plain;
}

/** The schema of a value. `true` allows any, as an empty schema does, which every server can read. */
function valueSchema(schema: JsonValue): JsonValue {
  if (schema === true) return {};
  if (!isJsonObject(schema)) return schema;
  const plain = plainSchema(schema);
  if (plain.type !== undefined || COMPOSED.some((keyword) => plain[keyword] !== undefined)) return plain;
  const type = impliedType(plain);
  return type === undefined ? plain : { type, ...plain };
}

/** Keywords that tell the type elsewhere. Some servers refuse a type beside them. */
const COMPOSED = ["$ref", "$dynamicRef", "anyOf", "oneOf", "allOf", "not", "if"];

/** The type that the other keywords leave to a value. Some servers refuse a schema that does not say it. */
function impliedType({ enum: words, const: only, properties, items }: JsonObject): string | undefined {
  const values = Array.isArray(words) ? words : only === undefined ? [] : [only];
  const [first, ...others] = values;
  if (first !== undefined) {
    const type = typeOf(first);
    return others.every((value) => typeOf(value) === type) ? type : undefined;
  }
  if (isJsonObject(properties)) return "object";
  return items === undefined ? undefined : "array";
}

function typeOf(value: JsonValue): string {
  if (isNumber(value)) return "number";
  if (Array.isArray(value)) return "array";
  return value === null ? "null" : typeof value;
}
