/** The sections of stages, which plugins add to the configuration. */
import type { z } from "zod";
import { object } from "./fields.ts";
import { type Config, configSchema } from "./schema.ts";

/** The facts about a stage that the schema needs. */
export interface StageSection {
  description: string;
  options: z.ZodType;
}

/** The sections by name. */
export type StageSections = Readonly<Record<string, StageSection>>;

const schemas = new WeakMap<StageSections, typeof configSchema>();

/** The schema of a configuration with a section for each stage. A section that is absent stays so. */
export function configSchemaWith(stages: StageSections = {}): typeof configSchema {
  if (Object.keys(stages).length === 0) return configSchema;
  let schema = schemas.get(stages);
  if (!schema) schemas.set(stages, schema = extended(stages));
  return schema;
}

function extended(stages: StageSections): typeof configSchema {
  const { shape } = configSchema;
  const taken = Object.keys(stages).find((name) => Object.hasOwn(shape, name));
  if (taken !== undefined) throw new TypeError(`A stage cannot have the name of a setting: "${taken}"`);
  const sections = Object.entries(stages).map(([name, { description, options }]) => [
    name,
    options.optional().meta({ description }),
  ]);
  // The type does not have the sections of stages: each stage types its own, which `stageOptions` reads.
  return object(configSchema.description ?? "", { ...shape, ...Object.fromEntries(sections) }) as typeof configSchema;
}

/** The checked options of a stage. `undefined` if the configuration does not have its section. */
export function stageOptions(config: Config, name: string): unknown {
  return (config as Readonly<Record<string, unknown>>)[name];
}
