/** The configuration: its types, its checks and its JSON schema all come from here. */
import { z } from "zod";
import { object, secretSchema } from "./fields.ts";
import { hostedToolsSchema } from "./hosted_schema.ts";
import { continuationFields, laneNameSchema, laneSchema } from "./lane_schema.ts";
import { budgetSchema, limitsSchema, retrySchema, stopSchema } from "./limits_schema.ts";
import { metricsAddress } from "./permissions.ts";
import { oidcSchema } from "./oidc_schema.ts";
import { documentsSchema, filesSchema, storeSchema } from "./store_schema.ts";
import { catalogSchema, transportSchema, upstreamSchema } from "./upstream_schema.ts";

const amount = (description: string) => z.int().min(1).optional().meta({ description });

const quotaSchema = object("The key's limits. What is absent is unlimited.", {
  requestsPerMinute: amount("Requests that run a model, per minute. Counting tokens and listing models are free."),
  tokensPerMinute: amount("Input and output tokens together, per minute."),
  tokensPerDay: amount(
    "Input and output tokens together, per day. The day ends at midnight UTC. The count is kept in the store.",
  ),
  concurrentRequests: amount("Concurrent requests."),
});

const keySchema = object("A key that clients authenticate with.", {
  name: z.string().min(1).meta({ description: "The key's name in the log. It must be unique." }),
  secret: secretSchema,
  lanes: z.array(z.string()).min(1).optional().meta({
    description: "The lanes that it may use. By default all.",
  }),
  models: z.array(z.string().min(1)).min(1).optional().meta({
    description: "The models that it may use, by name or pattern with *. By default all.",
  }),
  expires: z.iso.datetime({ offset: true }).optional().meta({
    description: "When the key expires.",
    examples: ["2027-01-31T00:00:00Z"],
  }),
  quota: quotaSchema.optional(),
  budget: budgetSchema.optional().meta({ description: "How much the key may spend." }),
  team: z.string().min(1).optional().meta({
    description: "The key's team, whose budget it also spends.",
  }),
  continuation: continuationFields.continuation.meta({
    description:
      "Where its answers that break off may go on, whatever their lane or model says: nowhere (off), at the same model " +
      "(same), or also at the next targets (any).",
  }),
  files: z.boolean().optional().meta({
    description: "Whether the key may upload and use files. By default it may.",
  }),
  operator: z.boolean().optional().meta({
    description: "Whether the key is an operator's, which may also read metrics, for example.",
  }),
});

const { secret: _secret, ...facts } = keySchema.shape;
const { name: _name, expires: _expires, ...grants } = facts;

export const configSchema = object("Configuration of a Laneway gateway.", {
  $schema: z.string().optional().meta({ description: "Where the JSON schema of this file is, for editors." }),
  extends: z.literal("default").optional().meta({
    description:
      "Starts from the built-in configuration, which the rest of this file overrides key by key. Arrays are " +
      "replaced as a whole; null removes a key.",
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
    description: "The keys of clients. Without any, only this machine is served.",
  }),
  teams: z.record(
    z.string().min(1, "Expected the name of a team"),
    object("A group of keys.", {
      budget: budgetSchema.optional().meta({ description: "How much all keys of the team may spend together." }),
    }),
  ).optional().meta({ description: "Groups of keys, by name." }),
  budget: budgetSchema.optional().meta({ description: "How much all callers of the gateway may spend together." }),
  upstreams: z.record(z.string().min(1, "Expected the name of an upstream"), upstreamSchema).default({}).meta({
    description: "The services that run models, each under a name of your choice.",
  }),
  catalogs: z.record(z.string().min(1, "Expected the name of a catalog"), catalogSchema).default({}).meta({
    description: "The services that list models, each under a name of your choice.",
  }),
  lanes: z.record(laneNameSchema, laneSchema).default({}).meta({
    description: "The lanes, by the name that begins their paths: oss serves /oss/v1.",
  }),
  hostedTools: hostedToolsSchema.prefault({}),
  storedKeys: z.boolean().default(false).meta({
    description: "Whether keys created with the command keys are valid too. They can be revoked at any time.",
  }),
  oidc: oidcSchema(grants).optional(),
  transport: transportSchema.default("fetch").meta({
    description:
      "How upstreams and catalogs are called. fetch speaks HTTP/1.1 and HTTP/2 and uses proxies. node speaks " +
      "only HTTP/1.1, uses no proxy, and reads streams at half the cost.",
  }),
  retry: retrySchema.prefault({}),
  limits: limitsSchema.prefault({}),
  stop: stopSchema.prefault({}),
  store: storeSchema.prefault({}),
  files: filesSchema,
  documents: documentsSchema.optional(),
  usage: object("Keeps what each key used, for /usage and the command usage.", {
    retentionDays: z.int().min(1).max(3650).default(90).meta({
      description: "How long daily sums are kept, in days.",
    }),
  }).optional(),
  observe: object("Metrics, traces, prices and the audit log.", {
    metrics: z.union([
      z.boolean(),
      object("Also serves /metrics at a separate address, without a key.", {
        listen: z.string().refine((listen) => metricsAddress({ listen }) !== undefined).meta({
          description: "An address of this machine, and a port; 0 lets the system choose a free one.",
          examples: ["127.0.0.1:9464"],
        }),
      }),
    ], { error: 'Expected true, false or { "listen": "127.0.0.1:9464" }' }).default(true).meta({
      description: "Whether metrics are collected for /metrics, which needs an operator's key.",
    }),
    priceLibrary: z.boolean().default(true).meta({
      description:
        "Whether answers without another price are priced by the public list that comes with the gateway. It is " +
        "loaded when first needed, takes 20 MB of memory and no network, and knows only providers' public " +
        "addresses.",
    }),
    audit: object("Logs events of keys and changes to the configuration.", {
      file: z.string().min(1).meta({
        description: "The file to which lines are appended. It is created if missing; its folder is not.",
        examples: ["/var/log/laneway/audit.jsonl"],
      }),
    }).optional(),
    telemetry: z.boolean().default(true).meta({
      description: "Whether traces and metrics are exported if the process was started with OpenTelemetry.",
    }),
    content: z.boolean().default(false).meta({
      description: "Whether traces contain what clients and models write.",
    }),
  }).prefault({}),
  console: z.union([
    z.literal(false),
    object("What the console may show and do.", {
      record: object("Records what clients and upstreams send, for the console, in memory only.", {
        requests: z.int().min(1).max(10_000).default(200).meta({ description: "How many requests are kept." }),
        megabytes: z.int().min(1).max(4_096).default(64).meta({
          description: "How much memory they may take together. The oldest are dropped first.",
        }),
        perMinute: z.int().min(1).max(1_000_000).default(600).meta({
          description: "How many are recorded per minute. Further ones are not.",
        }),
      }).optional(),
      edit: z.boolean().default(false).meta({
        description:
          "Whether operators may change this file at the console. The process may then write it, and a draft and " +
          "the previous version beside it.",
      }),
    }),
  ], { error: 'Expected false or { "record": { "requests": 200, "megabytes": 64 }, "edit": true }' }).optional().meta({
    description: "The console at /console, which needs an operator's key. false turns it off.",
  }),
  replicas: z.int().min(1).max(10_000).default(1).meta({
    description:
      "How many gateways serve the same clients. With more than one, they need the same sealing key: a store of kind " +
      "redis, or sealing.key.",
  }),
  sealing: object("How the reasoning that clients keep and send back is sealed.", {
    key: secretSchema.optional().meta({
      description:
        "The secret for sealing, for several gateways that serve the same clients without a common store. Without " +
        "it, a key is created when first needed and kept in the store. After a change of the key, what was " +
        "sealed before is left out of later turns.",
    }),
  }).prefault({}),
});

/** The name and the permissions of a key, wherever it is kept. */
export const keyFactsSchema = object("A key's name, and what it may do.", facts);

export type Config = z.output<typeof configSchema>;
export type KeyFacts = z.output<typeof keyFactsSchema>;
