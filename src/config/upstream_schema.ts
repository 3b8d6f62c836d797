/** The sections of the configuration for upstreams and catalogs. */
import { z } from "zod";
import { quirkFields } from "../contract/quirks.ts";
import {
  headerNameSchema,
  milliseconds,
  object,
  origins,
  secretError,
  serviceSecretSchema,
  serviceUrlSchema,
} from "./fields.ts";

const timeoutsSchema = object("How long to wait for the upstream, in milliseconds.", {
  headMs: milliseconds(120_000, "Until the head of a streamed answer."),
  firstEventMs: milliseconds(300_000, "From the head of a streamed answer until its first event."),
  idleMs: milliseconds(120_000, "Between two events of a streamed answer."),
  wholeMs: milliseconds(600_000, "For an answer that is not streamed. The SDKs wait ten minutes."),
  totalMs: milliseconds(1_800_000, "For a whole streamed answer."),
});

/** How calls are made. */
export const transportSchema = z.enum(["fetch", "node"]);

export const upstreamSchema = object("A service that runs models.", {
  provider: z.string().optional().meta({
    description:
      "A known service or local server, which sets driver, baseUrl, secret and what else it needs; docs/providers.md " +
      "lists them. What is set here itself wins, and null removes a setting.",
  }),
  driver: z.string().meta({
    description: "The driver that speaks its API, such as chat. Required without a provider.",
    examples: ["chat", "sandbox"],
  }),
  baseUrl: serviceUrlSchema.optional(),
  secret: z.union([z.literal("client"), serviceSecretSchema], { error: secretError }).optional().meta({
    description:
      "Sent in the header that the driver's servers expect, unless another place is named. If there is none, " +
      "requests to this upstream get 503. With client, the caller's own token is sent, to this upstream only.",
  }),
  headers: z.record(
    headerNameSchema,
    z.string().regex(/^[\t\x20-\x7e\x80-\xff]*$/, "Expected a header value: one line of Latin-1 text"),
  ).default({}).meta({ description: "Further headers for every request to this upstream." }),
  refuses: z.array(z.string().min(1)).default([]).meta({
    description:
      "Top-level request fields that this upstream refuses. They are left out and noted, but max_tokens is sent " +
      "to a chat upstream as max_completion_tokens unless that is listed too. Also hosted tools that the " +
      "upstream accepts but does not run, such as web_search.",
  }),
  relax: z.enum(["auto", "trusted", "off"]).default("auto").meta({
    description:
      "Whether requests that this upstream refuses in part are sent again without that part, which is noted. What a " +
      "request taught is remembered for the caller's key, and for all keys once a second key's request was refused in " +
      "the same way; with trusted, for all keys at once. With off, the refusal is passed on.",
  }),
  continuation: z.enum(["auto", "prefill", "instruction", "off"]).default("auto").meta({
    description:
      "How an answer that breaks off amid its text is continued here. With prefill, the model goes on with the turn of " +
      "the assistant; with instruction, it is asked in words, also where servers begin a new turn. With auto, by prefill " +
      "where the server is known to do it (see prefill), and else not.",
  }),
  prefill: quirkFields.prefill.optional(),
  completions: quirkFields.completions.optional(),
  decisions: quirkFields.decisions.optional(),
  fillTemplate: quirkFields.fillTemplate.optional(),
  systemMessages: z.enum(["first", "anywhere"]).default("first").meta({
    description:
      "Where this upstream's chat templates accept system messages. With first, later ones from clients of " +
      "another protocol become part of the user's turn.",
  }),
  dialect: quirkFields.dialect.default("router"),
  reasoningField: quirkFields.reasoningField.default("reasoning_content"),
  defaultMaxTokens: quirkFields.defaultMaxTokens.optional(),
  catalog: z.string().optional().meta({
    description:
      "For a service that routes requests to providers: the name of the catalog that knows where each model " +
      "runs.",
  }),
  prices: z.string().optional().meta({
    description:
      "The name of a catalog that lists the prices of its models for each provider. The list is loaded with the " +
      "first request to this upstream, and again after ten minutes.",
  }),
  cacheControl: quirkFields.cacheControl.default("drop"),
  providers: object(
    "For a service that chooses a provider for each request: how a conversation stays with the provider that " +
      "has cached its beginning. The next turn requests model:provider, and if that fails, the model alone.",
    {
      servedBy: headerNameSchema.meta({ description: "The response header that names the provider." }),
      policies: z.array(z.string().min(1)).default([]).meta({
        description:
          "The words after a model's colon that leave the choice of provider to the service: a provider may replace " +
          "them. Any other word is the client's own choice and stays.",
        examples: [["fastest", "cheapest"]],
      }),
    },
  ).optional(),
  fileIds: z.boolean().optional().meta({
    description:
      "Whether this upstream keeps files itself: then ids of files that the gateway does not have are passed on to it. " +
      "By default only if it gets the caller's own token.",
  }),
  resultsFrom: origins("https://media.example.com")
    .meta({
      description:
        "The origins from which results that this upstream returns as URLs may be fetched; *. stands for every " +
        "subdomain. They are fetched without credentials. A result elsewhere is an error.",
      examples: [["https://media.example.com", "https://*.media.example.com"]],
    }),
  batch: quirkFields.batch.optional(),
  scores: quirkFields.scores.default("as-they-are"),
  textForms: quirkFields.textForms.default("auto"),
  structuredOutput: quirkFields.structuredOutput.default("native"),
  tokenizers: z.string().optional().meta({
    description:
      "The name of the catalog that has the tokenizers of this upstream's models. Token counts then use the " +
      "model's own chat template and vocabulary. These are downloaded at the first count for a model (about 10 " +
      "MB each), kept beside the store, and held in memory while in use (about 150 MB each, two at most). " +
      "Without it, nothing is downloaded.",
  }),
  counter: quirkFields.counter.optional(),
  hostedTools: quirkFields.hostedTools.optional(),
  repairArguments: quirkFields.repairArguments.default(false),
  concurrency: object("How many concurrent requests it gets. Further ones wait in turn.", {
    running: z.int().min(1).meta({ description: "Concurrent requests." }),
    completions: z.int().min(1).optional().meta({
      description:
        "Concurrent completions, which are counted apart and wait in a line of their own. By default as many as running.",
    }),
    waiting: z.int().min(0).default(100).meta({ description: "Waiting requests. Further ones get 503." }),
    waitMs: milliseconds(
      10_000,
      "How long a request waits, in milliseconds, before it goes to another target or gets 503.",
    ),
  }).optional(),
  propagateTrace: z.boolean().default(false).meta({
    description: "Whether the request's trace is sent to this upstream, in the headers traceparent and tracestate.",
  }),
  transport: transportSchema.optional().meta({
    description: "How it is called. By default the top-level transport.",
  }),
  timeouts: timeoutsSchema.prefault({}),
});

export const catalogSchema = object("A service that lists models.", {
  plugin: z.string().meta({ description: "The catalog plugin that reads its list.", examples: ["hub"] }),
  baseUrl: serviceUrlSchema,
  secret: serviceSecretSchema.optional().meta({
    description:
      "Sent as a bearer token, unless a header is named, if its variable is set. Clients' secrets are never sent.",
  }),
  filesFrom: origins("https://files.example.com")
    .meta({
      description:
        "The origins to which this service may redirect for files; *. stands for every subdomain. They are " +
        "fetched without credentials.",
      examples: [["https://files.example.com", "https://*.files.example.com"]],
    }),
});
