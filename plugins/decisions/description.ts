/** Descriptions of the endpoints for decisions. */
import { z } from "zod";
import { type EndpointDescription, jsonAnswer } from "../../src/contract/description.ts";
import { count, text } from "../shared/descriptions.ts";
import { systemOneSchema } from "./systemone.ts";
import { requestSchema } from "./wire.ts";

const probability = z.number().min(0).max(1);
const usage = z.looseObject({ input_tokens: count, output_tokens: count });
const name = text.nullable();
const value = z.union([text, z.boolean()]);

export const decisions: EndpointDescription = {
  summary: "Answers to questions about a text, with their probabilities",
  description:
    "Each question is whether something is true, which of several values fits, or which level of a scale. Bodies in the " +
    "shapes of System One and of SGLang are accepted, too, and answered in kind. The header `x-laneway-notes` says where " +
    "probabilities were not measured.",
  request: requestSchema,
  answer: jsonAnswer(z.looseObject({
    model: text,
    answers: z.array(z.union([
      z.looseObject({ type: z.literal("predicate"), name, probability }),
      z.looseObject({
        type: z.literal("choice"),
        name,
        choice: value,
        confidence: probability,
        probabilities: z.array(z.looseObject({ value, probability })),
      }),
      z.looseObject({
        type: z.literal("score"),
        name,
        score: z.number().min(0),
        confidence: probability,
        probabilities: z.array(z.looseObject({ value: count, label: text, probability })),
      }),
      z.looseObject({ type: z.literal("refusal"), name }),
    ])).meta({ description: "In the order of the questions." }),
    usage,
  })),
};

const probabilities = z.record(z.string(), probability);

export const systemOne: EndpointDescription = {
  summary: "Answers to named questions about a state, with their probabilities, as System One",
  description: "A question that the model refuses has no answer.",
  request: systemOneSchema,
  answer: jsonAnswer(z.looseObject({
    model: text,
    answers: z.record(
      z.string(),
      z.union([
        z.looseObject({ type: z.literal("noul"), noul: probability }),
        z.looseObject({ type: z.literal("choice"), choice: text, confidence: probability, probabilities }),
        z.looseObject({
          type: z.literal("score"),
          score: z.number().min(0),
          confidence: probability,
          legend: z.record(z.string(), text),
          probabilities,
        }),
      ]),
    ),
    usage,
  })),
};
