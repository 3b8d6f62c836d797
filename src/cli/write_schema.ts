/** Writes `gateway.schema.json` from the schema. With `--check`, it only reports whether that file is current. */
import { z } from "zod";
import { pluginFacts } from "../app.ts";
import { configSchemaWith } from "../config/stage_sections.ts";

const file = new URL("../config/gateway.schema.json", import.meta.url);

/**
 * The JSON schema of the configuration as people write it, with the sections of the built-in stages: fields with a default may be
 * absent.
 */
export function schemaText(): string {
  const configSchema = configSchemaWith(pluginFacts().stages);
  const schema = z.toJSONSchema(configSchema, { io: "input", override: withChoices });
  return JSON.stringify({ title: "Laneway", ...schema }, null, 2) + "\n";
}

/** Makes a driver optional beside a provider, which has one. */
function withChoices({ jsonSchema }: { jsonSchema: z.core.JSONSchema.BaseSchema }): void {
  const { properties = {}, required = [] } = jsonSchema;
  if (properties.provider && properties.driver) {
    jsonSchema.required = required.filter((name) => name !== "driver");
    if (jsonSchema.required.length === 0) delete jsonSchema.required;
    jsonSchema.anyOf = [{ required: ["driver"] }, { required: ["provider"] }];
  }
}

if (import.meta.main) {
  if (!Deno.args.includes("--check")) {
    Deno.writeTextFileSync(file, schemaText());
  } else if (Deno.readTextFileSync(file) !== schemaText()) {
    // deno-lint-ignore no-console -- this is a command line
    console.error('The JSON schema is stale: run "deno task schema" and commit src/config/gateway.schema.json');
    Deno.exit(1);
  }
}
