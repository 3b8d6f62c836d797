/** The responses wire: spoken to clients as protocols, and to servers that speak it as a driver. */
import type { JsonObject } from "../../src/canonical/json.ts";
import type { StoredAnswer } from "../../src/canonical/stored.ts";
import type { Context, WireRequest } from "../../src/contract/context.ts";
import { parseListQuery } from "../../src/canonical/models.ts";
import type { Driver } from "../../src/contract/driver.ts";
import { PathPattern } from "../../src/contract/path_pattern.ts";
import type { AnyProtocol, Protocol } from "../../src/contract/protocol.ts";
import { GatewayError } from "../../src/errors.ts";
import { serializeAllowance, serializeError, upstreamRefusal } from "../shared/errors.ts";
import { asTriggered, serializeCompacted } from "./compact.ts";
import { serializeSummary } from "./compaction.ts";
import { conversationProtocols } from "./conversations.ts";
import { failTools } from "./failed_tools.ts";
import { countOperation } from "./count_tokens.ts";
import { refusesReasoning } from "./families.ts";
import { serializeInputItems } from "./input_items.ts";
import { serializeModels } from "./models.ts";
import { intakeOf } from "./intake.ts";
import { includesEncrypted, parseRequest } from "./parse_request.ts";
import { parseLongResponse, parseResponse } from "./parse_response.ts";
import { parseStream } from "./parse_stream.ts";
import { serializeRequest } from "./serialize_request.ts";
import { serializeAnswer, serializeResponse, serializeRun } from "./serialize_response.ts";
import { keepAlive, serializeStream } from "./serialize_stream.ts";
import { socketOf } from "./socket.ts";
import { WIRE } from "./wire.ts";

const responses: Protocol<"generate"> = {
  name: "responses",
  describe: async () => (await import("./description.ts")).responses,
  wire: WIRE,
  operation: "generate",
  method: "POST",
  pattern: new PathPattern("/:lane/v1/responses"),
  body: "json",
  conversation: "input",
  idPrefix: "resp_",
  sessionHeaders: ["session-id", "thread-id"],
  keepAlive,
  parse: parseRequest,
  failTools,
  summary: serializeSummary,
  // Only the place that encrypted something can read it, so the gateway must know which one that was.
  reasoning: ({ body }) => includesEncrypted(body) ? { hidden: false, keepsOwn: false, keepsSteps: true } : undefined,
  serializeQueued: (answer, exchange) => Response.json(serializeStored(answer, exchange)),
  serialize: (output, exchange) => Response.json(serializeResponse(output, exchange)),
  stream: { framing: "sse", writer: serializeStream },
  serializeAllowance,
  serializeError,
};

/** The endpoint of responses in a connection that stays. */
const socket: Protocol<"connect"> = {
  name: "responses-socket",
  describe: async () => (await import("./description.ts")).socket,
  wire: WIRE,
  operation: "connect",
  method: "GET",
  pattern: new PathPattern("/:lane/v1/responses"),
  body: "none",
  accepts: ({ headers }) => headers.get("upgrade")?.toLowerCase() === "websocket",
  parse: () => ({}),
  serialize: (output) => output,
  socket: socketOf(responses),
  serializeError,
};

const inputTokens: Protocol<"countTokens"> = {
  name: "responses-input-tokens",
  describe: async () => (await import("./description.ts")).inputTokens,
  wire: WIRE,
  operation: "countTokens",
  method: "POST",
  pattern: new PathPattern("/:lane/v1/responses/input_tokens"),
  body: "json",
  parse: parseRequest,
  serialize: ({ inputTokens }) => Response.json({ object: "response.input_tokens", input_tokens: inputTokens }),
  serializeError,
};

const parseId = ({ params }: WireRequest) => ({ id: params.id ?? "" });

/** The events of the response that the client wants, if it wants events. They are numbered from 0. */
function parseEvents(query: URLSearchParams): { events?: { from: number } } {
  if (query.get("stream") !== "true") return {};
  const after = Number(query.get("starting_after") ?? -1);
  if (Number.isInteger(after) && after >= -1) return { events: { from: after + 1 } };
  throw new GatewayError("invalid_request", "Expected the number of an event", { param: "starting_after" });
}

const getResponse: Protocol<"getResponse"> = {
  name: "responses-get",
  describe: async () => (await import("./description.ts")).get,
  wire: WIRE,
  operation: "getResponse",
  method: "GET",
  pattern: new PathPattern("/:lane/v1/responses/:id"),
  body: "none",
  parse: (wire) => ({ ...parseId(wire), ...parseEvents(wire.query) }),
  serialize: (stored, context) => Response.json(serializeStored(stored, context)),
  serializeError,
};

const deleteResponse: Protocol<"deleteResponse"> = {
  name: "responses-delete",
  describe: async () => (await import("./description.ts")).remove,
  wire: WIRE,
  operation: "deleteResponse",
  method: "DELETE",
  pattern: new PathPattern("/:lane/v1/responses/:id"),
  body: "none",
  parse: parseId,
  serialize: ({ id }) => Response.json({ id, object: "response", deleted: true }),
  serializeError,
};

const inputItems: Protocol<"getResponse"> = {
  name: "responses-input-items",
  describe: async () => (await import("./description.ts")).listInput,
  wire: WIRE,
  operation: "getResponse",
  method: "GET",
  pattern: new PathPattern("/:lane/v1/responses/:id/input_items"),
  body: "none",
  parse: parseId,
  serialize: (stored, { wire, note }) =>
    Response.json(serializeInputItems(stored, wire.query, { clientWire: WIRE, note })),
  serializeError,
};

const cancelResponse: Protocol<"cancelResponse"> = {
  name: "responses-cancel",
  describe: async () => (await import("./description.ts")).cancel,
  wire: WIRE,
  operation: "cancelResponse",
  method: "POST",
  pattern: new PathPattern("/:lane/v1/responses/:id/cancel"),
  body: "none",
  parse: parseId,
  serialize: (stored, context) => Response.json(serializeStored(stored, context)),
  serializeError,
};

/** The summary alone, with what the client's next input is. */
const compact: Protocol<"generate"> = {
  name: "responses-compact",
  describe: async () => (await import("./description.ts")).compact,
  wire: WIRE,
  operation: "generate",
  method: "POST",
  pattern: new PathPattern("/:lane/v1/responses/compact"),
  body: "json",
  idPrefix: "resp_",
  sessionHeaders: responses.sessionHeaders,
  parse: (wire, context) => parseRequest(asTriggered(wire), context),
  summary: serializeSummary,
  serialize: (output, exchange) => Response.json(serializeCompacted(exchange, output)),
  serializeAllowance,
  serializeError,
};

/** The list for agents that ask with their version, and then want to know of each model how to work with it. */
const models: Protocol<"listModels"> = {
  name: "responses-models",
  describe: async () => (await import("./description.ts")).models,
  wire: WIRE,
  operation: "listModels",
  method: "GET",
  pattern: new PathPattern("/:lane/v1/models"),
  body: "none",
  accepts: ({ query }) => query.has("client_version"),
  parse: ({ query }) => parseListQuery(query),
  serialize: (output) => Response.json(serializeModels(output)),
  serializeError,
};

export const responsesProtocols: readonly AnyProtocol[] = [
  responses,
  socket,
  inputTokens,
  getResponse,
  deleteResponse,
  inputItems,
  cancelResponse,
  compact,
  ...conversationProtocols,
  models,
];

function serializeStored(stored: StoredAnswer, context: Context): JsonObject {
  const { response, keep: body, completed, run, ...facts } = stored;
  if (run) return serializeRun(run, { ...facts, body, stored: true });
  return serializeAnswer(response, { ...facts, body, stored: true }, completed, context);
}

/** Any server that speaks this wire: the vendor's own, vLLM, llama.cpp, Ollama, LM Studio. */
export const responsesDriver: Driver = {
  name: WIRE,
  wire: WIRE,
  counters: ["input_tokens"],
  reads: ["textForms"],
  operations: {
    countTokens: countOperation,
    generate: {
      request: (input, target, context) => ({ path: "responses", body: serializeRequest(input, target, context) }),
      response: ([reply], input, target, context) => parseResponse(reply!.body, input, target, context),
      longResponse: ([reply], input, target, context) => parseLongResponse(reply!.body, input, target, context),
      stream: { framing: "sse", reader: parseStream },
    },
  },
  intake: intakeOf,
  layout: async () => (await import("./layout.ts")).LAYOUT,
  parseError: (reply) =>
    upstreamRefusal(reply, ({ message }) => ({ reasoning: refusesReasoning(message) ? "this" : undefined })),
};
