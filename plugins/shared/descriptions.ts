/** Schemas shared by the descriptions of several wires. */
import { z } from "zod";
import { TASKS } from "../../src/canonical/models.ts";
import type { DescribedParameter } from "../../src/contract/description.ts";

export const count = z.int().min(0);
export const text = z.string();
/** A non-empty text. */
export const word = z.string().min(1);
export const seconds = z.int().min(0).meta({ description: "Seconds since the epoch." });

export const taskParameter: Readonly<Record<string, DescribedParameter>> = {
  task: {
    in: "query",
    description: "Lists the models of this task only.",
    schema: z.enum(TASKS),
  },
};

/** The fields that the gateway adds to each entry of a wire's model list. */
export const modelFacts = {
  task: z.enum(TASKS).meta({ description: "What the model is for." }),
  input_modalities: z.array(z.string()).optional().meta({ description: "What the model can be given." }),
};

export const usage = z.looseObject({ prompt_tokens: count, total_tokens: count });

/** A page of a list. `empty`: the value of its ids if the page is empty. */
export function pageOf(item: z.ZodType) {
  return z.looseObject({
    object: z.literal("list"),
    data: z.array(item),
    first_id: z.string().nullish(),
    last_id: z.string().nullish(),
    has_more: z.boolean(),
  });
}
