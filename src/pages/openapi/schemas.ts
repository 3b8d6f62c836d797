/** The schemas of requests and answers. Each is listed once, under a name of its own. */
import { z } from "zod";
import { type Reference, refTo, type Schema, typeName } from "./json.ts";

export class Schemas {
  readonly all: Record<string, Schema> = {};
  readonly #names = new Map<z.ZodType, string>();

  /** A reference to the JSON schema of `schema`. A schema that is referred to again keeps its name. */
  refer(schema: z.ZodType, wanted: string): Reference {
    const known = this.#names.get(schema);
    if (known !== undefined) return refTo("schemas", known);
    const name = this.add(wanted, jsonSchemaOf(schema));
    this.#names.set(schema, name);
    return refTo("schemas", name);
  }

  /** Adds a schema, and returns its name. */
  add(wanted: string, schema: Schema): string {
    const base = typeName(wanted);
    let name = base;
    for (let number = 2; Object.hasOwn(this.all, name); number++) name = `${base}${number}`;
    this.all[name] = schema;
    return name;
  }
}

/** The JSON schema of a value on the wire. Conditions that only code can check are left out. */
export function jsonSchemaOf(schema: z.ZodType): Schema {
  const { $schema: _, ...json } = z.toJSONSchema(schema, {
    io: "input",
    unrepresentable: "any",
    override: ({ zodSchema, jsonSchema }) => {
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
      // The bytes of a file in a form are a part of their own.
      if (zodSchema._zod.def.type !== "file") return;
      for (const key of ["type", "format", "contentEncoding"]) delete (jsonSchema as Schema)[key];
      Object.assign(jsonSchema, { contentMediaType: "application/octet-stream" });
    },
  });
  return json;
}
