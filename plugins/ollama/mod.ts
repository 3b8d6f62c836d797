/** The wire of Ollama's own API, for its clients: conversations, and the lists by which they find models. */
import { PathPattern } from "../../src/contract/path_pattern.ts";
import type { AnyProtocol, Protocol } from "../../src/contract/protocol.ts";
import { validate } from "../../src/contract/validate.ts";
import { serializeError } from "./errors.ts";
import { serializeModel, serializeTags } from "./models.ts";
import { parseRequest } from "./parse_request.ts";
import { serializeResponse } from "./serialize_response.ts";
import { keepAlive, serializeStream } from "./serialize_stream.ts";
import { showSchema, WIRE } from "./wire.ts";

/** Clients compare it with the first version that has what they need; a word beside the numbers they refuse. */
const VERSION = "0.13.0";

const chat: Protocol<"generate"> = {
  name: "ollama",
  describe: async () => (await import("./description.ts")).chat,
  wire: WIRE,
  operation: "generate",
  method: "POST",
  pattern: new PathPattern("/:lane/api/chat"),
  body: "json",
  conversation: "messages",
  keepAlive,
  parse: parseRequest,
  serialize: (output, exchange) => Response.json(serializeResponse(output, exchange)),
  stream: { framing: "ndjson", writer: serializeStream },
  serializeError,
};

const tags: Protocol<"listModels"> = {
  name: "ollama-tags",
  describe: async () => (await import("./description.ts")).tags,
  wire: WIRE,
  operation: "listModels",
  method: "GET",
  pattern: new PathPattern("/:lane/api/tags"),
  body: "none",
  parse: () => ({ task: "chat" }),
  serialize: (output) => Response.json(serializeTags(output)),
  serializeError,
};

const show: Protocol<"getModel"> = {
  name: "ollama-show",
  describe: async () => (await import("./description.ts")).show,
  wire: WIRE,
  operation: "getModel",
  method: "POST",
  pattern: new PathPattern("/:lane/api/show"),
  body: "json",
  parse({ body }) {
    const asked = validate(showSchema, body);
    return { model: String(asked.model ?? asked.name) };
  },
  serialize: (output) => Response.json(serializeModel(output)),
  serializeError,
};

const version: Protocol<"ping"> = {
  name: "ollama-version",
  describe: async () => (await import("./description.ts")).version,
  wire: WIRE,
  operation: "ping",
  method: "GET",
  pattern: new PathPattern("/:lane/api/version"),
  body: "none",
  parse: () => ({}),
  serialize: () => Response.json({ version: VERSION }),
  serializeError,
};

/** The same without a lane: some clients take the address of a host and nothing else. */
function atRoot<P extends AnyProtocol>(protocol: P): P {
  const pattern = new PathPattern(protocol.pattern.pathname.replace("/:lane", ""));
  return { ...protocol, name: `${protocol.name}-root`, pattern };
}

export const ollamaProtocols: readonly AnyProtocol[] = [chat, tags, show, version].flatMap((protocol) => [
  protocol,
  atRoot(protocol),
]);
