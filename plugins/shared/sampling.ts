/**
 * The sampling parameters, a table for each wire. A row has the name on the wire, the name in the canonical form, and the numbers that
 * the wire accepts. From the table come the wire's schema, what is parsed and serialized, what the wire lacks, and the samples of the
 * fidelity table.
 */
import { z } from "zod";
import type { NewNames } from "../../src/canonical/json.ts";
import { SAMPLING_PARAMETERS, type SamplingParameter } from "../../src/canonical/sampling.ts";
import { double } from "./shapes.ts";

export const CHAT_SAMPLING = tableOf({
  temperature: number("temperature"),
  top_p: number("topP"),
  presence_penalty: number("presencePenalty"),
  frequency_penalty: number("frequencyPenalty"),
  top_k: number("topK"),
});

export const MESSAGES_SAMPLING = tableOf({
  temperature: number("temperature"),
  top_p: number("topP"),
  top_k: number("topK"),
});

export const RESPONSES_SAMPLING = tableOf({
  temperature: number("temperature"),
  top_p: number("topP"),
  presence_penalty: number("presencePenalty"),
  frequency_penalty: number("frequencyPenalty"),
});

export const OLLAMA_SAMPLING = tableOf({
  temperature: number("temperature"),
  top_p: number("topP"),
  top_k: whole("topK"),
  presence_penalty: number("presencePenalty"),
  frequency_penalty: number("frequencyPenalty"),
  seed: whole("seed"),
});

export const GEMINI_SAMPLING = tableOf({
  temperature: number("temperature"),
  topP: number("topP"),
  topK: whole("topK"),
  presencePenalty: number("presencePenalty"),
  frequencyPenalty: number("frequencyPenalty"),
  seed: whole("seed"),
});

/** The names of all of them on the wires of upstreams. */
export const SAMPLING_NAMES = [CHAT_SAMPLING, MESSAGES_SAMPLING, RESPONSES_SAMPLING].flatMap(({ shape }) =>
  Object.keys(shape)
);

interface Row {
  /** The name in the canonical form. */
  name: SamplingParameter | "seed";
  schema: ReturnType<typeof nullish>;
  /** An unusual value, for the fidelity table. */
  sample: number;
}

export interface SamplingTable<Name extends string = string> {
  /** For the schema of a request, by the names on the wire. */
  shape: Record<Name, Row["schema"]>;
  /** From the wire to the canonical form. */
  parsed: NewNames;
  /** From the canonical form to the wire. */
  serialized: NewNames;
  /** The parameters that the wire has no field for, with their names in notes. Absent if it has all of them. */
  lacks?: Readonly<Partial<Record<SamplingParameter, string>>>;
  samples: Readonly<Record<Name, number>>;
}

function number(name: Row["name"], schema = z.number(), sample = 0.4321): Row {
  return { name, schema: nullish(schema), sample };
}

function whole(name: Row["name"]): Row {
  return number(name, z.int(), 4321);
}

function nullish(schema: z.ZodNumber) {
  return double(schema).nullish();
}

function tableOf<Name extends string>(rows: Record<Name, Row>): SamplingTable<Name> {
  const names = Object.keys(rows) as Name[];
  const known = new Set<string>(names.map((name) => rows[name].name));
  const lacking = Object.entries(SAMPLING_PARAMETERS).filter(([name]) => !known.has(name));
  return {
    shape: column(rows, "schema"),
    parsed: names.map((name) => ({ from: name, to: rows[name].name })),
    serialized: names.map((name) => ({ from: rows[name].name, to: name })),
    ...(lacking.length > 0 && { lacks: Object.fromEntries(lacking) }),
    samples: column(rows, "sample"),
  };
}

function column<Name extends string, Key extends keyof Row>(rows: Record<Name, Row>, key: Key): Record<Name, Row[Key]> {
  return Object.fromEntries(Object.entries<Row>(rows).map(([name, row]) => [name, row[key]])) as Record<Name, Row[Key]>;
}
