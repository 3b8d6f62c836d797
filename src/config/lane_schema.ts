/** The section of the configuration for what is served: lanes and their models. */
import { z } from "zod";
import { MODALITIES, TASKS } from "../canonical/models.ts";
import { quirkFields } from "../contract/quirks.ts";
import { object, unknownKeys } from "./fields.ts";

/** In dollars. More decimals would be lost, and higher ones are in another unit. */
const dollars = (description: string) =>
  z.number().min(0).max(100_000).multipleOf(0.000001, "Expected dollars with six decimals at most").optional()
    .meta({ description });

const priceSchema = object("What a model costs, in US dollars.", {
  input: dollars("A million tokens of input."),
  output: dollars("A million tokens of output."),
  cached: dollars("A million tokens of input from a cache. Without it, as input."),
  cacheWrite: dollars("A million tokens of input that are put into a cache. Without it, as input."),
  reasoning: dollars("A million tokens of reasoning. Without it, as output."),
  request: dollars("A request. Where it is set, tokens without a price cost nothing."),
  search: dollars("A search that the gateway runs for the model."),
  audioMinute: dollars("A minute of transcribed sound, where the upstream reports how long it was."),
});

const targetSchema = object("A model at an upstream.", {
  upstream: z.string().meta({ description: "Name of one of the upstreams." }),
  model: z.string().min(1).meta({ description: "What the upstream calls the model." }),
  weight: z.int().min(0).optional().meta({
    description:
      "This target's share of new conversations, relative to the weights of the others. If no target has one, all " +
      "begin at the first.",
  }),
  price: priceSchema.optional().meta({
    description: "What the model costs there. Without it, the price of the alias.",
  }),
});

const tokensSchema = z.int().min(1);

const modelLimits = {
  contextLength: tokensSchema.optional().meta({ description: "Tokens of input and output together." }),
  maxOutputTokens: tokensSchema.optional().meta({ description: "The most tokens that one answer may have." }),
  inputModalities: z.array(z.enum(MODALITIES)).min(1).optional().meta({
    description:
      "What the model can be given. Files of other kinds are refused in the user's newest turn, and replaced by a " +
      "line of text in older turns and tool results.",
  }),
  efforts: quirkFields.efforts.optional(),
};
const modelLimitsSchema = z.object(modelLimits);

export const aliasSchema = object("A model of the lane.", {
  task: z.enum(TASKS).meta({ description: "What the model is for." }),
  targets: z.array(targetSchema).min(1).meta({
    description: "Where its requests go, in order of preference: the next one is asked when one fails.",
  }),
  displayName: z.string().optional().meta({ description: "A name for people, shown in the model list." }),
  ownedBy: z.string().optional().meta({ description: "Who made the model, shown in the model list." }),
  ...modelLimits,
  textForms: quirkFields.textForms.optional(),
  structuredOutput: quirkFields.structuredOutput.optional(),
  hostedTools: quirkFields.hostedTools.optional(),
  repairArguments: quirkFields.repairArguments.optional(),
  defaultMaxTokens: quirkFields.defaultMaxTokens.optional(),
  price: priceSchema.optional().meta({ description: "What the model costs at targets that have no price." }),
  hedgeAfterMs: z.int().min(1).optional().meta({
    description:
      "If the target of a streamed answer is silent for this many milliseconds, the next one is asked too, and the " +
      "first that answers is used. At most one request in ten is asked twice, because both may be charged.",
  }),
  voices: quirkFields.voices.optional(),
});

export const laneNameSchema = z.string()
  .regex(/^[a-z0-9][a-z0-9-]*$/, "Expected a lane name of lower-case letters, digits and hyphens")
  .refine((name) => name !== "v1", `Cannot name a lane "v1", because paths inside a lane begin with it`);

export const laneSchema = object("A path prefix with its own models.", {
  models: z.record(z.string().min(1, "Expected the name of a model"), aliasSchema).default({}).meta({
    description:
      "The models of the lane, by the name that clients ask for. A name with * in it stands for all names that " +
      "match and that no other name fits better; it is not listed.",
  }),
  upstreams: z.partialRecord(z.enum(TASKS), z.string(), { error: unknownKeys(TASKS) }).default({}).meta({
    description:
      "The upstream of models that the lane does not list, by task. The model keeps the name that the client gave.",
  }),
  catalog: z.union([z.string(), z.array(z.string()).min(1)]).optional().meta({
    description:
      "What those upstreams offer: the name of a catalog, or of several. Their models are listed with the lane's " +
      "own, and a name that none knows gets 404. Without it, or if it does not answer, the upstream decides.",
  }),
});

/** A curated name, and where its model is. */
export type Alias = z.output<typeof aliasSchema>;
/** What is known of a model, whichever lane and upstream it is at. */
export type ModelLimits = Readonly<z.output<typeof modelLimitsSchema>>;
export type LaneConfig = z.output<typeof laneSchema>;
