/** The configuration, said once: its types, its checks and its JSON schema all come from here. */
import { z } from "zod";
import { EFFORTS } from "../canonical/generate.ts";
import { DEEPEST_JSON, JSON_LIMITS } from "../canonical/json.ts";
import { MODALITIES, TASKS } from "../canonical/models.ts";
import { COUNTERS, DIALECTS } from "../contract/quirks.ts";
import { hint } from "./hint.ts";

/** One line for each unknown key, in the order of the issue's `keys`. */
function unknownKeys(known: readonly string[]) {
  return (issue: z.core.$ZodRawIssue) =>
    issue.code === "unrecognized_keys"
      ? issue.keys.map((key) => `Unknown key${hint(key, known)}`).join("\n")
      : undefined;
}

function object<Shape extends z.core.$ZodLooseShape>(description: string, shape: Shape) {
  return z.strictObject(shape, { error: unknownKeys(Object.keys(shape)) }).meta({ description });
}

function milliseconds(preset: number, description: string) {
  // A timer of the platform counts in 32 bits: a longer one would fire at once.
  return z.int().min(1).max(2_147_483_647).default(preset).meta({ description });
}

const VARIABLE_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** Whether an environment variable can have the name; the platform throws for some that cannot. */
export function isVariableName(name: string): boolean {
  return VARIABLE_NAME.test(name);
}

const secretError = () => `Expected { "env": "NAME" }: a secret itself is never written here`;

const secretSchema = z.strictObject({
  env: z.string().regex(VARIABLE_NAME, "Expected the name of an environment variable").meta({
    description: "Name of the environment variable that holds the secret.",
    examples: ["LANEWAY_KEY"],
  }),
}, { error: secretError }).meta({
  description: "Where a secret is found. The secret itself is never written in the configuration.",
});

const baseUrlSchema = z.url({ protocol: /^https?$/, error: "Expected an http or https URL", abort: true })
  .refine((text) => {
    const { username, password, search, hash } = new URL(text);
    return username + password + search + hash === "";
  }, "Expected a URL without credentials, query and fragment")
  .overwrite((text) => text.replace(/\/+$/, ""))
  .meta({
    description: "What the paths of calls are joined to, usually ending in /v1. Needed by drivers that make calls.",
    examples: ["http://127.0.0.1:8080/v1"],
  });

const amount = (description: string) => z.int().min(1).optional().meta({ description });

const quotaSchema = object("What a key may use. What is absent is not limited.", {
  requestsPerMinute: amount("Requests that run a model, a minute. Counting tokens and listing models are free."),
  tokensPerMinute: amount("Tokens of input and output together, a minute."),
  tokensPerDay: amount(
    "Tokens of input and output together, a day; it ends at midnight UTC, and is counted in the store.",
  ),
  concurrentRequests: amount("Requests that run at once."),
});

const keySchema = object("A key that clients authenticate with.", {
  name: z.string().min(1).meta({ description: "What the log calls this key. No two keys share a name." }),
  secret: secretSchema,
  lanes: z.array(z.string()).min(1).optional().meta({
    description: "The lanes that the key opens. Every lane where this is absent.",
  }),
  models: z.array(z.string().min(1)).min(1).optional().meta({
    description:
      "The models that the key may ask for, by name or by pattern with * in it. Every one where this is absent.",
  }),
  expires: z.iso.datetime({ offset: true }).optional().meta({
    description: "When the key ends.",
    examples: ["2027-01-31T00:00:00Z"],
  }),
  quota: quotaSchema.optional(),
});

const timeoutsSchema = object("How long to wait for the upstream, in milliseconds.", {
  headMs: milliseconds(120_000, "Until the head of a streamed answer."),
  firstEventMs: milliseconds(300_000, "From the head of a streamed answer until its first event."),
  idleMs: milliseconds(120_000, "Between two events of a streamed answer."),
  wholeMs: milliseconds(600_000, "For an answer that is not streamed. The SDKs wait ten minutes."),
  totalMs: milliseconds(1_800_000, "For a streamed answer, from its first moment to its last."),
});

const ORIGIN = /^https?:\/\/(\*\.)?[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:\d{1,5})?$/;

const textFormsSchema = z.enum(["parse", "leave"]).meta({
  description:
    "What becomes of calls of tools and of reasoning that stand in the text of a chat answer, in the model's own form. " +
    "With parse they are told as calls and as reasoning: for servers that do not know the model's form. With leave they " +
    "stay text. What an alias says goes before what its upstream says.",
});

const headerNameSchema = z.string().regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, "Expected the name of a header");

const structuredOutputSchema = z.enum(["native", "instruct"]).meta({
  description:
    "How a model is told that its answer is to be JSON, of a schema perhaps. With native, by the field that the " +
    "upstream's protocol has for it. With instruct, in words: for servers that pass over the field. What comes back is " +
    "then checked, and asked for once more where it does not fit. What an alias says goes before what its upstream says.",
});

const repairArgumentsSchema = z.boolean().meta({
  description:
    "Whether arguments of calls that are not JSON are repaired where there is one way to read them (single quotes, a " +
    "comma too many, True and None, names without quotes) and the result fits the tool's schema. A stream then tells the " +
    "arguments of a call in one piece. What an alias says goes before what its upstream says.",
});

const defaultMaxTokensSchema = z.int().min(1).meta({
  description:
    "The limit of an answer, in tokens, that is sent where the upstream's protocol requires one and the client sets none: " +
    "at messages upstreams. Without it, the model's maxOutputTokens and what its contextLength leaves; where neither is " +
    "known, 32000. Where an upstream finds it too much and says what there is room for, it is asked once more. What an " +
    "alias says goes before what its upstream says.",
});

const upstreamSchema = object("A service that runs models.", {
  driver: z.string().meta({
    description: "How to speak to it: the name of a driver, such as chat.",
    examples: ["chat", "sandbox"],
  }),
  baseUrl: baseUrlSchema.optional(),
  secret: z.union([z.literal("client"), secretSchema], { error: secretError }).optional().meta({
    description:
      "Sent as a bearer token. Where its variable is not set, requests to this upstream get 503. With client, the " +
      "caller's own token is sent: to this upstream, and to no other.",
  }),
  headers: z.record(
    headerNameSchema,
    z.string().regex(/^[\t\x20-\x7e\x80-\xff]*$/, "Expected a header value: one line of Latin-1 text"),
  ).default({}).meta({ description: "More headers for every request to this upstream." }),
  refuses: z.array(z.string().min(1)).default([]).meta({
    description:
      "Top-level fields of a request body that this upstream answers with an error. They are left out, and the client is " +
      "told in a note; but max_tokens goes to a chat upstream as max_completion_tokens, where that is not listed too. " +
      "Also names of hosted tools that it takes and does not run, such as web_search.",
  }),
  systemMessages: z.enum(["first", "anywhere"]).default("first").meta({
    description:
      "Where this upstream's chat templates take system messages. With first, later ones of a client that speaks " +
      "another protocol become part of the user's turn.",
  }),
  dialect: z.enum(DIALECTS).default("router").meta({
    description:
      "How this upstream is told whether and how much a model is to think. With router, by reasoning_effort alone, or in " +
      "the way of the provider that a model's name is pinned to. Else levels go there too, and on and off elsewhere: with " +
      "template into chat_template_kwargs (servers that render the chat template themselves, such as those that run on " +
      "your own machine), with template-args into chat_template_args, with reasoning into reasoning.enabled, with " +
      "thinking into thinking.type, with enable-thinking into enable_thinking. With reasoning-object both go into reasoning.",
  }),
  reasoningField: z.enum(["reasoning_content", "reasoning"]).default("reasoning_content").meta({
    description:
      "The field of a turn in which this upstream's chat wire reads what the model thought. Some servers read only the one " +
      "in which they tell it.",
  }),
  defaultMaxTokens: defaultMaxTokensSchema.optional(),
  catalog: z.string().optional().meta({
    description:
      "For a service that passes requests on to others: the name of the catalog that tells where each of its models is.",
  }),
  cacheControl: z.enum(["pass", "drop"]).default("drop").meta({
    description:
      "What becomes of cache_control, the hint where a prefix ends that is worth keeping, on the way from a client of " +
      "another protocol to an upstream that speaks chat. With pass it goes to texts, results of tools, tools and the " +
      "request itself: for services that keep prefixes only where they are told to. Most keep them by themselves.",
  }),
  providers: object(
    "For a service that chooses a provider for each request: how a conversation stays with the one that served it, whose " +
      "cache holds its beginning. The next turn asks for model:provider, and without the provider where that fails.",
    {
      servedBy: headerNameSchema.meta({ description: "The header of its answers that names the provider." }),
      policies: z.array(z.string().min(1)).default([]).meta({
        description:
          "The words after a model's colon that leave the choice to the service: a provider takes their place. Any other " +
          "word there is the client's own choice, and stays.",
        examples: [["fastest", "cheapest"]],
      }),
    },
  ).optional(),
  resultsFrom: z.array(z.string().regex(ORIGIN, 'Expected an origin such as "https://media.example.com"')).default([])
    .meta({
      description:
        "Where the results may be fetched from that this upstream gives as URLs: origins, with *. for every host below " +
        "one. They are fetched without a credential; a result that is anywhere else is an error.",
      examples: [["https://media.example.com", "https://*.media.example.com"]],
    }),
  batch: z.int().min(1).optional().meta({
    description:
      "The most texts that one request for embeddings, or for scores by the driver tei or hub, may hold. Longer lists " +
      "are sent as several requests. The driver's own limit where this is absent.",
  }),
  scores: z.enum(["as-they-are", "sigmoid"]).default("as-they-are").meta({
    description:
      "What clients get as relevance scores. With sigmoid, scores that are not between 0 and 1 are made so, in the same " +
      "order: for servers that give raw logits.",
  }),
  textForms: textFormsSchema.default("leave"),
  structuredOutput: structuredOutputSchema.default("native"),
  tokenizers: z.string().optional().meta({
    description:
      "Where the tokenizers of this upstream's models are: the name of a catalog that has their files. Clients that ask for " +
      "a count then get one by the model's own chat template and vocabulary. Those are downloaded at the first count for a " +
      "model (some 10 MB each), kept beside the store, and held in memory while they are used (some 150 MB each, two at " +
      "most). Where this is absent nothing is downloaded.",
  }),
  counter: z.enum(COUNTERS).optional().meta({
    description:
      "The endpoint with which this upstream counts the tokens of a request, by the last step of its path: clients that " +
      "ask for a count then get the upstream's own. Where this is absent it is not asked, and the gateway counts.",
  }),
  repairArguments: repairArgumentsSchema.default(false),
  concurrency: object("How many requests it is given at once. Further ones wait in turn.", {
    running: z.int().min(1).meta({ description: "Requests that run at once." }),
    waiting: z.int().min(0).default(100).meta({ description: "Requests that wait. Further ones get 503." }),
    waitMs: milliseconds(10_000, "How long a request waits, in milliseconds, before it goes elsewhere or gets 503."),
  }).optional(),
  timeouts: timeoutsSchema.prefault({}),
});

const catalogSchema = object("A service that tells what models there are.", {
  plugin: z.string().meta({ description: "How to read its list: the name of a catalog plugin.", examples: ["hub"] }),
  baseUrl: baseUrlSchema,
  secret: secretSchema.optional().meta({
    description: "Sent as a bearer token where its variable is set. The secrets of clients are never sent.",
  }),
  filesFrom: z.array(z.string().regex(ORIGIN, 'Expected an origin such as "https://files.example.com"')).default([])
    .meta({
      description:
        "Where the files may be fetched from that this service redirects to: origins, with *. for every host below one. They " +
        "are fetched without a credential.",
      examples: [["https://files.example.com", "https://*.files.example.com"]],
    }),
});

const targetSchema = object("A model at an upstream.", {
  upstream: z.string().meta({ description: "Name of one of the upstreams." }),
  model: z.string().min(1).meta({ description: "What the upstream calls the model." }),
  weight: z.int().min(0).optional().meta({
    description:
      "How large a share of new conversations begins here, beside the weights of the other targets. Where no target has " +
      "one, all begin at the first.",
  }),
});

const tokensSchema = z.int().min(1);

const aliasSchema = object("A model of the lane.", {
  task: z.enum(TASKS).meta({ description: "What the model is for." }),
  targets: z.array(targetSchema).min(1).meta({
    description: "Where its requests go, in order of preference: the next one is asked when one fails.",
  }),
  displayName: z.string().optional().meta({ description: "A name for people, shown in the model list." }),
  ownedBy: z.string().optional().meta({ description: "Who made the model, shown in the model list." }),
  contextLength: tokensSchema.optional().meta({ description: "Tokens of input and output together." }),
  maxOutputTokens: tokensSchema.optional().meta({ description: "The most tokens that one answer may have." }),
  inputModalities: z.array(z.enum(MODALITIES)).min(1).optional().meta({
    description:
      "What the model can be given. Where this is present, files of other kinds are refused in the user's newest " +
      "turn, and replaced by a line of text in older turns and in results of tools.",
  }),
  efforts: z.array(z.enum(EFFORTS)).optional().meta({
    description:
      "The levels of reasoning effort that the model knows: what a client asks for is moved to the nearest. " +
      "An empty list for a model that knows none. What is known of the model's family counts where this is absent; of an " +
      "unknown one it is passed on as it came.",
  }),
  textForms: textFormsSchema.optional(),
  structuredOutput: structuredOutputSchema.optional(),
  repairArguments: repairArgumentsSchema.optional(),
  defaultMaxTokens: defaultMaxTokensSchema.optional(),
  hedgeAfterMs: z.int().min(1).optional().meta({
    description:
      "Where the target of a streamed answer says nothing for so many milliseconds, the next one is asked too, and the " +
      "first that speaks is heard. At most one request in ten is asked twice, because both may be charged.",
  }),
  voices: z.record(z.string().min(1), z.string().min(1)).optional().meta({
    description:
      "For speech: the model's own voice for each name that clients use. The name * stands for all that are not listed.",
    examples: [{ "alloy": "tara", "*": "leo" }],
  }),
});

const laneNameSchema = z.string()
  .regex(/^[a-z0-9][a-z0-9-]*$/, "Expected a lane name of lower-case letters, digits and hyphens")
  .refine((name) => name !== "v1", `Cannot name a lane "v1", because paths inside a lane begin with it`);

const laneSchema = object("A path prefix with its own models.", {
  models: z.record(z.string().min(1, "Expected the name of a model"), aliasSchema).default({}).meta({
    description:
      "The models of the lane, by the name that clients ask for. A name with * in it stands for all names that match, " +
      "where no other fits better; such a name is not shown in the model list.",
  }),
  upstreams: z.partialRecord(z.enum(TASKS), z.string(), { error: unknownKeys(TASKS) }).default({}).meta({
    description:
      "Where a model that the lane does not list goes, by task: the name of an upstream. The model keeps the " +
      "name that the client gave.",
  }),
  catalog: z.union([z.string(), z.array(z.string()).min(1)]).optional().meta({
    description:
      "What those upstreams offer: the name of a catalog, or several. Their models are listed with the lane's own, and a " +
      "name that none knows is answered 404. Where this is absent, or does not answer, the upstream decides.",
  }),
});

const storeSchema = object("Where conversations are kept that clients continue by an id.", {
  kind: z.enum(["kv", "memory"]).default("kv").meta({
    description:
      "With kv they outlive the gateway, and all gateways that use the same file can continue them. With memory they " +
      "end with the gateway.",
  }),
  path: z.string().min(1).optional().meta({
    description:
      "The file of kv, which is made where there is none. In the folder that the user's system has for data where this " +
      "is absent.",
  }),
  retentionDays: z.number().positive().max(3650).default(30).meta({
    description: "How long a turn of a conversation is kept, in days.",
  }),
}).refine(({ kind, path }) => kind === "kv" || path === undefined, {
  path: ["path"],
  error: 'Expected none, because a store of kind "memory" has no file',
});

export const configSchema = object("Configuration of a Laneway gateway.", {
  $schema: z.string().optional().meta({ description: "Where the JSON schema of this file is; for editors." }),
  extends: z.literal("default").optional().meta({
    description:
      "Starts from the built-in configuration, which the rest of this file overrides key by key. Arrays are " +
      "replaced whole; null removes a key.",
  }),
  listen: object("Where the gateway listens.", {
    hostname: z.string().min(1).default("127.0.0.1").meta({
      description: "An address of this machine. One that others can reach needs keys.",
    }),
    port: z.int().min(0).max(65535).default(8000).meta({
      description: "A TCP port; 0 lets the system choose a free one.",
    }),
  }).prefault({}),
  keys: z.array(keySchema).default([]).meta({
    description: "The keys that clients may use. Without any, only this machine is served.",
  }),
  upstreams: z.record(z.string().min(1, "Expected the name of an upstream"), upstreamSchema).default({}).meta({
    description: "The services that run models, by a name of your choice.",
  }),
  catalogs: z.record(z.string().min(1, "Expected the name of a catalog"), catalogSchema).default({}).meta({
    description: "The services that tell what models there are, by a name of your choice.",
  }),
  lanes: z.record(laneNameSchema, laneSchema).default({}).meta({
    description: "The lanes, by the name that begins their paths: oss serves /oss/v1.",
  }),
  storedKeys: z.boolean().default(false).meta({
    description:
      "Whether keys are admitted, too, that were made with the command keys, which can be revoked at any time.",
  }),
  retry: object("How often a request is tried that its targets fail.", {
    rounds: z.int().min(1).max(10).default(3).meta({
      description:
        "How often each target may be asked that certainly did not begin the work: it was not reached, or answered 409, 425, " +
        "429, 503 or 529.",
    }),
    failovers: z.int().min(0).max(10).default(1).meta({
      description:
        "How many failures that may have cost something, such as 500, 502, 504, a time-out or a broken connection, are " +
        "followed by a request to another target. The same target never gets it again.",
    }),
    budgetMs: z.int().min(0).default(5_000).meta({
      description:
        "How long a request may wait for further rounds, in milliseconds. A target that asks for a longer wait is not " +
        "asked again.",
    }),
  }).prefault({}),
  limits: object("Limits on what clients send, and on what upstreams answer.", {
    headerBytes: z.int().min(1_024).max(65_536).default(32_768).meta({
      description: "Bytes of a request's headers. Longer ones get 431.",
    }),
    bodyBytes: z.int().min(1).default(31_457_280).meta({
      description: "Bytes of one request body, as it comes and decompressed. Longer ones get 413.",
    }),
    bodyMs: milliseconds(60_000, "How long a client may take to send a body, in milliseconds. After it, 408."),
    uploadMs: milliseconds(300_000, "The same for a form with a file: 25 MB take minutes over a slow line."),
    stallMs: milliseconds(30_000, "How long a client may send nothing meanwhile, in milliseconds."),
    sendStallMs: milliseconds(
      60_000,
      "How long a client may take nothing of a streamed answer, in milliseconds. After it the answer ends, and its place is " +
        "free for others. What the system's buffers hold (some MB) counts as taken.",
    ),
    jsonDepth: z.int().min(10).max(DEEPEST_JSON).default(DEEPEST_JSON).meta({
      description: "How deep arrays and objects may be nested, in a request, an answer and an event of a stream.",
    }),
    jsonValues: z.int().min(1).default(JSON_LIMITS.values).meta({
      description:
        "Objects, arrays, strings, names of fields, booleans and nulls of one request, answer or event of a stream, and again of " +
        "the arguments of all its calls together. Numbers are not counted.",
    }),
    jsonNames: z.int().min(1).default(JSON_LIMITS.names).meta({
      description: "Names of fields in it that differ from each other.",
    }),
    messages: z.int().min(1).default(40_000).meta({ description: "Turns of one conversation." }),
    parts: z.int().min(1).default(40_000).meta({ description: "Pieces of content of one conversation." }),
    tools: z.int().min(1).default(4_096).meta({ description: "Tools of one request." }),
    concurrentRequests: z.int().min(1).default(2_000).meta({
      description: "Requests that run a model at once, of all callers. Further ones get 503.",
    }),
    memoryBytes: z.int().min(1).optional().meta({
      description:
        "Memory of the gateway above which requests that run a model get 503. Three quarters of the machine's or the " +
        "container's where this is absent, but no more than the engine's own limit (some 4 GB) and no less than 112 MiB.",
    }),
    answerBytes: z.int().min(1).default(67_108_864).meta({
      description: "Bytes of an upstream's answer that is read whole. A longer one is an error of the upstream's.",
    }),
    streamBytes: z.int().min(1).default(268_435_456).meta({
      description:
        "Bytes of an upstream's answer that is passed on as it comes: a stream of events, or speech. A longer one is ended " +
        "with an error.",
    }),
    frameBytes: z.int().min(1).default(33_554_432).meta({
      description:
        "Length of one line of an upstream's stream in bytes, and of one event in characters. A longer one is an error of " +
        "the upstream's.",
    }),
    uploadBytes: z.int().min(1).default(268_435_456).meta({
      description:
        "Bytes of all bodies, of JSON and forms, that clients are sending or that are being worked on. Above it, more get " +
        "503. Small ones, of up to a 256th of it (1 MiB), have a quarter more to themselves.",
    }),
  }).prefault({}),
  store: storeSchema.prefault({}),
  sealing: object("How reasoning is sealed that clients keep and send back.", {
    key: secretSchema.optional().meta({
      description:
        "The secret that it is sealed with: for several gateways that serve the same clients without a common store. " +
        "Where this is absent, a key is made at the first need and kept in the store. With another key, what was sealed " +
        "before is left out of later turns.",
    }),
  }).prefault({}),
});

export type Config = z.output<typeof configSchema>;
export type LaneConfig = z.output<typeof laneSchema>;
