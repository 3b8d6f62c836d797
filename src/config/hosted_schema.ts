/** The section of the configuration for tools that the gateway runs for models whose servers do not. */
import { z } from "zod";
import { baseUrlSchema, headerNameSchema, milliseconds, object, origins, secretSchema } from "./fields.ts";

const headersSchema = z.record(headerNameSchema, z.string()).default({}).meta({ description: "Further headers." });

const searchSchema = object("How the web is searched.", {
  backend: z.string().min(1).meta({
    description:
      "The service that searches, such as searxng, brave, tavily, exa or serper; or mcp for a tool of one of the " +
      "servers below.",
    examples: ["searxng"],
  }),
  baseUrl: baseUrlSchema.optional().meta({
    description: "Where the service is. Required but for mcp.",
    examples: ["http://127.0.0.1:8888"],
  }),
  secret: secretSchema.optional(),
  server: z.string().min(1).optional().meta({ description: "With mcp: the server, by its name below." }),
  tool: z.string().min(1).optional().meta({ description: "With mcp: the name of its tool that searches." }),
  timeoutMs: milliseconds(20_000, "How long a search may take, in milliseconds."),
});

const fetchSchema = object(
  "How pages are opened that the conversation has named. A process of its own does it, the fetcher.",
  {
    url: baseUrlSchema.optional().meta({
      description: "Where a fetcher runs that is a service of its own. Without it one is started beside the gateway.",
      examples: ["http://10.0.0.7:8100"],
    }),
    secret: secretSchema.optional().meta({
      description: "With url: the token that the fetcher wants to be shown, of at least 16 characters.",
    }),
    allow: origins("http://wiki.internal:8080").meta({
      description:
        "Origins inside your own network whose pages may be opened, too. Otherwise only public addresses are, on the " +
        "usual ports.",
    }),
    obeyRobots: z.boolean().default(true).meta({
      description: "Whether pages are left alone that their site's robots.txt asks programs to leave alone.",
    }),
    maxCharacters: z.int().min(1_000).max(1_000_000).default(100_000).meta({
      description: "The most text that a model is given of one page, in characters.",
    }),
    timeoutMs: milliseconds(30_000, "How long a page may take, in milliseconds."),
  },
);

const serverSchema = object("A server of the Model Context Protocol, over HTTP.", {
  url: z.url({ protocol: /^https?$/, error: "Expected an http or https URL" }).meta({
    description: "The server's address.",
    examples: ["https://docs.example.com/mcp"],
  }),
  secret: secretSchema.optional().meta({ description: "Sent to this server as a bearer token." }),
  headers: headersSchema,
});

const remoteSchema = object("Servers of the Model Context Protocol, whose tools models may call.", {
  servers: z.record(z.string().regex(/^[\w-]{1,64}$/, "Expected letters, digits, _ and -"), serverSchema).default({})
    .meta({
      description: "Servers that requests call by these names. Their secrets never leave the gateway but to them.",
    }),
  allow: origins("https://mcp.example.com").meta({
    description:
      "Origins of servers that requests may name by their addresses, with the caller's own credentials. None by default.",
  }),
  callMs: milliseconds(60_000, "How long one call may take, in milliseconds."),
});

export const hostedToolsSchema = object(
  "Tools that the gateway runs itself, where a request has them and its model's server does not run them.",
  {
    webSearch: searchSchema.optional(),
    webFetch: fetchSchema.optional(),
    mcp: remoteSchema.prefault({}),
    rounds: z.int().min(1).max(100).default(8).meta({
      description: "How often a model may go on with results before it has to answer without these tools.",
    }),
    calls: z.int().min(1).max(10_000).default(64).meta({
      description: "How many calls of these tools one answer may make. The model learns that there are no more.",
    }),
    deadlineMs: milliseconds(600_000, "After this time, in milliseconds, the model has to answer without these tools."),
  },
);
