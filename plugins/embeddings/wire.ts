/**
 * The shapes of the embeddings wire, as both sides send them. The lists of numbers in them are read by plain loops: they are
 * millions, where a schema costs more than the JSON.
 */
import { z } from "zod";

export const WIRE = "embeddings";

const requestFields = {
  model: z.string().min(1).max(512),
  input: z.unknown().optional(),
  encoding_format: z.enum(["float", "base64"]).nullish(),
  dimensions: z.int().min(1).nullish(),
};
export const requestSchema = z.looseObject(requestFields);
export const REQUEST_KEYS: ReadonlySet<string> = new Set(Object.keys(requestFields));

const entry = z.looseObject({ index: z.int().nullish(), embedding: z.unknown() });
export type Entry = z.output<typeof entry>;

const tokens = z.int().min(0).nullish().catch(undefined);
/** What an upstream answers. Counts that make no sense are not worth the answer. */
export const answerSchema = z.looseObject({
  data: z.array(entry),
  usage: z.looseObject({ prompt_tokens: tokens, total_tokens: tokens }).nullish().catch(undefined),
});
