/** Completes names and values in the configuration by its JSON schema. */
import { z } from "zod";
import { configSchema } from "../../config/schema.ts";

interface Schema {
  $ref?: string;
  $defs?: Record<string, Schema>;
  type?: string | string[];
  description?: string;
  properties?: Record<string, Schema>;
  additionalProperties?: Schema | boolean;
  items?: Schema;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
  enum?: unknown[];
  const?: unknown;
  examples?: unknown[];
  default?: unknown;
}

export interface Completion {
  description?: string;
  /** The names that an object at this path may have, each with its type in words. */
  names: { name: string; type: string; description?: string }[];
  /** The values at this path, as JSON: those that the schema lists, or else its examples and its default. */
  values: string[];
}

/** The schema is made here, so that the executable need not contain the file for editors. */
const root = z.toJSONSchema(configSchema, { io: "input" }) as Schema;

export function completionAt(path: readonly (string | number)[]): Completion {
  const branches = path.reduce<Schema[]>(
    (schemas, step) => schemas.flatMap((schema) => below(schema, step)).flatMap((schema) => branchesOf(schema, root)),
    branchesOf(root, root),
  );
  const names = new Map<string, Completion["names"][number]>();
  for (const { properties = {} } of branches) {
    for (const [name, schema] of Object.entries(properties)) {
      const kinds = branchesOf(schema, root);
      const description = schema.description ?? kinds.find((kind) => kind.description)?.description;
      names.set(name, { name, type: [...new Set(kinds.flatMap(typeOf))].join(" or "), description });
    }
  }
  const listed = branches.flatMap(valuesOf);
  const shown = listed.length > 0 ? listed : branches.flatMap(({ examples = [], default: preset }) => [
    ...examples,
    ...preset === undefined ? [] : [preset],
  ]);
  return {
    description: branches.find(({ description }) => description)?.description,
    names: [...names.values()],
    values: [...new Set(shown.map((value) => JSON.stringify(value)))],
  };
}

export interface Setting {
  /** Its names, joined by dots. `*` stands for a name that the user chooses, and `#` for a place in a list. */
  path: string;
  description?: string;
}

/** The deepest setting that is listed: beyond it are the parts of schemas and the like. */
const DEEPEST = 7;
let listed: Setting[] | undefined;

export function allSettings(): Setting[] {
  return listed ??= [...settingsBelow(root, [], new Set())];
}

/** `around`: the schemas that this one is a part of, because some contain themselves. */
function* settingsBelow(schema: Schema, path: readonly string[], around: ReadonlySet<Schema>): Generator<Setting> {
  const branches = branchesOf(schema, root);
  if (path.length >= DEEPEST || branches.some((branch) => around.has(branch))) return;
  const within = new Set([...around, ...branches]);
  const seen = new Set<string>();
  for (const { properties = {}, additionalProperties, items } of branches) {
    for (const [name, own] of Object.entries(properties)) {
      if (seen.has(name)) continue;
      seen.add(name);
      const next = [...path, name];
      const description = own.description ?? branchesOf(own, root).find((one) => one.description)?.description;
      yield { path: next.join("."), description };
      yield* settingsBelow(own, next, within);
    }
    for (const [sign, each] of [["*", additionalProperties], ["#", items]] as const) {
      if (typeof each !== "object" || seen.has(sign)) continue;
      seen.add(sign);
      yield* settingsBelow(each, [...path, sign], within);
    }
  }
}

/** All alternatives of a schema, including itself. References are resolved. */
function branchesOf(schema: Schema, root: Schema): Schema[] {
  const { $ref, anyOf = [], oneOf = [], allOf = [] } = schema;
  const named = $ref?.split("/").slice(1).reduce<unknown>((at, step) => Object(at)[step], root);
  const more = [...named ? [named as Schema] : [], ...anyOf, ...oneOf, ...allOf];
  return [schema, ...more.flatMap((one) => branchesOf(one, root))];
}

function below({ properties, additionalProperties, items }: Schema, step: string | number): Schema[] {
  if (typeof step === "number") return items ? [items] : [];
  if (properties && Object.hasOwn(properties, step)) return [properties[step]!];
  return typeof additionalProperties === "object" ? [additionalProperties] : [];
}

function valuesOf({ enum: listed, const: only, type }: Schema): unknown[] {
  if (listed) return listed;
  if (only !== undefined) return [only];
  return type === "boolean" ? [true, false] : [];
}

function typeOf({ type, enum: listed, const: only }: Schema): string[] {
  if (listed || only !== undefined) return (listed ?? [only]).map((value) => JSON.stringify(value));
  return type === undefined ? [] : [type].flat();
}
