/**
 * The shapes of the embeddings wire, as both sides send them. Their lists of numbers are read by plain loops: they can
 * hold millions, for which a schema costs more than parsing the JSON.
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
/** An upstream's answer. Invalid token counts do not invalidate it. */
export const answerSchema = z.looseObject({
  data: z.array(entry),
  usage: z.looseObject({ prompt_tokens: tokens, total_tokens: tokens }).nullish().catch(undefined),
});
