/** The protocols of Ollama's own API: conversations, and the lists by which clients find models. */
import { PathPattern } from "../../src/contract/path_pattern.ts";
import type { AnyProtocol, Protocol } from "../../src/contract/protocol.ts";
import { serializeError } from "./errors.ts";
import type * as Verbs from "./verbs.ts";

/** Few clients use this wire, so its code is loaded on the first request. */
let verbs: typeof Verbs;

function load(): Promise<void> | undefined {
  return verbs ? undefined : import("./verbs.ts").then((loaded) => void (verbs = loaded));
}

/** Clients compare it with the first version that has the features they need. They refuse a version with words in it. */
const VERSION = "0.13.0";

const chat: Protocol<"generate"> = {
  name: "ollama",
  describe: async () => (await import("./description.ts")).chat,
  wire: "ollama",
  load,
  operation: "generate",
  method: "POST",
  pattern: new PathPattern("/:lane/api/chat"),
  body: "json",
  conversation: "messages",
  keepAlive: (exchange) => verbs.keepAlive(exchange),
  parse: (wire) => verbs.parseRequest(wire),
  serialize: (output, exchange) => Response.json(verbs.serializeResponse(output, exchange)),
  stream: { framing: "ndjson", writer: (exchange) => verbs.serializeStream(exchange) },
  client: async () => (await import("./client.ts")).client,
  speaksFor: (_, pathname = "") => /^(?:\/[^/]+)?\/api\//.test(pathname),
  serializeError,
};

/** The endpoint for prompts, where they are raw or have a suffix. */
const fill: Protocol<"complete"> = {
  name: "ollama-fill",
  describe: async () => (await import("./description.ts")).fill,
  wire: "ollama",
  load,
  operation: "complete",
  method: "POST",
  pattern: new PathPattern("/:lane/api/generate"),
  // Only the body shows which requests these are.
  accepts: () => false,
  body: "json",
  conversation: "prompt",
  keepAlive: (exchange) => verbs.keepAliveGenerated(exchange),
  parse: (wire) => verbs.parseCompletion(wire),
  serialize: (output, exchange) => Response.json(verbs.serializeCompletion(output, exchange)),
  stream: { framing: "ndjson", writer: (exchange) => verbs.serializeCompletionStream(exchange) },
  serializeError,
};

const generate: Protocol<"generate"> = {
  ...chat,
  name: "ollama-generate",
  describe: async () => (await import("./description.ts")).generate,
  pattern: new PathPattern("/:lane/api/generate"),
  conversation: "prompt",
  variant: (wire) => verbs.isCompletion(wire) ? fill : undefined,
  keepAlive: (exchange) => verbs.keepAliveGenerated(exchange),
  parse: (wire) => verbs.parseGenerate(wire),
  serialize: (output, exchange) => Response.json(verbs.serializeGenerated(output, exchange)),
  stream: { framing: "ndjson", writer: (exchange) => verbs.serializeGeneratedStream(exchange) },
  client: undefined,
  speaksFor: undefined,
};

const embed: Protocol<"embed"> = {
  name: "ollama-embed",
  describe: async () => (await import("./description.ts")).embed,
  wire: "ollama",
  load,
  operation: "embed",
  method: "POST",
  pattern: new PathPattern("/:lane/api/embed"),
  body: "json",
  parse: (wire) => verbs.parseEmbed(wire),
  serialize: (output, exchange) => verbs.serializeEmbed(output, exchange),
  serializeError,
};

/** The older endpoint, for one text. */
const embeddings: Protocol<"embed"> = {
  ...embed,
  name: "ollama-embeddings",
  describe: async () => (await import("./description.ts")).embeddings,
  pattern: new PathPattern("/:lane/api/embeddings"),
  parse: (wire) => verbs.parsePrompt(wire),
  serialize: (output) => verbs.serializeEmbedding(output),
};

const tags: Protocol<"listModels"> = {
  name: "ollama-tags",
  describe: async () => (await import("./description.ts")).tags,
  wire: "ollama",
  load,
  operation: "listModels",
  method: "GET",
  pattern: new PathPattern("/:lane/api/tags"),
  body: "none",
  parse: () => ({ task: "chat" }),
  serialize: (output) => Response.json(verbs.serializeTags(output)),
  serializeError,
};

/** Behind a gateway, every model answers at once. */
const running: Protocol<"listModels"> = {
  ...tags,
  name: "ollama-ps",
  describe: async () => (await import("./description.ts")).running,
  pattern: new PathPattern("/:lane/api/ps"),
  serialize: (output) => Response.json(verbs.serializeRunning(output)),
};

const show: Protocol<"getModel"> = {
  name: "ollama-show",
  describe: async () => (await import("./description.ts")).show,
  wire: "ollama",
  load,
  operation: "getModel",
  method: "POST",
  pattern: new PathPattern("/:lane/api/show"),
  body: "json",
  parse: (wire) => verbs.parseShow(wire),
  serialize: (output) => Response.json(verbs.serializeModel(output)),
  serializeError,
};

const version: Protocol<"ping"> = {
  name: "ollama-version",
  describe: async () => (await import("./description.ts")).version,
  wire: "ollama",
  load,
  operation: "ping",
  method: "GET",
  pattern: new PathPattern("/:lane/api/version"),
  body: "none",
  parse: () => ({}),
  serialize: () => Response.json({ version: VERSION }),
  serializeError,
};

/** A protocol without the lane in its path, because some clients accept only the address of a host. */
function atRoot<P extends AnyProtocol>(protocol: P): P {
  const pattern = new PathPattern(protocol.pattern.pathname.replace("/:lane", ""));
  return { ...protocol, name: `${protocol.name}-root`, pattern };
}

export const ollamaProtocols: readonly AnyProtocol[] = [
  chat,
  fill,
  generate,
  embed,
  embeddings,
  tags,
  running,
  show,
  version,
].flatMap((
  protocol,
) => [protocol, atRoot(protocol)]);
