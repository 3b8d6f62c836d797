import type { JsonObject } from "../../src/canonical/json.ts";
import type { ErrorCode, GatewayError } from "../../src/errors.ts";
import { errorHeaders } from "../shared/errors.ts";

/** The names of `google.rpc.Code`, by which clients recognize errors. */
const STATUS_OF: Record<ErrorCode, string> = {
  invalid_request: "INVALID_ARGUMENT",
  context_length_exceeded: "INVALID_ARGUMENT",
  previous_response_not_found: "INVALID_ARGUMENT",
  authentication: "UNAUTHENTICATED",
  billing: "RESOURCE_EXHAUSTED",
  budget_exceeded: "RESOURCE_EXHAUSTED",
  permission: "PERMISSION_DENIED",
  not_found: "NOT_FOUND",
  model_not_found: "NOT_FOUND",
  method_not_allowed: "INVALID_ARGUMENT",
  request_timeout: "DEADLINE_EXCEEDED",
  request_too_large: "INVALID_ARGUMENT",
  unsupported_media_type: "INVALID_ARGUMENT",
  model_task_mismatch: "INVALID_ARGUMENT",
  upgrade_required: "FAILED_PRECONDITION",
  rate_limit: "RESOURCE_EXHAUSTED",
  headers_too_large: "INVALID_ARGUMENT",
  client_closed: "CANCELLED",
  internal: "INTERNAL",
  unsupported: "UNIMPLEMENTED",
  upstream_error: "UNAVAILABLE",
  unavailable: "UNAVAILABLE",
  upstream_timeout: "DEADLINE_EXCEEDED",
};

const TYPES = "type.googleapis.com/google.rpc.";

/** The gateway's own code is the reason. The seconds to wait are a detail, which clients read instead of the header. */
export function serializeErrorBody({ code, status, message, details }: GatewayError): JsonObject {
  const { param, retryAfter = "" } = details;
  const violation = { field: param, description: message };
  return {
    error: {
      code: status,
      message,
      status: STATUS_OF[code],
      details: [
        { "@type": `${TYPES}ErrorInfo`, reason: (details.reason ?? code).toUpperCase(), domain: "gateway" },
        ...(param === undefined ? [] : [{ "@type": `${TYPES}BadRequest`, fieldViolations: [violation] }]),
        ...(/^\d+(\.\d+)?$/.test(retryAfter) ? [{ "@type": `${TYPES}RetryInfo`, retryDelay: `${retryAfter}s` }] : []),
      ],
    },
  };
}

export function serializeError(error: GatewayError, { requestId }: { requestId: string }): Response {
  const headers = errorHeaders(error);
  headers.set("x-request-id", requestId);
  return Response.json(serializeErrorBody(error), { status: error.status, headers });
}
