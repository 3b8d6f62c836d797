/**
 * Checks valid values against a schema without zod's copies of every object: the result is the value itself, and only
 * what the schema changes is copied. The schema stays the only source. Whatever it rejects, or this file cannot
 * compile, is left to zod.
 */
import type { z } from "zod";
import { isRawNumber } from "../canonical/raw_number.ts";

/** Returns the value as the schema outputs it, or `REFUSED`. */
type Read = (value: unknown) => unknown;

type Schema = z.core.$ZodType;
type Def = z.core.$ZodTypeDef & Record<string, unknown>;

export const REFUSED = Symbol("refused");

const readers = new WeakMap<Schema, Read | undefined>();

/**
 * The value as `schema` outputs it. `REFUSED` if the schema rejects it or zod must decide. Keys keep their order, while
 * zod uses that of the schema.
 */
export function readAs(schema: Schema, value: unknown): unknown {
  const read = readerOf(schema);
  return read ? read(value) : REFUSED;
}

function readerOf(schema: Schema): Read | undefined {
  if (!readers.has(schema)) readers.set(schema, withChecks(schema));
  return readers.get(schema);
}

function withChecks(schema: Schema): Read | undefined {
  const def = schema._zod.def as Def;
  const read = Object.hasOwn(COMPILERS, def.type) ? COMPILERS[def.type]!(def, schema) : undefined;
  const checks = ((def.checks ?? []) as z.core.$ZodCheck[]).map(compileCheck);
  if (!read || checks.includes(undefined)) return undefined;
  if (checks.length === 0) return read;
  return (value) => {
    const taken = read(value);
    return taken !== REFUSED && checks.every((check) => check!(taken)) ? taken : REFUSED;
  };
}

type Compiler = (def: Def, schema: Schema) => Read | undefined;

const COMPILERS: Readonly<Record<string, Compiler>> = {
  unknown: () => (value) => value,
  undefined: () => where((value) => value === undefined),
  boolean: () => where((value) => typeof value === "boolean"),
  string: ({ format }) => format === undefined ? (value) => typeof value === "string" ? value : REFUSED : undefined,
  number({ format }) {
    if (format === undefined) return where(Number.isFinite);
    return format === "safeint" ? where(Number.isSafeInteger) : undefined;
  },
  literal: (_, { _zod: { values } }) => values && where((value) => values.has(value as string)),
  enum: (_, { _zod: { values } }) => values && where((value) => values.has(value as string)),
  custom: ({ fn }) => where(fn as (value: unknown) => boolean),
  optional: ({ innerType }) => beside(undefined, innerType as Schema),
  nullable: ({ innerType }) => beside(null, innerType as Schema),
  array: ({ element }) => readList(readerOf(element as Schema)),
  object: readObject,
  union: readUnion,
  pipe: readPrepared,
  // Values that need the fallback are left to zod.
  catch: ({ innerType }) => readerOf(innerType as Schema),
};

function where(isTaken: (value: unknown) => unknown): Read {
  return (value) => isTaken(value) ? value : REFUSED;
}

/** Accepts one value in addition to those of the schema. */
function beside(other: unknown, schema: Schema): Read | undefined {
  const read = readerOf(schema);
  return read && ((value) => value === other ? value : read(value));
}

function compileCheck({ _zod: { def } }: z.core.$ZodCheck): ((value: unknown) => boolean) | undefined {
  const { check, fn, minimum, maximum, value: limit, inclusive } = def as z.core.$ZodCheckDef & Record<string, unknown>;
  switch (check) {
    case "custom":
      return (value) => Boolean((fn as (value: unknown) => unknown)(value));
    case "min_length":
      return (value) => (value as string).length >= (minimum as number);
    case "max_length":
      return (value) => (value as string).length <= (maximum as number);
    case "greater_than":
      return (value) => inclusive ? (value as number) >= (limit as number) : (value as number) > (limit as number);
    default:
      return undefined;
  }
}

function readList(read: Read | undefined): Read | undefined {
  return read && ((list) => {
    if (!Array.isArray(list)) return REFUSED;
    let changed: unknown[] | undefined;
    for (let at = 0; at < list.length; at++) {
      const taken = read(list[at]);
      if (taken === REFUSED) return REFUSED;
      if (taken !== list[at]) (changed ??= [...list])[at] = taken;
    }
    return changed ?? list;
  });
}

/** An object that keeps the fields that its schema does not name. */
function readObject({ shape, catchall }: Def): Read | undefined {
  if ((catchall as Schema | undefined)?._zod.def.type !== "unknown") return undefined;
  const fields = new Map<string, Field>();
  for (const [key, schema] of Object.entries(shape as Record<string, Schema>)) {
    const read = readerOf(schema);
    if (!read) return undefined;
    const { optin, optout } = schema._zod;
    fields.set(key, { read, mayLack: optin === "optional" && optout === "optional" });
  }
  // Zod drops a field with this name.
  fields.set("__proto__", { read: () => REFUSED, mayLack: true });
  const needed = [...fields.values()].filter(({ mayLack }) => !mayLack).length;
  return (object) => {
    if (!isObject(object) || Array.isArray(object)) return REFUSED;
    // If a field is required, a raw number fails anyway, because it lacks the field.
    if (needed === 0 && isRawNumber(object)) return REFUSED;
    let lacking = needed;
    let changed: Record<string, unknown> | undefined;
    // Iterates over the object's fields, which are fewer than the schema's.
    for (const key in object) {
      const field = fields.get(key);
      if (field === undefined) continue;
      const value = object[key];
      if (!field.mayLack) lacking--;
      else if (value === undefined) continue;
      const taken = field.read(value);
      if (taken === REFUSED) return REFUSED;
      if (taken !== value) (changed ??= { ...object })[key] = taken;
    }
    return lacking > 0 ? REFUSED : changed ?? object;
  };
}

interface Field {
  read: Read;
  mayLack: boolean;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

/** The first option that accepts the value wins. */
function readUnion({ options, discriminator }: Def): Read | undefined {
  if (typeof discriminator === "string") return readNamed(options as Schema[], discriminator);
  const reads = (options as Schema[]).map(readerOf);
  if (reads.includes(undefined)) return undefined;
  return (value) => {
    for (const read of reads) {
      const taken = read!(value);
      if (taken !== REFUSED) return taken;
    }
    return REFUSED;
  };
}

/** The option selected by the discriminator field. */
function readNamed(options: readonly Schema[], field: string): Read | undefined {
  const named = new Map<unknown, Read>();
  for (const option of options) {
    const read = readerOf(option);
    if (!read) return undefined;
    for (const name of option._zod.propValues?.[field] ?? []) named.set(name, read);
  }
  return (value) => isObject(value) ? named.get(value[field])?.(value) ?? REFUSED : REFUSED;
}

/** A value that is transformed before its schema checks it. */
function readPrepared({ in: first, out }: Def): Read | undefined {
  const { type, transform } = (first as Schema)._zod.def as Def;
  const read = readerOf(out as Schema);
  if (type !== "transform" || !read) return undefined;
  const prepare = transform as (value: unknown) => unknown;
  return (value) => read(prepare(value));
}
