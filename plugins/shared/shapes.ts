/** Shapes that the requests of several wires have in common. */
import { z } from "zod";
import { isJsonObject, type JsonObject } from "../../src/canonical/json.ts";
import { isRawNumber, toDouble } from "../../src/canonical/raw_number.ts";

export const json = z.custom<JsonObject>(isJsonObject, { params: { expected: "object" } }).meta({ type: "object" });

/** A name that says something. The check of a list ends at the first one that is empty. */
export const name = z.string().min(1, { abort: true });

/** A field with a type of its own holds a double, however many digits it came with. */
export function double(schema = z.number()) {
  return z.preprocess((value) => isRawNumber(value) ? toDouble(value) : value, schema);
}

/** An object of a type that is not known rides through, where `pattern` allows it; one of a known type must have its fields. */
export function otherThan(known: readonly string[], error: string, pattern?: RegExp) {
  return z.looseObject({
    // Aborting, so that a union with this in it reports the branch that was meant.
    type: z.string().refine((type) => !known.includes(type) && (pattern?.test(type) ?? true), { error, abort: true }),
  });
}

const TEXTS = ["input_text", "output_text", "text"] as const;

/** What an item of the responses wire holds; editors post such items to the chat wire, too. */
export const knownContent = z.discriminatedUnion("type", [
  z.looseObject({ type: z.enum(TEXTS), text: z.string() }),
  z.looseObject({ type: z.literal("refusal"), refusal: z.string() }),
  z.looseObject({
    type: z.literal("input_image"),
    image_url: z.string().nullish(),
    file_id: z.string().nullish(),
    detail: z.string().nullish(),
  }).refine(({ image_url, file_id }) => image_url || file_id, {
    error: 'Missing "image_url" or "file_id"',
    path: ["image_url"],
    abort: true,
  }),
  z.looseObject({
    type: z.literal("input_file"),
    file_data: z.string().nullish(),
    file_url: z.string().nullish(),
    file_id: z.string().nullish(),
    filename: z.string().nullish(),
  }).refine(({ file_data, file_url, file_id }) => file_data || file_url || file_id, {
    error: 'Missing "file_data", "file_url" or "file_id"',
    path: ["file_data"],
    abort: true,
  }),
]);
export const KNOWN_CONTENT: readonly string[] = [...TEXTS, "refusal", "input_image", "input_file"];

/** In which form a text is wanted, as the responses wire says it; from editors on the chat wire, too. */
export const textOptions = z.looseObject({
  format: z.looseObject({
    type: z.string(),
    name: z.string().nullish(),
    description: z.string().nullish(),
    schema: json.nullish(),
    strict: z.boolean().nullish(),
  }).nullish(),
  verbosity: z.enum(["low", "medium", "high"]).nullish(),
});
