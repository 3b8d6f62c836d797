/** The shapes of the images wire, as both sides send them. */
import { z } from "zod";
import { PICTURE_FORMATS } from "../../src/canonical/draw.ts";
import { double, name } from "../shared/shapes.ts";

export const WIRE = "images";

/** The vendor's own limits for one request. */
export const MOST_PICTURES = 10;
export const MOST_GIVEN = 16;
export const MOST_PARTIALS = 3;
const LONGEST_PROMPT = 32_000;

const count = (least: number, most: number) => double(z.int().min(least).max(most)).nullish();

const commonFields = {
  model: name.max(512),
  prompt: z.string().min(1).max(LONGEST_PROMPT),
  n: count(1, MOST_PICTURES),
  size: z.string().regex(/^(auto|[1-9]\d{0,4}x[1-9]\d{0,4})$/, 'Expected "auto", or a size such as "1024x1024"')
    .nullish(),
  quality: z.string().max(64).nullish(),
  background: z.enum(["transparent", "opaque", "auto"]).nullish(),
  output_format: z.enum(PICTURE_FORMATS).nullish(),
  output_compression: count(0, 100),
  response_format: z.enum(["b64_json", "url"]).nullish(),
  stream: z.boolean().nullish(),
  partial_images: count(0, MOST_PARTIALS),
  /** Fields of open models, which the vendor does not have. */
  negative_prompt: z.string().max(LONGEST_PROMPT).nullish(),
  seed: double(z.int()).nullish(),
  num_inference_steps: count(1, 1_000),
  guidance_scale: double(z.number()).nullish(),
};

export const requestSchema = z.looseObject(commonFields);
export type ImagesRequest = z.output<typeof requestSchema>;
export const REQUEST_KEYS: ReadonlySet<string> = new Set(Object.keys(commonFields));

/** A given picture, by its address or the id of an uploaded file. */
const reference = z.looseObject({
  image_url: z.string().min(1).nullish(),
  file_id: z.string().min(1).max(512).nullish(),
});
export type WireReference = z.output<typeof reference>;

const editFields = {
  ...commonFields,
  images: z.array(reference).min(1).max(MOST_GIVEN),
  mask: reference.nullish(),
};
export const editSchema = z.looseObject(editFields);
export const EDIT_KEYS: ReadonlySet<string> = new Set(Object.keys(editFields));

/** The numbers and switches of a form, where every field is a text. */
export const FORM_NUMBERS: ReadonlySet<string> = new Set([
  "n",
  "output_compression",
  "partial_images",
  "seed",
  "num_inference_steps",
  "guidance_scale",
]);

// Answers of upstreams

const tokens = z.int().min(0).nullish().catch(undefined);
const word = z.string().nullish().catch(undefined);

const usage = z.looseObject({
  input_tokens: tokens,
  output_tokens: tokens,
  total_tokens: tokens,
  input_tokens_details: z.looseObject({ image_tokens: tokens, text_tokens: tokens }).nullish().catch(undefined),
}).nullish().catch(undefined);
export type WireUsage = z.output<typeof usage>;

const facts = { quality: word, background: word, usage };

export const answerSchema = z.looseObject({
  data: z.array(z.looseObject({
    b64_json: z.string().nullish(),
    url: z.string().nullish(),
    revised_prompt: word,
  })),
  ...facts,
});

export const eventSchema = z.looseObject({
  type: z.string(),
  b64_json: z.string().nullish(),
  url: z.string().nullish(),
  partial_image_index: z.int().min(0).nullish().catch(undefined),
  revised_prompt: word,
  ...facts,
});
