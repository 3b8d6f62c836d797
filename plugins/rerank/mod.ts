/** The rerank wire: spoken to clients as a protocol in both of its versions, and to upstreams as a driver. */
import type { Driver } from "../../src/contract/driver.ts";
import { PathPattern } from "../../src/contract/path_pattern.ts";
import type { AnyProtocol, Protocol } from "../../src/contract/protocol.ts";
import type { GatewayError } from "../../src/errors.ts";
import { errorHeaders, serializeAllowance, serializeErrorBody, upstreamError } from "../shared/errors.ts";
import { parseRequest } from "./parse_request.ts";
import { parseResponse } from "./parse_response.ts";
import { serializeRequest } from "./serialize_request.ts";
import { serializeResponse } from "./serialize_response.ts";
import { WIRE } from "./wire.ts";

function protocol(name: string, version: "1" | "2"): Protocol<"rerank"> {
  return {
    name,
    describe: async () => (await import("./description.ts")).rerank,
    wire: WIRE,
    operation: "rerank",
    method: "POST",
    pattern: new PathPattern(`/:lane/v${version}/rerank`),
    body: "json",
    idPrefix: "rerank-",
    parse: parseRequest,
    serialize: (output, exchange) => Response.json(serializeResponse(output, exchange, version)),
    serializeAllowance,
    serializeError,
  };
}

/** The chat wire's error shape plus a top-level `message`, which Cohere's client reads. */
function serializeError(error: GatewayError, { requestId }: { requestId: string }): Response {
  const headers = errorHeaders(error);
  headers.set("x-request-id", requestId);
  return Response.json({ message: error.message, ...serializeErrorBody(error) }, { status: error.status, headers });
}

export const rerankProtocols: readonly AnyProtocol[] = [protocol(WIRE, "1"), protocol("rerank-v2", "2")];

/** Any server that ranks in the manner of Cohere: vLLM, llama.cpp, Jina, Voyage and Cohere itself. */
export const rerankDriver: Driver = {
  name: WIRE,
  wire: WIRE,
  operations: {
    rerank: {
      request: (input, target, context) => ({ path: "rerank", body: serializeRequest(input, target, context) }),
      response: ([reply], input, target, context) => parseResponse(reply!.body, input, target, context),
    },
  },
  parseError: upstreamError,
};
