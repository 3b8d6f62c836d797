/** The messages wire: spoken to clients as protocols, and to servers that speak it as a driver. */
import { parseListQuery } from "../../src/canonical/models.ts";
import type { Driver } from "../../src/contract/driver.ts";
import { PathPattern } from "../../src/contract/path_pattern.ts";
import type { AnyProtocol, Protocol } from "../../src/contract/protocol.ts";
import { upstreamRefusal } from "../shared/errors.ts";
import { fileProtocols } from "../shared/file_protocols.ts";
import { countOperation } from "./count_tokens.ts";
import { serializeAllowance, serializeError } from "./errors.ts";
import { prefillOf, refusesThinking } from "./families.ts";
import { serializeModel, serializeModelList } from "./models.ts";
import { serializeOriginal, serializeSummary } from "./compaction.ts";
import { failTools } from "./failed_tools.ts";
import { intakeOf } from "./intake.ts";
import { hidesThinking, parseRequest } from "./parse_request.ts";
import { parseLongResponse, parseResponse } from "./parse_response.ts";
import { parseStream } from "./parse_stream.ts";
import { serializeHeaders, serializeRequest } from "./serialize_request.ts";
import { serializeResponse } from "./serialize_response.ts";
import { serializeStream } from "./serialize_stream.ts";
import { VERSION_HEADER, WIRE } from "./wire.ts";

/** Older clients of this wire also send their key in a header of its own. */
function speaksThisWire({ headers }: { headers: Headers }): boolean {
  return headers.has(VERSION_HEADER) || headers.has("x-api-key");
}

const messages: Protocol<"generate"> = {
  name: "messages",
  describe: async () => (await import("./description.ts")).messages,
  wire: WIRE,
  operation: "generate",
  method: "POST",
  pattern: new PathPattern("/:lane/v1/messages"),
  body: "json",
  conversation: "messages",
  idPrefix: "msg_",
  sessionHeaders: ["x-claude-code-session-id", "x-claude-code-agent-id"],
  speaksFor: (headers) => headers.has(VERSION_HEADER),
  keepAlive: () => ({ event: "ping", data: '{"type":"ping"}' }),
  parse: parseRequest,
  threads: async () => (await import("./threads.ts")).threads,
  // A signature may hold anything, and is worth the same at every place that serves its vendor's models.
  reasoning: ({ body }) => ({ hidden: hidesThinking(body), keepsOwn: true }),
  serialize: (output, exchange) => Response.json(serializeResponse(output, exchange)),
  stream: { framing: "sse", writer: serializeStream },
  failTools,
  canPause: true,
  edits: async () => (await import("./context_edits.ts")).edits,
  summary: serializeSummary,
  serializeAllowance,
  serializeError,
};

const countTokens: Protocol<"countTokens"> = {
  name: "messages-count-tokens",
  describe: async () => (await import("./description.ts")).countTokens,
  wire: WIRE,
  operation: "countTokens",
  method: "POST",
  pattern: new PathPattern("/:lane/v1/messages/count_tokens"),
  body: "json",
  parse: parseRequest,
  threads: async () => (await import("./threads.ts")).threads,
  edits: async () => (await import("./context_edits.ts")).edits,
  serialize: ({ inputTokens }, { edits }) =>
    Response.json({ input_tokens: inputTokens, ...(edits?.asked && serializeOriginal(inputTokens, edits.applied)) }),
  serializeError,
};

const models: Protocol<"listModels"> = {
  name: "messages-models",
  describe: async () => (await import("./description.ts")).models,
  wire: WIRE,
  operation: "listModels",
  method: "GET",
  pattern: new PathPattern("/:lane/v1/models"),
  body: "none",
  accepts: speaksThisWire,
  parse: ({ query }) => parseListQuery(query),
  serialize: (output, { wire }) => Response.json(serializeModelList(output, wire.query)),
  serializeError,
};

const model: Protocol<"getModel"> = {
  name: "messages-model",
  describe: async () => (await import("./description.ts")).oneModel,
  wire: WIRE,
  operation: "getModel",
  method: "GET",
  pattern: new PathPattern("/:lane/v1/models/:id(.+)"),
  body: "none",
  accepts: speaksThisWire,
  parse: ({ params }) => ({ model: params.id ?? "" }),
  serialize: (output) => Response.json(serializeModel(output)),
  serializeError,
};

const files = fileProtocols({
  prefix: "messages-files-",
  load: () => import("./files.ts"),
  describe: () => import("./description.ts"),
  wire: WIRE,
  accepts: speaksThisWire,
  serializeError,
});

export const messagesProtocols: readonly AnyProtocol[] = [
  messages,
  countTokens,
  models,
  model,
  ...files,
];

/** Any server that speaks this wire: vLLM, llama.cpp, Ollama, LM Studio, and the vendor's own. */
export const messagesDriver: Driver = {
  name: WIRE,
  wire: WIRE,
  secret: { header: "x-api-key" },
  counters: ["count_tokens"],
  operations: {
    countTokens: countOperation,
    generate: {
      request: (input, target, context) => ({
        path: "messages",
        headers: serializeHeaders(input),
        body: serializeRequest(input, target, context),
      }),
      // Any JSON object is nothing that this wire can ask for.
      hasForm: ({ schema }) => schema !== undefined,
      response: ([reply], input, _target, context) => parseResponse(reply!.body, input, context),
      longResponse: ([reply], input, _target, context) => parseLongResponse(reply!.body, input, context),
      stream: { framing: "sse", reader: parseStream },
    },
  },
  intake: intakeOf,
  reads: ["prefill"],
  prefill: prefillOf,
  prefills: true,
  layout: async () => (await import("./layout.ts")).LAYOUT,
  parseError: (reply) =>
    upstreamRefusal(reply, ({ message }) => ({ reasoning: refusesThinking(message) ? "this" : undefined })),
};
