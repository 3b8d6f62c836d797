/** The embeddings wire: spoken to clients as a protocol, and to OpenAI-compatible servers as a driver. */
import type { Driver } from "../../src/contract/driver.ts";
import { PathPattern } from "../../src/contract/path_pattern.ts";
import type { AnyProtocol, Protocol } from "../../src/contract/protocol.ts";
import { serializeAllowance, serializeError, upstreamError } from "../shared/errors.ts";
import { parseRequest } from "./parse_request.ts";
import { parseResponse } from "./parse_response.ts";
import { serializeRequest } from "./serialize_request.ts";
import { serializeResponse } from "./serialize_response.ts";
import { WIRE } from "./wire.ts";

const embeddings: Protocol<"embed"> = {
  name: WIRE,
  describe: async () => (await import("./description.ts")).embeddings,
  wire: WIRE,
  operation: "embed",
  method: "POST",
  pattern: new PathPattern("/:lane/v1/embeddings"),
  body: "json",
  parse: parseRequest,
  serialize: serializeResponse,
  serializeAllowance,
  serializeError,
};

export const embeddingsProtocols: readonly AnyProtocol[] = [embeddings];

/** Any server that has this wire's path: vLLM, llama.cpp, Ollama, LM Studio, together, deepinfra and the like. */
export const embeddingsDriver: Driver = {
  name: WIRE,
  wire: WIRE,
  operations: {
    embed: {
      request: (input, target, context) =>
        serializeRequest(input, target, context).map((body) => ({ path: "embeddings", body })),
      response: parseResponse,
    },
  },
  parseError: upstreamError,
};
