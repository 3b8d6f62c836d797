/** The section of the configuration for the store. */
import { z } from "zod";
import { object, secretSchema } from "./fields.ts";
import { SERVER_FORM } from "./redis_url.ts";

const serverSchema = z.string().regex(SERVER_FORM, "Expected a host or network with a port, such as 10.0.3.0/24:6379");

export const storeSchema = object("Where conversations are kept that clients continue by an id.", {
  kind: z.enum(["kv", "memory", "redis"]).default("kv").meta({
    description:
      "With kv they outlive the gateway, and all gateways that use the same file can continue them. With memory they " +
      "end with the gateway. With redis they are on a Redis or Valkey server, for gateways on any number of machines.",
  }),
  path: z.string().min(1).optional().meta({
    description: "The file of kv; it is created if there is none. Without it, a file in the user's data folder.",
  }),
  url: secretSchema.optional().meta({
    description:
      "Where the variable is that holds the server's URL, such as rediss://user:password@store.example.com:6379/0. " +
      "Required by redis.",
  }),
  ca: z.string().min(1).optional().meta({
    description: "A file of certificates in PEM, for a redis server whose certificate no public authority has signed.",
  }),
  sentinel: object("The sentinels that watch a redis server. The URL names them.", {
    name: z.string().min(1).meta({ description: "What they call the primary.", examples: ["mymaster"] }),
    password: secretSchema.optional().meta({ description: "The sentinels' own password. The URL's is the servers'." }),
  }).optional(),
  cluster: z.boolean().optional().meta({
    description: "Whether the redis server is a cluster. The URL names one or more of its nodes.",
  }),
  servers: z.array(serverSchema).optional().meta({
    description:
      "Where the servers may be that the sentinels or the cluster name, and the URL does not: the gateway may connect " +
      "to no others.",
    examples: [["10.0.3.0/24:6379"]],
  }),
  retentionDays: z.number().positive().max(3650).default(30).meta({
    description: "How long a turn of a conversation is kept, in days.",
  }),
}).superRefine(({ kind, path, url, ca, sentinel, cluster, servers }, { addIssue }) => {
  const refuse = (field: string, message: string) => addIssue({ code: "custom", path: [field], message });
  if (kind !== "kv" && path !== undefined) {
    refuse("path", `Expected none, because a store of kind "${kind}" has no file`);
  }
  if (kind === "redis" && url === undefined) refuse("url", 'Missing: expected { "env": "REDIS_URL" }');
  if (kind !== "redis") {
    for (const [field, value] of Object.entries({ url, ca, sentinel, cluster, servers })) {
      if (value !== undefined) refuse(field, `Expected none, because a store of kind "${kind}" has no server`);
    }
  }
  if (cluster && sentinel) refuse("cluster", "Expected none, because the sentinels say which server is used");
});
