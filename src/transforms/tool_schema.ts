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

/** Keywords for which null is a value. */
const NULLABLE: ReadonlySet<string> = new Set(["const", "default", "example"]);

/** Reads the schemas that are in the value of a keyword. */
type Reading = (value: JsonValue) => JsonValue;
const READINGS: ReadonlyMap<string, Reading> = new Map([
  ["items", valueSchema],
  ...["additionalProperties", "not", "contains"].map((keyword): [string, Reading] => [keyword, inside]),
  ...["anyOf", "oneOf", "allOf", "prefixItems"].map((keyword): [string, Reading] => [keyword, plainList]),
  ...["properties", "patternProperties", "$defs", "definitions"].map((keyword): [string, Reading] => [keyword, byName]),
]);

/** The schema without what means nothing: null for an absent keyword, and an empty list for an empty object (PHP's). */
function plainSchema(schema: JsonObject): JsonObject {
  const given = withoutNulls(schema);
  let plain = given;
  for (const keyword in given) {
    const value = given[keyword]!;
    const read = READINGS.get(keyword)?.(value) ?? value;
    if (read === value) continue;
    if (plain === given) plain = { ...given };
    plain[keyword] = read;
  }
  return plain;
}

function withoutNulls(schema: JsonObject): JsonObject {
  let plain = schema;
  for (const keyword in schema) {
    if (schema[keyword] !== null || NULLABLE.has(keyword)) continue;
    if (plain === schema) plain = { ...schema };
    delete plain[keyword];
  }
  return plain;
}

function inside(value: JsonValue): JsonValue {
  return isJsonObject(value) ? plainSchema(value) : value;
}

function plainList(list: JsonValue): JsonValue {
  if (!Array.isArray(list)) return list;
  const schemas = list.map(inside);
  return schemas.some((one, at) => one !== list[at]) ? schemas : list;
}

function byName(named: JsonValue): JsonValue {
  if (Array.isArray(named) && named.length === 0) return {};
  return isJsonObject(named) ? plainSchemas(named) : named;
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
