/** The section of the configuration for the store. */
import { z } from "zod";
import { milliseconds, object, secretSchema } from "./fields.ts";
import { SERVER_FORM } from "./redis_url.ts";
import { DEFAULT_STORE_KIND, STORE_KIND_NAMES, storeKind } from "./store_kinds.ts";

const serverSchema = z.string().regex(SERVER_FORM, "Expected a host or network with a port, such as 10.0.3.0/24:6379");

export const storeSchema = object("Where conversations that clients continue by id are kept.", {
  kind: z.enum(STORE_KIND_NAMES).default(DEFAULT_STORE_KIND).meta({
    description:
      "With kv they are kept in a file, and all gateways on the same file can continue them. With memory they " +
      "are lost when the gateway ends. With redis they are on a Redis or Valkey server, for gateways on any " +
      "number of machines.",
  }),
  path: z.string().min(1).optional().meta({
    description: "With kv: the file, which is created if missing. By default a file in the user's data folder.",
  }),
  url: secretSchema.optional().meta({
    description: "The variable that holds the server's URL, such as rediss://user:password@store.example.com:6379/0. " +
      "Required by redis.",
  }),
  ca: z.string().min(1).optional().meta({
    description:
      "A PEM file of certificates, for a redis server whose certificate is not signed by a public authority.",
  }),
  sentinel: object("The sentinels of a redis server. The URL names them.", {
    name: z.string().min(1).meta({ description: "The sentinels' name for the primary.", examples: ["mymaster"] }),
    password: secretSchema.optional().meta({
      description: "The sentinels' own password. The one in the URL is for the servers.",
    }),
  }).optional(),
  cluster: z.boolean().optional().meta({
    description: "Whether the redis server is a cluster. The URL names one or more nodes.",
  }),
  servers: z.array(serverSchema).optional().meta({
    description:
      "The other servers that the sentinels or the cluster may name: the gateway may connect only to these and " +
      "those in the URL.",
    examples: [["10.0.3.0/24:6379"]],
  }),
  bytesPerKey: z.int().min(1_048_576).optional().meta({
    description:
      "How many bytes of conversations each key may keep. Beyond that, those of its own that it used longest " +
      "ago are removed; if that is not enough, it gets 429. The default is 1 GiB with kv, 256 MiB with redis and " +
      "192 MiB with memory.",
  }),
  retentionDays: z.number().positive().max(3650).default(30).meta({
    description: "How long a conversation is kept after its last turn, in days.",
  }),
}).superRefine(({ kind, path, url, ca, sentinel, cluster, servers }, { addIssue }) => {
  const refuse = (field: string, message: string) => addIssue({ code: "custom", path: [field], message });
  const { hasFile, server } = storeKind(kind);
  if (!hasFile && path !== undefined) {
    refuse("path", `Expected none, because a store of kind "${kind}" has no file`);
  }
  if (server && url === undefined) refuse("url", `Missing: expected { "env": "${server.example.variable}" }`);
  for (const [field, value] of Object.entries({ url, ca, sentinel, cluster, servers })) {
    if (value !== undefined && !server) refuse(field, `Expected none, because a store of kind "${kind}" has no server`);
  }
  if (cluster && sentinel) refuse("cluster", "Expected none, because the sentinels say which server is used");
});

export const filesSchema = z.union([
  z.literal(false),
  object("Files that clients upload once and then name by their ids. With false there are none.", {
    folder: z.string().min(1).optional().meta({
      description:
        "The folder for their contents, which are sealed with the gateway's key. All gateways on the same store need " +
        "the same folder. It is created if missing. By default the contents are in the store.",
      examples: ["/var/lib/laneway/files"],
    }),
    bytesPerKey: z.int().min(1).optional().meta({
      description:
        "How many bytes of files each key may have. Further ones are refused. The default is 1 GiB with a folder or " +
        "kv, 64 MiB with redis and 32 MiB with memory.",
    }),
    totalBytes: z.int().min(1).optional().meta({
      description:
        "How many bytes of files all keys may have together. The default is 10 GiB with a folder or kv, 512 MiB with " +
        "redis and 64 MiB with memory.",
    }),
    filesPerKey: z.int().min(1).max(10_000).default(1_000).meta({ description: "How many files each key may have." }),
  }),
], { error: "Expected false or an object" }).prefault({}).meta({
  description: "Where files are kept that clients upload, and how many. With false there are none.",
});

export const documentsSchema = object(
  "Turns PDFs and office documents in conversations into text, and pages of PDFs into pictures for models that see. The " +
    "fetcher does this. Further packages (11 MB) are downloaded for it at the first start.",
  {
    pages: z.int().min(0).max(100).default(20).meta({
      description: "The most pages of one PDF of which pictures are made, for models that take pictures.",
    }),
    maxCharacters: z.int().min(1_000).max(1_000_000).default(200_000).meta({
      description: "The most text that a model gets from one document, in characters.",
    }),
    timeoutMs: milliseconds(30_000, "How long one document may take, in milliseconds."),
  },
);
