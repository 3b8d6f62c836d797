/** The chat completions wire: spoken to clients as protocols, and to OpenAI-compatible servers as a driver. */
import { parseListQuery } from "../../src/canonical/models.ts";
import { PathPattern } from "../../src/contract/path_pattern.ts";
import { OWN_QUIRKS } from "../../src/contract/quirks.ts";
import type { Driver } from "../../src/contract/driver.ts";
import type { AnyProtocol, Protocol } from "../../src/contract/protocol.ts";
import { refusedContents } from "../shared/refusals.ts";
import { serializeAllowance, serializeError, upstreamRefusal } from "../shared/errors.ts";
import { FILE_PATHS, fileProtocols } from "../shared/file_protocols.ts";
import { CHAT_SAMPLING } from "../shared/sampling.ts";
import { counters, countOperation } from "./count_tokens.ts";
import { failTools, toolsBeside } from "./hosted.ts";
import { factsOf, markUnfinished, prefillOf, refusedThinkingFields, refusesReasoning } from "./families.ts";
import { serializeModel, serializeModelList } from "./models.ts";
import { parseRequest } from "./parse_request.ts";
import { parseLongResponse, parseResponse } from "./parse_response.ts";
import { parseStream } from "./parse_stream.ts";
import { promptOf } from "./prompt.ts";
import { relayOperation, serializeRelayed, serializeRelayedStream } from "./relay.ts";
import { serializeRequest } from "./serialize_request.ts";
import { serializeResponse } from "./serialize_response.ts";
import { serializeStream } from "./serialize_stream.ts";
import { WIRE } from "./wire.ts";

const completions: Protocol<"generate"> = {
  name: "chat",
  describe: async () => (await import("./description.ts")).completions,
  wire: WIRE,
  operation: "generate",
  method: "POST",
  pattern: new PathPattern("/:lane/v1/chat/completions"),
  body: "json",
  conversation: "messages",
  idPrefix: "chatcmpl-",
  sessionHeaders: ["x-session-id", "x-session-affinity"],
  // Most clients speak it, but none of them asks below such a path.
  speaksFor: (_, pathname) => !pathname?.includes("/api/"),
  parse: parseRequest,
  toolsBeside,
  failTools,
  serialize: (output, exchange) => Response.json(serializeResponse(output, exchange)),
  stream: { framing: "sse", writer: serializeStream },
  relay: { serialize: serializeRelayed, stream: { framing: "sse", writer: serializeRelayedStream } },
  serializeAllowance,
  serializeError,
};

const models: Protocol<"listModels"> = {
  name: "chat-models",
  describe: async () => (await import("./description.ts")).models,
  wire: WIRE,
  operation: "listModels",
  method: "GET",
  pattern: new PathPattern("/:lane/v1/models"),
  body: "none",
  parse: ({ query }) => parseListQuery(query),
  serialize: (output) => Response.json(serializeModelList(output)),
  serializeError,
};

const model: Protocol<"getModel"> = {
  name: "chat-model",
  describe: async () => (await import("./description.ts")).oneModel,
  wire: WIRE,
  operation: "getModel",
  method: "GET",
  pattern: new PathPattern("/:lane/v1/models/:id(.+)"),
  body: "none",
  parse: ({ params }) => ({ model: params.id ?? "" }),
  serialize: (output) => Response.json(serializeModel(output)),
  serializeError,
};

const files = fileProtocols({
  prefix: "files-",
  endpoints: {
    ...FILE_PATHS,
    begin: ["POST", "/v1/uploads", "json"],
    part: ["POST", "/v1/uploads/:id/parts", "form"],
    complete: ["POST", "/v1/uploads/:id/complete", "json"],
    cancel: ["POST", "/v1/uploads/:id/cancel"],
  },
  load: async () => ({ ...await import("./files.ts"), ...await import("./uploads.ts") }),
  describe: () => import("./description.ts"),
  wire: WIRE,
  serializeAllowance,
  serializeError,
});

export const chatProtocols: readonly AnyProtocol[] = [
  completions,
  models,
  model,
  ...files,
];

/** Any server that speaks this wire: the hub's router, vLLM, llama.cpp, Ollama, LM Studio and the like. */
export const chatDriver: Driver = {
  name: WIRE,
  wire: WIRE,
  counters,
  reads: OWN_QUIRKS,
  operations: {
    relay: relayOperation,
    countTokens: countOperation,
    generate: {
      request(input, target, context) {
        const body = serializeRequest(input, target, context);
        const last = input.messages[input.messages.length - 1];
        const isUnfinished = last?.role === "assistant" && last.isUnfinished;
        return { path: "chat/completions", body: isUnfinished ? markUnfinished(body, target) : body };
      },
      response: ([reply], input, target, context) => parseResponse(reply!.body, input, target, context),
      longResponse: ([reply], input, target, context) => parseLongResponse(reply!.body, input, target, context),
      stream: { framing: "sse", reader: parseStream },
    },
  },
  intake: ({ model, cacheControl }) => ({
    wire: WIRE,
    takesCacheHints: cacheControl === "pass",
    results: "after-calls",
    callIds: factsOf(model).callIds,
    namesAllowedTools: false,
    knowsDeferredTools: false,
    leastOutputTokens: 1,
    lacks: CHAT_SAMPLING.lacks,
  }),
  prompt: promptOf,
  prefill: prefillOf,
  synonyms: { max_tokens: "max_completion_tokens" },
  layout: async () => (await import("./layout.ts")).LAYOUT,
  parseError: (reply) =>
    upstreamRefusal(reply, ({ body }) => ({
      unsupported: [...refusedThinkingFields(body), ...refusedContents(body)],
      reasoning: refusesReasoning(body) ? "any" : undefined,
    })),
};
