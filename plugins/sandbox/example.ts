import { asList, asObject, asTexts, isJsonObject, type JsonObject, type JsonValue } from "../../src/canonical/json.ts";
import { textMatching } from "./pattern.ts";
import { hasType, mergeSchemas, resolveReference, typesOf } from "./schema.ts";
import { prefix } from "./words.ts";
import { isNumber, toDouble } from "../../src/canonical/raw_number.ts";

/** How the values of one example are worded. */
export interface Wording {
  /** The text of a string property that its schema leaves open. */
  text(property: string): string;
  /** A text that stands whatever the schema suggests, though not against `const` or `enum`. */
  fixed?(property: string): string | undefined;
  /** Properties that the schema does not require are left out. */
  requiredOnly?: boolean;
}

/**
 * A value that fits a JSON schema, always the same one; nothing where none was found. It reads what tools and answer forms
 * use and does its best: `not`, `if` and other rules across properties are not looked at.
 */
export function exampleOf(schema: JsonValue | undefined, wording: Wording): JsonValue | undefined {
  return new Maker(schema ?? {}, wording).value(schema ?? {}, {
    name: "value",
    position: 0,
    refs: new Set(["#"]),
    depth: 0,
  });
}

interface ValueContext {
  /** The property that the value is for. */
  name: string;
  /** Which item of its array it is: items differ, for `uniqueItems`. */
  position: number;
  /** The references that are being followed: one that comes again would never end. */
  refs: ReadonlySet<string>;
  depth: number;
}

// A schema is a stranger's and may ask for a value of any size.
const MAX_DEPTH = 50;
const MAX_WORK = 200_000;
const MAX_TEXT = 10_000;

const FORMATS: Record<string, string> = {
  "date-time": "2025-01-01T00:00:00Z",
  date: "2025-01-01",
  time: "00:00:00Z",
  duration: "P1D",
  email: "sandbox@example.com",
  "idn-email": "sandbox@example.com",
  hostname: "example.com",
  "idn-hostname": "example.com",
  ipv4: "192.0.2.1",
  ipv6: "2001:db8::1",
  uri: "https://example.com/",
  url: "https://example.com/",
  iri: "https://example.com/",
  "uri-reference": "/sandbox",
  "iri-reference": "/sandbox",
  "uri-template": "/sandbox/{id}",
  uuid: "00000000-0000-4000-8000-000000000000",
  "json-pointer": "/sandbox",
  "relative-json-pointer": "0",
  regex: "sandbox",
  byte: "c2FuZGJveA==",
};

class Maker {
  readonly #root: JsonValue;
  readonly #wording: Wording;
  #work = MAX_WORK;

  constructor(root: JsonValue, wording: Wording) {
    this.#root = root;
    this.#wording = wording;
  }

  value(schema: JsonValue, place: ValueContext): JsonValue | undefined {
    const refs = new Set(place.refs);
    const flat = this.#flatten(schema, place.refs, refs, place.depth);
    if (!flat || !this.#afford(refs.size)) return undefined;
    const inner: ValueContext = { ...place, refs, depth: place.depth + 1 };
    const types = typesOf(flat);
    const prescribed = this.#prescribed(flat, types, place);
    if (prescribed) return prescribed.value;
    for (const key of ["anyOf", "oneOf"]) {
      const { [key]: branches, ...base } = flat;
      if (Array.isArray(branches)) return this.#branch(branches, base, inner);
    }
    switch (types[0]) {
      case "object":
        return this.#object(flat, inner);
      case "array":
        return this.#array(flat, inner);
      case "integer":
        return numberFor(flat, true, place.position);
      case "number":
        return numberFor(flat, false, place.position);
      case "boolean":
        return place.position % 2 === 1;
      case "null":
        return null;
      default:
        return this.#text(flat, place);
    }
  }

  /** The value that the schema or the wording prescribes, which may be too large; nothing where they leave it open. */
  #prescribed(
    schema: JsonObject,
    types: readonly string[],
    { name, position }: ValueContext,
  ): { value: JsonValue | undefined } | undefined {
    if (schema.const !== undefined) return { value: this.#given(schema.const) };
    const fits = (value: JsonValue) => schema.type === undefined || hasType(value, types);
    if (Array.isArray(schema.enum)) {
      const fitting = schema.enum.filter(fits);
      return { value: this.#given(fitting[position % fitting.length]) };
    }
    const fixed = this.#wording.fixed?.(name);
    if (fixed !== undefined && (types.length === 0 || types.includes("string"))) return { value: fixed };
    if (fixed !== undefined && types.includes("array")) return { value: fixed.split(" ") };
    const suggestion = [schema.default, ...asList(schema.examples), schema.example]
      .find((value) => value !== undefined && value !== null && fits(value));
    return suggestion === undefined ? undefined : { value: this.#given(suggestion) };
  }

  /** A value for the first of the branches that allows one. */
  #branch(branches: readonly JsonValue[], base: JsonObject, place: ValueContext): JsonValue | undefined {
    for (const branch of nullLast(branches)) {
      const value = this.value({ allOf: [base, branch] }, place);
      if (value !== undefined) return value;
    }
    return undefined;
  }

  /** The schema with its references followed and its `allOf` merged; nothing where it allows nothing or would not end. */
  #flatten(schema: JsonValue, path: ReadonlySet<string>, used: Set<string>, depth: number): JsonObject | undefined {
    if (schema === false || depth > MAX_DEPTH) return undefined;
    if (!isJsonObject(schema)) return {};
    if (!this.#afford(weightOf(schema))) return undefined;
    const { $ref, allOf, ...own } = schema;
    let flat: JsonObject = own;
    if (typeof $ref === "string") {
      if (path.has($ref) || !this.#afford($ref.length)) return undefined;
      used.add($ref);
      const target = this.#flatten(resolveReference(this.#root, $ref), new Set(path).add($ref), used, depth + 1);
      if (!target) return undefined;
      flat = mergeSchemas(target, flat);
    }
    for (const part of asList(allOf)) {
      const other = this.#flatten(part, path, used, depth + 1);
      if (!other) return undefined;
      flat = mergeSchemas(flat, other);
      if (!this.#afford(weightOf(flat))) return undefined;
    }
    return flat;
  }

  #object(schema: JsonObject, place: ValueContext): JsonObject | undefined {
    const properties = asObject(schema.properties);
    const required = new Set(asTexts(schema.required));
    const wanted = new Set(this.#wording.requiredOnly ? required : [...Object.keys(properties), ...required]);
    const least = limitOf(schema.minProperties, 0);
    const spare = Object.keys(properties).filter((name) => !wanted.has(name));
    const fields = new Map<string, JsonValue>();
    const add = (name: string) => {
      const own = Object.hasOwn(properties, name) ? properties[name] : undefined;
      const value = this.value(own ?? asObject(schema.additionalProperties), { ...place, name });
      if (value !== undefined) fields.set(name, value);
      return value !== undefined;
    };
    for (const name of wanted) {
      if (!add(name) && required.has(name)) return undefined;
    }
    for (const name of spare) {
      if (fields.size < least) add(name);
    }
    for (let extra = 1; fields.size < least; extra++) {
      if (!add(`extra${extra}`)) return undefined;
    }
    return Object.fromEntries(fields);
  }

  #array(schema: JsonObject, place: ValueContext): JsonValue[] | undefined {
    const first = Array.isArray(schema.items) ? schema.items : asList(schema.prefixItems);
    const rest = Array.isArray(schema.items) ? schema.additionalItems : schema.items;
    const least = limitOf(schema.minItems, schema.contains === undefined ? 0 : 1);
    const most = limitOf(schema.maxItems, Infinity);
    const wanted = Math.max(least, Math.min(most, first.length || (rest === undefined ? 0 : 1)));
    const items: JsonValue[] = [];
    while (items.length < wanted) {
      const position = items.length;
      const item = first[position] ?? rest ?? {};
      const contained = position === 0 ? schema.contains : undefined;
      const value = this.value(contained === undefined ? item : { allOf: [item, contained] }, { ...place, position });
      if (value === undefined) return items.length < least ? undefined : items;
      items.push(value);
    }
    return items;
  }

  #text(schema: JsonObject, { name, position }: ValueContext): string | undefined {
    const least = limitOf(schema.minLength, 0);
    const most = limitOf(schema.maxLength, Infinity);
    let text: string | undefined;
    if (typeof schema.pattern === "string" && this.#afford(schema.pattern.length)) {
      text = textMatching(schema.pattern);
      if (text !== undefined && text.length < least) text = textMatching(schema.pattern, least) ?? text;
    }
    if (typeof schema.format === "string" && Object.hasOwn(FORMATS, schema.format)) text ??= FORMATS[schema.format];
    if (text === undefined) {
      const plain = this.#wording.text(name) + (position > 0 ? ` ${position + 1}` : "");
      const missing = Math.min(least, MAX_TEXT) - [...plain].length;
      text = prefix(missing > 0 ? plain + ".".repeat(missing) : plain, most);
    }
    return this.#afford(text.length) ? text : undefined;
  }

  /** A value that the schema itself holds. */
  #given(value: JsonValue | undefined): JsonValue | undefined {
    return value !== undefined && this.#afford(JSON.stringify(value).length) ? value : undefined;
  }

  #afford(work: number): boolean {
    this.#work -= work;
    return this.#work >= 0;
  }
}

function limitOf(limit: JsonValue | undefined, otherwise: number): number {
  return typeof limit === "number" ? limit : otherwise;
}

/** What it costs to look at a schema once. */
function weightOf(schema: JsonObject): number {
  const sizes = Object.values(schema).map((value) =>
    Array.isArray(value) ? value.length : isJsonObject(value) ? Object.keys(value).length : 0
  );
  return sizes.reduce((sum, size) => sum + size, 10 + sizes.length);
}

function nullLast(branches: readonly JsonValue[]): JsonValue[] {
  const isNull = (branch: JsonValue) => isJsonObject(branch) && (branch.type === "null" || branch.const === null);
  return [...branches.filter((branch) => !isNull(branch)), ...branches.filter(isNull)];
}

/** A number within the bounds, near 1 where they allow it. */
function numberFor(schema: JsonObject, whole: boolean, position: number): number {
  const [low, lowIsOpen] = bound(schema.minimum, schema.exclusiveMinimum, -1);
  const [high, highIsOpen] = bound(schema.maximum, schema.exclusiveMaximum, 1);
  const inside = (value: number) =>
    (whole ? Number.isInteger(value) : Number.isFinite(value)) &&
    (lowIsOpen ? value > low : value >= low) && (highIsOpen ? value < high : value <= high);
  const { multipleOf } = schema;
  const step = typeof multipleOf === "number" && multipleOf > 0 ? multipleOf : whole ? 1 : undefined;
  const candidates = step === undefined ? [1, low, low / 2 + high / 2, low + 1, high, high - 1] : [
    Math.ceil(1 / step) * step,
    Math.ceil(low / step) * step,
    (Math.ceil(low / step) + 1) * step,
    Math.floor(high / step) * step,
    (Math.floor(high / step) - 1) * step,
  ];
  const value = candidates.find(inside) ?? 0;
  const next = value + position * (step ?? 1);
  return inside(next) ? next : value;
}

/** The limit, and whether it is outside itself; `side` is -1 for the lower, 1 for the upper. */
function bound(limit: JsonValue | undefined, open: JsonValue | undefined, side: -1 | 1): [number, boolean] {
  const closed = limit !== undefined && isNumber(limit) ? toDouble(limit) : side * Infinity;
  // In the fourth draft `exclusiveMinimum` was a flag beside `minimum`.
  if (open === undefined || !isNumber(open)) return [closed, open === true];
  const edge = toDouble(open);
  return side * edge <= side * closed ? [edge, true] : [closed, false];
}
