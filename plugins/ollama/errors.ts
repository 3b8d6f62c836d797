import type { JsonObject } from "../../src/canonical/json.ts";
import type { GatewayError } from "../../src/errors.ts";
import { errorHeaders } from "../shared/errors.ts";

/** Clients of this wire read only the text of an error. */
export function serializeErrorBody({ message }: GatewayError): JsonObject {
  return { error: message };
}

export function serializeError(error: GatewayError, { requestId }: { requestId: string }): Response {
  const headers = errorHeaders(error);
  headers.set("x-request-id", requestId);
  return Response.json(serializeErrorBody(error), { status: error.status, headers });
}
