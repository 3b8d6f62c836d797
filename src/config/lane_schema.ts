/** The section of the configuration for lanes and their models. */
import { z } from "zod";
import { MODALITIES, TASKS } from "../canonical/models.ts";
import { quirkFields } from "../contract/quirks.ts";
import { object, unknownKeys } from "./fields.ts";

/** A price in dollars. More decimals would be lost, and a higher price would be in another unit. */
const dollars = (description: string) =>
  z.number().min(0).max(100_000).multipleOf(0.000001, "Expected dollars with six decimals at most").optional()
    .meta({ description });

const priceSchema = object("What a model costs, in US dollars.", {
  input: dollars("Per million input tokens."),
  output: dollars("Per million output tokens."),
  cached: dollars("Per million input tokens read from a cache. By default as input."),
  cacheWrite: dollars("Per million input tokens written to a cache. By default as input."),
  reasoning: dollars("Per million reasoning tokens. By default as output."),
  request: dollars("Per request. If set, tokens without a price cost nothing."),
  search: dollars("Per search that the gateway runs for the model."),
  audioMinute: dollars("Per minute of transcribed audio, if the upstream reports its length."),
  image: dollars("Per picture that a model draws. If set, tokens without a price cost nothing."),
});

const targetSchema = object("A model at an upstream.", {
  upstream: z.string().meta({ description: "Name of one of the upstreams." }),
  model: z.string().min(1).meta({ description: "What the upstream calls the model." }),
  weight: z.int().min(0).optional().meta({
    description:
      "This target's share of new conversations, relative to the weights of the others. If no target has a " +
      "weight, all conversations begin at the first.",
  }),
  price: priceSchema.optional().meta({
    description: "What the model costs there. By default the price of the alias.",
  }),
});

const tokensSchema = z.int().min(1);

/** Where an answer that breaks off may go on. */
const CONTINUATIONS = ["off", "same", "any"] as const;

/** How answers that break off go on. */
export const continuationFields = {
  continuation: z.enum(CONTINUATIONS).optional().meta({
    description:
      "Where an answer that breaks off after its first words may go on: nowhere, at the same model, or also at the next " +
      "targets. By default at the same model, if its upstream is known to continue answers.",
  }),
  stallContinueMs: z.int().min(1).optional().meta({
    description:
      "After how many milliseconds without an event an answer counts as broken off, if it can be continued. By default " +
      "the upstream's idle time-out decides.",
  }),
};

const modelLimits = {
  contextLength: tokensSchema.optional().meta({ description: "Input and output tokens together." }),
  maxOutputTokens: tokensSchema.optional().meta({ description: "The most tokens that an answer can have." }),
  inputModalities: z.array(z.enum(MODALITIES)).min(1).optional().meta({
    description:
      "What the model accepts. Other kinds of files are refused in the user's latest turn, and replaced by a " +
      "line of text in older turns and tool results.",
  }),
  efforts: quirkFields.efforts.optional(),
};
const modelLimitsSchema = z.object(modelLimits);

export const aliasSchema = object("A model of the lane.", {
  task: z.enum(TASKS).meta({ description: "What the model is for." }),
  targets: z.array(targetSchema).min(1).meta({
    description: "Where its requests go, in order of preference: if one target fails, the next one is called.",
  }),
  displayName: z.string().optional().meta({ description: "A display name for the model list." }),
  ownedBy: z.string().optional().meta({ description: "The model's maker, for the model list." }),
  ...modelLimits,
  textForms: quirkFields.textForms.optional(),
  completions: quirkFields.completions.optional(),
  decisions: quirkFields.decisions.optional(),
  fillTemplate: quirkFields.fillTemplate.optional(),
  structuredOutput: quirkFields.structuredOutput.optional(),
  hostedTools: quirkFields.hostedTools.optional(),
  repairArguments: quirkFields.repairArguments.optional(),
  defaultMaxTokens: quirkFields.defaultMaxTokens.optional(),
  price: priceSchema.optional().meta({ description: "What the model costs at targets that have no price." }),
  hedgeAfterMs: z.int().min(1).optional().meta({
    description:
      "If the target of a streamed answer is silent for this many milliseconds, the next one is called too, and " +
      "the first to answer is used. At most one request in ten is sent twice, because both may be charged.",
  }),
  voices: quirkFields.voices.optional(),
  ...continuationFields,
});

export const laneNameSchema = z.string()
  .regex(/^[a-z0-9][a-z0-9-]*$/, "Expected a lane name of lower-case letters, digits and hyphens")
  .refine((name) => name !== "v1", `Cannot name a lane "v1", because paths inside a lane begin with it`);

export const laneSchema = object("A path prefix with its own models.", {
  models: z.record(z.string().min(1, "Expected the name of a model"), aliasSchema).default({}).meta({
    description:
      "The models of the lane, by the name that clients use. A name with * stands for all matching names that " +
      "no other entry matches better; it is not listed.",
  }),
  upstreams: z.partialRecord(z.enum(TASKS), z.string(), { error: unknownKeys(TASKS) }).default({}).meta({
    description:
      "The upstream for models that the lane does not list, by task. The model keeps the client's name for it.",
  }),
  catalog: z.union([z.string(), z.array(z.string()).min(1)]).optional().meta({
    description:
      "One or more catalogs of what those upstreams offer. Their models are listed with the lane's own, and an " +
      "unknown name gets 404. Without it, or if the catalog does not answer, the upstream decides.",
  }),
  ...continuationFields,
  toolCalls: z.literal("whole").optional().meta({
    description:
      "With whole, the calls of tools in a stream are held back until the answer is complete, so that they can be asked " +
      "for again if it breaks off.",
  }),
});

/** A curated name of a model, and its targets. */
export type Alias = z.output<typeof aliasSchema>;
/** The limits of a model in any lane and at any upstream. */
export type ModelLimits = Readonly<z.output<typeof modelLimitsSchema>>;
/** How answers of a lane or of one of its models go on. */
export interface ContinuationSettings {
  continuation?: typeof CONTINUATIONS[number] | undefined;
  stallContinueMs?: number | undefined;
  /** Set if streamed calls of tools are held back until the answer is complete. Only a lane says it. */
  toolCalls?: "whole" | undefined;
}
export type LaneConfig = z.output<typeof laneSchema>;
