import type { JsonObject } from "../../src/canonical/json.ts";
import type { GatewayError } from "../../src/errors.ts";
import { errorHeaders } from "../shared/errors.ts";

/** The error as llama.cpp writes it: its code is the status. */
export function serializeInfillErrorBody({ status, code, message }: GatewayError): JsonObject {
  const type = status < 500 ? "invalid_request_error" : code === "unavailable" ? "unavailable_error" : "server_error";
  return { error: { code: status, message, type } };
}

export function serializeInfillError(error: GatewayError, { requestId }: { requestId: string }): Response {
  const headers = errorHeaders(error);
  headers.set("x-request-id", requestId);
  return Response.json(serializeInfillErrorBody(error), { status: error.status, headers });
}
