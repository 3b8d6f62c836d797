/** What JSON schemas say: their types, their references, and what fits two of them. */
import { asList, isJsonObject, type JsonObject, type JsonValue } from "../../src/canonical/json.ts";
import { compareNumbers, isInteger, isNumber } from "../../src/canonical/raw_number.ts";

/** What fits both schemas. */
export function mergeSchemas(first: JsonObject, second: JsonObject): JsonObject {
  return {
    ...first,
    ...second,
    ...mergeProperties(first.properties, second.properties),
    ...mergeLists(first, second),
    ...mergeTypes(first, second),
    ...mergeBounds(first, second),
  };
}

function mergeProperties(first: JsonValue | undefined, second: JsonValue | undefined): JsonObject {
  if (!isJsonObject(first) || !isJsonObject(second)) return {};
  const properties = { ...first, ...second };
  for (const [name, schema] of Object.entries(second)) {
    const other = Object.hasOwn(first, name) ? first[name] : undefined;
    if (other !== undefined && schema !== undefined) properties[name] = { allOf: [other, schema] };
  }
  return { properties };
}

function mergeLists(first: JsonObject, second: JsonObject): JsonObject {
  const merged: JsonObject = {};
  if (Array.isArray(first.required) && Array.isArray(second.required)) {
    merged.required = [...first.required, ...second.required];
  }
  if (Array.isArray(first.enum) && Array.isArray(second.enum)) {
    const allowed = new Set(second.enum.map((value) => JSON.stringify(value)));
    merged.enum = first.enum.filter((value) => allowed.has(JSON.stringify(value)));
  }
  return merged;
}

function mergeTypes(first: JsonObject, second: JsonObject): JsonObject {
  if (first.type === undefined || second.type === undefined) return {};
  const allowed = typesOf(second);
  const type = typesOf(first).flatMap((name) => {
    if (allowed.includes(name)) return [name];
    // Whole numbers are numbers: of the two names the narrower stays.
    const isNumeric = name === "number" && allowed.includes("integer") ||
      name === "integer" && allowed.includes("number");
    return isNumeric ? ["integer"] : [];
  });
  return type.length === 0 ? { type, enum: [] } : { type };
}

const LOWER_BOUNDS = ["minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"];
const UPPER_BOUNDS = ["maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"];

/** Of two bounds the narrower. */
function mergeBounds(first: JsonObject, second: JsonObject): JsonObject {
  const merged: JsonObject = {};
  for (const key of [...LOWER_BOUNDS, ...UPPER_BOUNDS]) {
    const [a, b] = [first[key], second[key]];
    if (!isNumber(a) || !isNumber(b)) continue;
    const order = compareNumbers(a, b);
    const isSecond = LOWER_BOUNDS.includes(key) ? order < 0 : order > 0;
    merged[key] = isSecond ? b : a;
  }
  return merged;
}

/** What a reference of the same document points to; anything goes where it points nowhere. */
export function resolveReference(root: JsonValue, ref: string): JsonValue {
  if (ref !== "#" && !ref.startsWith("#/")) return {};
  let found: JsonValue | undefined = root;
  for (const step of ref.slice(1).split("/").slice(1)) {
    const key = step.replaceAll("~1", "/").replaceAll("~0", "~");
    if (typeof found !== "object" || found === null || !Object.hasOwn(found, key)) return {};
    found = Array.isArray(found) ? found[Number(key)] : found[key];
  }
  return found ?? {};
}
/** In the order of preference where a schema allows several. */
const TYPES = ["string", "object", "array", "integer", "number", "boolean", "null"];

/** The types that the schema names, or the one that its keywords speak of; none where anything goes. */
export function typesOf(schema: JsonObject): string[] {
  const { type } = schema;
  if (type !== undefined) return TYPES.filter((name) => type === name || asList(type).includes(name));
  const speaks = (...keywords: string[]) => keywords.some((keyword) => schema[keyword] !== undefined);
  if (speaks("properties", "required", "additionalProperties", "minProperties")) return ["object"];
  if (speaks("items", "prefixItems", "minItems", "contains")) return ["array"];
  if (speaks("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")) return ["number"];
  return [];
}

export function hasType(value: JsonValue, types: readonly string[]): boolean {
  if (isNumber(value)) return types.includes("number") || (types.includes("integer") && isInteger(value));
  const type = value === null ? "null" : Array.isArray(value) ? "array" : typeof value;
  return types.includes(type);
}
