import type { JsonObject } from "../../src/canonical/json.ts";
import type { ErrorCode, GatewayError } from "../../src/errors.ts";

/**
 * How a failed answer names what went wrong. Agents stop at `context_length_exceeded` and `invalid_prompt`, wait at
 * `rate_limit_exceeded`, and try again at `server_error`.
 */
const CODE_OF: Partial<Record<ErrorCode, string>> = {
  invalid_request: "invalid_prompt",
  context_length_exceeded: "context_length_exceeded",
  billing: "insufficient_quota",
  budget_exceeded: "insufficient_quota",
  model_not_found: "invalid_prompt",
  model_task_mismatch: "invalid_prompt",
  previous_response_not_found: "invalid_prompt",
  rate_limit: "rate_limit_exceeded",
  request_too_large: "invalid_prompt",
};

/** The `error` of a response that failed while it was streamed. */
export function serializeFailure({ code, message }: Pick<GatewayError, "code" | "message">): JsonObject {
  return { code: CODE_OF[code] ?? "server_error", message };
}
