import { isJsonObject, type JsonObject, toJsonText } from "../../src/canonical/json.ts";
import type { Allowance } from "../../src/contract/allowance.ts";
import type { ErrorCode, GatewayError } from "../../src/errors.ts";
import { errorHeaders, upstreamError, upstreamStreamError } from "../shared/errors.ts";
import { readOverflow } from "../shared/overflow.ts";

/** How the wire names each error. */
const TYPE_OF: Record<ErrorCode, string> = {
  invalid_request: "invalid_request_error",
  context_length_exceeded: "invalid_request_error",
  previous_response_not_found: "invalid_request_error",
  authentication: "authentication_error",
  billing: "billing_error",
  budget_exceeded: "billing_error",
  permission: "permission_error",
  not_found: "not_found_error",
  model_not_found: "not_found_error",
  method_not_allowed: "invalid_request_error",
  request_timeout: "invalid_request_error",
  request_too_large: "request_too_large",
  unsupported_media_type: "invalid_request_error",
  model_task_mismatch: "invalid_request_error",
  upgrade_required: "invalid_request_error",
  rate_limit: "rate_limit_error",
  headers_too_large: "request_too_large",
  client_closed: "invalid_request_error",
  internal: "api_error",
  unsupported: "not_supported",
  upstream_error: "api_error",
  unavailable: "overloaded_error",
  upstream_timeout: "timeout_error",
};

/** Statuses of this wire that others do not have: an overloaded server is 529 here. */
const STATUS_OF: Partial<Record<ErrorCode, number>> = { unavailable: 529 };

/** The status that goes with each type, for an error that comes without one. */
const STATUS_OF_TYPE: Readonly<Record<string, number>> = {
  invalid_request_error: 400,
  authentication_error: 401,
  billing_error: 402,
  permission_error: 403,
  not_found_error: 404,
  request_too_large: 413,
  rate_limit_error: 429,
  api_error: 500,
  timeout_error: 504,
  overloaded_error: 529,
};

/** An error that an upstream puts into a stream or an answer whose status was 200. */
export function parseError(body: unknown): GatewayError {
  const type = isJsonObject(body) && isJsonObject(body.error) ? toJsonText(body.error.type) : "";
  if (!Object.hasOwn(STATUS_OF_TYPE, type)) return upstreamStreamError(body);
  return upstreamError({ status: STATUS_OF_TYPE[type]!, headers: new Headers(), body });
}

/** Whether no waiting mends it. Then it is no overload: at one, agents tell their users to try again in a moment. */
function isLasting({ code, details }: GatewayError): boolean {
  return code === "unavailable" && details.retryable === false;
}

/** Codes that stand beside the type, which says less. */
const NAMED: ReadonlySet<ErrorCode> = new Set(["model_task_mismatch", "budget_exceeded"]);

export function serializeErrorBody(error: GatewayError, requestId?: string): JsonObject {
  const { code, details: { reason } } = error;
  const named = reason ?? (NAMED.has(code) ? code : undefined);
  return {
    type: "error",
    error: {
      type: isLasting(error) ? "api_error" : TYPE_OF[code],
      message: code === "context_length_exceeded" ? overflowMessage(error.message) : error.message,
      ...(named !== undefined && { details: { error_code: named } }),
    },
    ...(requestId !== undefined && { request_id: requestId }),
  };
}

/** The SDKs read the id from `request-id`. */
export function serializeError(error: GatewayError, { requestId }: { requestId: string }): Response {
  const headers = errorHeaders(error);
  headers.set("request-id", requestId);
  return Response.json(serializeErrorBody(error, requestId), {
    status: isLasting(error) ? error.status : STATUS_OF[error.code] ?? error.status,
    headers,
  });
}

/** As the vendor of this wire tells it: with the moment at which all is there again (RFC 3339). */
export function serializeAllowance(allowance: Allowance, now: number): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const kind of ["requests", "tokens", "dollars"] as const) {
    const gauge = allowance[kind];
    if (!gauge) continue;
    headers[`anthropic-ratelimit-${kind}-limit`] = String(gauge.limit);
    headers[`anthropic-ratelimit-${kind}-remaining`] = String(gauge.remaining);
    if (gauge.resetMs !== undefined) {
      headers[`anthropic-ratelimit-${kind}-reset`] = new Date(now + gauge.resetMs).toISOString();
    }
  }
  return headers;
}

/** The vendor's own words, with its numbers. */
const OWN_WORDS = /prompt is too long: \d+ tokens > \d+ maximum|exceed context limit: \d+ \+ \d+ > \d+/i;

/** Agents compact a conversation, or ask for a shorter answer, on these words, and act on the numbers in them. */
function overflowMessage(message: string): string {
  if (OWN_WORDS.test(message)) return message;
  const overflow = readOverflow(message);
  if (!overflow) return /prompt is too long/i.test(message) ? message : `prompt is too long: ${message}`;
  const { asked, maximum, apart } = overflow;
  // A shorter answer helps only where the input fits.
  return apart && apart.input < maximum
    ? `input length and \`max_tokens\` exceed context limit: ${apart.input} + ${apart.answer} > ${maximum}`
    : `prompt is too long: ${asked} tokens > ${maximum} maximum`;
}
