import type { JsonObject } from "../../src/canonical/json.ts";
import type { ErrorCode, GatewayError } from "../../src/errors.ts";
import { errorHeaders } from "../errors.ts";

/** How the wire names each error: its `type`, and a `code` where clients act on one. */
const WORDS_OF: Record<ErrorCode, { type: string; code: string | null }> = {
  invalid_request: { type: "invalid_request_error", code: null },
  context_length_exceeded: { type: "invalid_request_error", code: "context_length_exceeded" },
  authentication: { type: "authentication_error", code: "invalid_api_key" },
  billing: { type: "insufficient_quota", code: "insufficient_quota" },
  permission: { type: "permission_error", code: null },
  not_found: { type: "not_found_error", code: null },
  model_not_found: { type: "not_found_error", code: "model_not_found" },
  method_not_allowed: { type: "invalid_request_error", code: "method_not_allowed" },
  request_timeout: { type: "invalid_request_error", code: "request_timeout" },
  request_too_large: { type: "invalid_request_error", code: "request_too_large" },
  unsupported_media_type: { type: "invalid_request_error", code: "unsupported_media_type" },
  model_task_mismatch: { type: "invalid_request_error", code: "model_task_mismatch" },
  upgrade_required: { type: "invalid_request_error", code: "upgrade_required" },
  rate_limit: { type: "rate_limit_error", code: "rate_limit_exceeded" },
  headers_too_large: { type: "invalid_request_error", code: "headers_too_large" },
  client_closed: { type: "invalid_request_error", code: "client_closed" },
  internal: { type: "server_error", code: "internal_error" },
  unsupported: { type: "server_error", code: "unsupported" },
  upstream_error: { type: "server_error", code: "upstream_error" },
  unavailable: { type: "server_error", code: "unavailable" },
  upstream_timeout: { type: "server_error", code: "upstream_timeout" },
};

/** All four keys are there, as the published schema requires. */
export function serializeErrorBody({ code, message, details }: GatewayError): JsonObject {
  const words = WORDS_OF[code];
  return { error: { message, type: words.type, param: details.param ?? null, code: words.code } };
}

/** The SDKs read the id from `x-request-id`. */
export function serializeError(error: GatewayError, { requestId }: { requestId: string }): Response {
  const headers = errorHeaders(error);
  headers.set("x-request-id", requestId);
  return Response.json(serializeErrorBody(error), { status: error.status, headers });
}
