/** The section of the configuration for tools that the gateway runs for models whose servers do not. */
import { z } from "zod";
import { baseUrlSchema, headerNameSchema, milliseconds, object, origins, secretSchema } from "./fields.ts";

const headersSchema = z.record(headerNameSchema, z.string()).default({}).meta({ description: "Further headers." });

const searchSchema = object("How the web is searched.", {
  backend: z.string().min(1).meta({
    description: "The search service, such as searxng, brave, tavily, exa or serper; or mcp for a tool of one of the " +
      "servers below.",
    examples: ["searxng"],
  }),
  baseUrl: baseUrlSchema.optional().meta({
    description: "The URL of the service. Required except for mcp.",
    examples: ["http://127.0.0.1:8888"],
  }),
  secret: secretSchema.optional(),
  server: z.string().min(1).optional().meta({ description: "With mcp: the name of the server below." }),
  tool: z.string().min(1).optional().meta({ description: "With mcp: the name of its search tool." }),
  timeoutMs: milliseconds(20_000, "How long a search may take, in milliseconds."),
});

const fetchSchema = object(
  "How pages are opened that the conversation has named. A separate process does this, the fetcher.",
  {
    url: baseUrlSchema.optional().meta({
      description: "The URL of a fetcher that runs as a service. Without it, one is started beside the gateway.",
      examples: ["http://10.0.0.7:8100"],
    }),
    secret: secretSchema.optional().meta({
      description: "With url: the token that the fetcher requires, of at least 16 characters.",
    }),
    allow: origins("http://wiki.internal:8080").meta({
      description:
        "Origins in your own network whose pages may also be opened. Otherwise only public addresses on the usual " +
        "ports.",
    }),
    obeyRobots: z.boolean().default(true).meta({
      description: "Whether to obey robots.txt.",
    }),
    maxCharacters: z.int().min(1_000).max(1_000_000).default(100_000).meta({
      description: "The most text that a model gets from one page, in characters.",
    }),
    timeoutMs: milliseconds(30_000, "How long a page may take, in milliseconds."),
  },
);

const ruleSchema = object("Who may call a tool, and how.", {
  keys: z.array(z.string().min(1)).min(1).optional().meta({
    description: "The keys that may call it, by name or pattern with *. By default all.",
  }),
  approval: z.boolean().default(false).meta({
    description: "Whether each call needs the client's approval, whatever the request says.",
  }),
});

const serverSchema = object("A server of the Model Context Protocol, over HTTP.", {
  url: z.url({ protocol: /^https?$/, error: "Expected an http or https URL" }).meta({
    description: "The server's address.",
    examples: ["https://docs.example.com/mcp"],
  }),
  secret: secretSchema.optional().meta({ description: "Sent to this server as a bearer token." }),
  headers: headersSchema,
  tools: z.record(z.string().min(1, "Expected the name of a tool"), ruleSchema).optional().meta({
    description:
      "The tools that models may call, by name or pattern with *; the exact name comes first, then the longest " +
      "pattern. By default all tools of the server, by all keys, without approval.",
    examples: [{ "get_*": {}, "delete_page": { keys: ["ops"], approval: true } }],
  }),
});

const remoteSchema = object("Servers of the Model Context Protocol, whose tools models may call.", {
  servers: z.record(z.string().regex(/^[\w-]{1,64}$/, "Expected letters, digits, _ and -"), serverSchema).default({})
    .meta({
      description: "Servers that requests call by these names. Their secrets are sent only to them.",
    }),
  allow: origins("https://mcp.example.com").meta({
    description:
      "Origins of servers that requests may name by URL, with the caller's own credentials. None by default.",
  }),
  callMs: milliseconds(60_000, "How long one call may take, in milliseconds."),
});

const codeSchema = object(
  "Python that models write runs in processes of its own, in WebAssembly: with the standard library, without a network and without " +
    "files of this machine.",
  {
    keys: z.array(z.string().min(1)).min(1).optional().meta({
      description: "The keys whose models may run code, by name or pattern with *. By default all.",
      examples: [["team", "ops-*"]],
    }),
    processes: z.int().min(1).max(256).default(4).meta({
      description: "How many containers there may be at once. Each is a process that holds 150 MB and more.",
    }),
    memoryMiB: z.int().min(64).max(4_000).default(512).meta({
      description: "The memory of Python in one container, in MiB.",
    }),
    timeoutMs: milliseconds(60_000, "How long one execution may take, in milliseconds."),
    idleMs: milliseconds(1_200_000, "How long a container is kept after its last use, in milliseconds."),
    outputCharacters: z.int().min(1_000).max(1_000_000).default(100_000).meta({
      description: "The most text that a model gets from each output stream of one execution, in characters.",
    }),
    fileBytes: z.int().min(0).max(64 * 2 ** 20).default(16 * 2 ** 20).meta({
      description: "The most bytes that the files of one execution may come to: those given, and those made.",
    }),
  },
);

const drawSchema = object("By which model pictures are drawn. The caller's key pays, and must be allowed to use it.", {
  model: z.string().min(1).meta({ description: "A model for images.", examples: ["sandbox-image"] }),
  lane: z.string().min(1).optional().meta({ description: "The lane of the model. By default that of the request." }),
});

export const hostedToolsSchema = object(
  "Tools that the gateway runs itself, if a request has them and the upstream does not run them.",
  {
    webSearch: searchSchema.optional(),
    webFetch: fetchSchema.optional(),
    codeExecution: codeSchema.optional(),
    mcp: remoteSchema.prefault({}),
    imageGeneration: drawSchema.optional(),
    rounds: z.int().min(1).max(100).default(8).meta({
      description: "How many rounds of results a model may get before it has to answer without these tools.",
    }),
    calls: z.int().min(1).max(10_000).default(64).meta({
      description: "How many calls of these tools an answer may make. The model is informed when none are left.",
    }),
    deadlineMs: milliseconds(600_000, "After this time, in milliseconds, the model has to answer without these tools."),
  },
);
