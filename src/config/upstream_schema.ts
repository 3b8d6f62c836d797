/** The sections of the configuration for upstreams and catalogs. */
import { z } from "zod";
import { quirkFields } from "../contract/quirks.ts";
import { baseUrlSchema, headerNameSchema, milliseconds, object, origins, secretError, secretSchema } from "./fields.ts";

const timeoutsSchema = object("How long to wait for the upstream, in milliseconds.", {
  headMs: milliseconds(120_000, "Until the head of a streamed answer."),
  firstEventMs: milliseconds(300_000, "From the head of a streamed answer until its first event."),
  idleMs: milliseconds(120_000, "Between two events of a streamed answer."),
  wholeMs: milliseconds(600_000, "For an answer that is not streamed. The SDKs wait ten minutes."),
  totalMs: milliseconds(1_800_000, "For a streamed answer, from its first moment to its last."),
});

/** What calls are made by. */
export const transportSchema = z.enum(["fetch", "node"]);

export const upstreamSchema = object("A service that runs models.", {
  driver: z.string().meta({
    description: "How to speak to it: the name of a driver, such as chat.",
    examples: ["chat", "sandbox"],
  }),
  baseUrl: baseUrlSchema.optional(),
  secret: z.union([z.literal("client"), secretSchema], { error: secretError }).optional().meta({
    description:
      "Sent as a bearer token. If its variable is not set, requests to this upstream get 503. With client, the " +
      "caller's own token is sent, to this upstream only.",
  }),
  headers: z.record(
    headerNameSchema,
    z.string().regex(/^[\t\x20-\x7e\x80-\xff]*$/, "Expected a header value: one line of Latin-1 text"),
  ).default({}).meta({ description: "Further headers for every request to this upstream." }),
  refuses: z.array(z.string().min(1)).default([]).meta({
    description:
      "Top-level fields of a request body that this upstream answers with an error. They are left out and noted; " +
      "but max_tokens goes to a chat upstream as max_completion_tokens if that is not listed too. Also names of " +
      "hosted tools that the upstream accepts but does not run, such as web_search.",
  }),
  systemMessages: z.enum(["first", "anywhere"]).default("first").meta({
    description:
      "Where this upstream's chat templates take system messages. With first, later ones of clients of another " +
      "protocol become part of the user's turn.",
  }),
  dialect: quirkFields.dialect.default("router"),
  reasoningField: quirkFields.reasoningField.default("reasoning_content"),
  defaultMaxTokens: quirkFields.defaultMaxTokens.optional(),
  catalog: z.string().optional().meta({
    description:
      "For a service that passes requests on to others: the name of the catalog that knows where each model runs.",
  }),
  prices: z.string().optional().meta({
    description:
      "What its models cost: the name of a catalog whose list says it for each provider. It is asked for with the " +
      "first request that goes to this upstream, and again after ten minutes.",
  }),
  cacheControl: quirkFields.cacheControl.default("drop"),
  providers: object(
    "For a service that chooses a provider for each request: how a conversation stays with the provider whose " +
      "cache holds its beginning. The next turn asks for model:provider, and without the provider if that fails.",
    {
      servedBy: headerNameSchema.meta({ description: "The response header that names the provider." }),
      policies: z.array(z.string().min(1)).default([]).meta({
        description:
          "The words after a model's colon that leave the choice to the service: a provider replaces them. Any other " +
          "word is the client's own choice and stays.",
        examples: [["fastest", "cheapest"]],
      }),
    },
  ).optional(),
  resultsFrom: origins("https://media.example.com")
    .meta({
      description:
        "The origins from which results may be fetched that this upstream gives as URLs; *. stands for every host " +
        "below one. They are fetched without a credential. A result anywhere else is an error.",
      examples: [["https://media.example.com", "https://*.media.example.com"]],
    }),
  batch: quirkFields.batch.optional(),
  scores: quirkFields.scores.default("as-they-are"),
  textForms: quirkFields.textForms.default("leave"),
  structuredOutput: quirkFields.structuredOutput.default("native"),
  tokenizers: z.string().optional().meta({
    description:
      "The name of the catalog that has the tokenizers of this upstream's models. Clients that ask for a count " +
      "get one by the model's own chat template and vocabulary. Those are downloaded at the first count for a " +
      "model (about 10 MB each), kept beside the store, and held in memory while they are used (about 150 MB " +
      "each, two at most). Without it, nothing is downloaded.",
  }),
  counter: quirkFields.counter.optional(),
  hostedTools: quirkFields.hostedTools.optional(),
  repairArguments: quirkFields.repairArguments.default(false),
  concurrency: object("How many requests it gets at once. Further ones wait in turn.", {
    running: z.int().min(1).meta({ description: "Requests that run at once." }),
    waiting: z.int().min(0).default(100).meta({ description: "Requests that wait. Further ones get 503." }),
    waitMs: milliseconds(
      10_000,
      "How long a request waits, in milliseconds, before it goes to another target or gets 503.",
    ),
  }).optional(),
  propagateTrace: z.boolean().default(false).meta({
    description:
      "Whether this upstream learns which trace a request is a part of, by the headers traceparent and tracestate.",
  }),
  transport: transportSchema.optional().meta({
    description: "How it is called. Without it, as the top-level transport says.",
  }),
  timeouts: timeoutsSchema.prefault({}),
});

export const catalogSchema = object("A service that knows which models there are.", {
  plugin: z.string().meta({ description: "How to read its list: the name of a catalog plugin.", examples: ["hub"] }),
  baseUrl: baseUrlSchema,
  secret: secretSchema.optional().meta({
    description: "Sent as a bearer token where its variable is set. The secrets of clients are never sent.",
  }),
  filesFrom: origins("https://files.example.com")
    .meta({
      description:
        "The origins from which files may be fetched that this service redirects to; *. stands for every host below " +
        "one. They are fetched without a credential.",
      examples: [["https://files.example.com", "https://*.files.example.com"]],
    }),
});
