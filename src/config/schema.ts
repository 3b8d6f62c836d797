/** The configuration: its types, its checks and its JSON schema all come from here. */
import { z } from "zod";
import { object, secretSchema } from "./fields.ts";
import { hostedToolsSchema } from "./hosted_schema.ts";
import { laneNameSchema, laneSchema } from "./lane_schema.ts";
import { budgetSchema, limitsSchema, retrySchema, stopSchema } from "./limits_schema.ts";
import { metricsAddress } from "./permissions.ts";
import { oidcSchema } from "./oidc_schema.ts";
import { storeSchema } from "./store_schema.ts";
import { catalogSchema, transportSchema, upstreamSchema } from "./upstream_schema.ts";

const amount = (description: string) => z.int().min(1).optional().meta({ description });

const quotaSchema = object("What a key may use. What is absent has no limit.", {
  requestsPerMinute: amount("Requests that run a model, per minute. Counting tokens and listing models are free."),
  tokensPerMinute: amount("Tokens of input and output together, per minute."),
  tokensPerDay: amount(
    "Tokens of input and output together, per day. The day ends at midnight UTC. The count is kept in the " +
      "store.",
  ),
  concurrentRequests: amount("Requests that run at once."),
});

const keySchema = object("A key that clients authenticate with.", {
  name: z.string().min(1).meta({ description: "What the log calls this key. No two keys share a name." }),
  secret: secretSchema,
  lanes: z.array(z.string()).min(1).optional().meta({
    description: "The lanes that are open to it. Without it, every lane.",
  }),
  models: z.array(z.string().min(1)).min(1).optional().meta({
    description: "The models that may be asked for, by name or by a pattern with * in it. Without it, every model.",
  }),
  expires: z.iso.datetime({ offset: true }).optional().meta({
    description: "When the key expires.",
    examples: ["2027-01-31T00:00:00Z"],
  }),
  quota: quotaSchema.optional(),
  budget: budgetSchema.optional().meta({ description: "How much the key may spend." }),
  team: z.string().min(1).optional().meta({
    description: "The team that the key belongs to, whose budget it spends, too.",
  }),
  operator: z.boolean().optional().meta({
    description: "Whether what operators ask is open, too: metrics, for example.",
  }),
});

const { secret: _secret, ...facts } = keySchema.shape;
const { name: _name, expires: _expires, ...grants } = facts;

export const configSchema = object("Configuration of a Laneway gateway.", {
  $schema: z.string().optional().meta({ description: "Where the JSON schema of this file is, for editors." }),
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
  teams: z.record(
    z.string().min(1, "Expected the name of a team"),
    object("A group of keys.", {
      budget: budgetSchema.optional().meta({ description: "How much all its keys may spend together." }),
    }),
  ).optional().meta({ description: "Groups of keys, by name." }),
  budget: budgetSchema.optional().meta({ description: "How much all callers of the gateway may spend together." }),
  upstreams: z.record(z.string().min(1, "Expected the name of an upstream"), upstreamSchema).default({}).meta({
    description: "The services that run models, each under a name of your choice.",
  }),
  catalogs: z.record(z.string().min(1, "Expected the name of a catalog"), catalogSchema).default({}).meta({
    description: "The services that know which models there are, each under a name of your choice.",
  }),
  lanes: z.record(laneNameSchema, laneSchema).default({}).meta({
    description: "The lanes, by the name that begins their paths: oss serves /oss/v1.",
  }),
  hostedTools: hostedToolsSchema.prefault({}),
  storedKeys: z.boolean().default(false).meta({
    description: "Whether keys made with the command keys are admitted too. They can be revoked at any time.",
  }),
  oidc: oidcSchema(grants).optional(),
  transport: transportSchema.default("fetch").meta({
    description:
      "How upstreams and catalogs are called. fetch speaks HTTP/1.1 and HTTP/2 and uses proxies. node speaks HTTP/1.1 " +
      "alone, uses no proxy, and reads streams at half the cost.",
  }),
  retry: retrySchema.prefault({}),
  limits: limitsSchema.prefault({}),
  stop: stopSchema.prefault({}),
  store: storeSchema.prefault({}),
  usage: object("Keeps what each key used, for /usage and the command usage.", {
    retentionDays: z.int().min(1).max(3650).default(90).meta({
      description: "How long the sums of a day are kept, in days.",
    }),
  }).optional(),
  observe: object("What is shown of the gateway's work.", {
    metrics: z.union([
      z.boolean(),
      object("Serves /metrics at an address of its own too, without a key.", {
        listen: z.string().refine((listen) => metricsAddress({ listen }) !== undefined).meta({
          description: "An address of this machine, and a port; 0 lets the system choose a free one.",
          examples: ["127.0.0.1:9464"],
        }),
      }),
    ], { error: 'Expected true, false or { "listen": "127.0.0.1:9464" }' }).default(true).meta({
      description: "Whether what happens is counted, for /metrics. Only an operator's key opens that.",
    }),
    priceLibrary: z.boolean().default(true).meta({
      description:
        "Whether answers that have no other price are priced by the public list that comes with the gateway. It is " +
        "loaded when it is first needed, takes 20 MB of memory and no network, and knows only the public addresses of " +
        "providers.",
    }),
    audit: object("Keeps a log of keys and of changes of the configuration.", {
      file: z.string().min(1).meta({
        description: "The file that lines are appended to. It is created if there is none; its folder is not.",
        examples: ["/var/log/laneway/audit.jsonl"],
      }),
    }).optional(),
    telemetry: z.boolean().default(true).meta({
      description: "Whether traces and metrics are exported where the process was started with OpenTelemetry.",
    }),
    content: z.boolean().default(false).meta({
      description: "Whether traces hold what clients and models write.",
    }),
  }).prefault({}),
  console: z.union([
    z.literal(false),
    object("What the console may show beside what happens.", {
      record: object("Keeps what clients and upstreams send, for the console: in memory only.", {
        requests: z.int().min(1).max(10_000).default(200).meta({ description: "How many requests are kept." }),
        megabytes: z.int().min(1).max(4_096).default(64).meta({
          description: "How much memory they may take together. The oldest are forgotten first.",
        }),
        perMinute: z.int().min(1).max(1_000_000).default(600).meta({
          description: "How many are recorded in a minute. Of a gateway that is busier, the others are not.",
        }),
      }).optional(),
      edit: z.boolean().default(false).meta({
        description:
          "Whether operators may change this file at the console. The process is then allowed to write it, and a draft " +
          "and its former version beside it.",
      }),
    }),
  ], { error: 'Expected false or { "record": { "requests": 200, "megabytes": 64 }, "edit": true }' }).optional().meta({
    description: "With false, there is no console at /console. Only an operator's key opens what it shows.",
  }),
  replicas: z.int().min(1).max(10_000).default(1).meta({
    description:
      "How many gateways serve the same clients. With more than one, they need the same sealing key: a store of kind " +
      "redis, or sealing.key.",
  }),
  sealing: object("How reasoning is sealed that clients keep and send back.", {
    key: secretSchema.optional().meta({
      description:
        "The secret that it is sealed with: for several gateways that serve the same clients without a common " +
        "store. Without it, a key is made when it is first needed and kept in the store. With another key, what was " +
        "sealed before is left out of later turns.",
    }),
  }).prefault({}),
});

/** What a key is called and may do, wherever it is kept. */
export const keyFactsSchema = object("A key's name, and what it may do.", facts);

export type Config = z.output<typeof configSchema>;
export type KeyFacts = z.output<typeof keyFactsSchema>;
