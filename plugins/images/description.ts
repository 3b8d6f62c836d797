/** Describes the endpoints of the images wire and their answers. */
import { z } from "zod";
import { PICTURE_FORMATS } from "../../src/canonical/draw.ts";
import { type EndpointDescription, jsonAnswer } from "../../src/contract/description.ts";
import { count, seconds, text } from "../shared/descriptions.ts";
import { editSchema, requestSchema } from "./wire.ts";

const usage = z.looseObject({
  input_tokens: count,
  input_tokens_details: z.looseObject({ image_tokens: count, text_tokens: count }),
  output_tokens: count,
  total_tokens: count,
});

const facts = {
  background: text,
  output_format: z.enum(PICTURE_FORMATS).meta({ description: "The actual format." }),
  quality: text,
  size: text.meta({ description: "The actual size, such as 1024x1024, or auto if it is not known." }),
};

const answer = jsonAnswer(z.looseObject({
  created: seconds,
  data: z.array(z.looseObject({
    b64_json: z.base64().optional(),
    url: text.optional().meta({ description: "Only if it was requested, or the upstream gives nothing else." }),
    revised_prompt: text.optional(),
  })),
  ...facts,
  usage,
}));

const eventOf = (name: string) =>
  z.discriminatedUnion("type", [
    z.looseObject({
      type: z.literal(`${name}.partial_image`),
      b64_json: z.base64(),
      partial_image_index: count,
      created_at: seconds,
      ...facts,
    }),
    z.looseObject({
      type: z.literal(`${name}.completed`),
      b64_json: z.base64().optional(),
      url: text.optional(),
      created_at: seconds,
      ...facts,
      usage: usage.optional().meta({ description: "Of all pictures, with the last one." }),
    }),
  ]);

export const generations: EndpointDescription = {
  summary: "Pictures drawn from a text",
  description:
    "Gives pictures as base64, or as events with `stream`. Upstreams that show unfinished pictures show up to " +
    "`partial_images` of them.",
  request: requestSchema,
  answer,
  event: eventOf("image_generation"),
};

export const edits: EndpointDescription = {
  summary: "Pictures changed by a text",
  description: "Takes pictures as data URLs, addresses or ids of uploaded files.",
  request: editSchema,
  answer,
  event: eventOf("image_edit"),
};

const picture = z.file().meta({
  description: "A PNG, JPEG, WebP or GIF picture. The field may repeat, or be named `image[]`.",
});

export const editForms: EndpointDescription = {
  ...edits,
  description: "Takes a form with one picture or several.",
  when: "with a form",
  request: requestSchema.extend({
    image: picture,
    mask: z.file().optional().meta({ description: "A PNG that is transparent where the first picture may change." }),
  }),
};
