/** Every error code of the gateway, with its HTTP status. */
export const STATUS_OF = {
  invalid_request: 400,
  context_length_exceeded: 400,
  previous_response_not_found: 400,
  authentication: 401,
  billing: 402,
  budget_exceeded: 402,
  permission: 403,
  not_found: 404,
  model_not_found: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  request_too_large: 413,
  unsupported_media_type: 415,
  model_task_mismatch: 422,
  upgrade_required: 426,
  rate_limit: 429,
  headers_too_large: 431,
  client_closed: 499,
  internal: 500,
  unsupported: 501,
  upstream_error: 502,
  unavailable: 503,
  upstream_timeout: 504,
} as const;

export type ErrorCode = keyof typeof STATUS_OF;

/** How many tokens an upstream's answer may have, as stated in its refusal. */
export interface AnswerLimit {
  /** The limit on the answer, whatever the input. */
  most?: number;
  /** The limit on input and answer together, the size of the input, and the requested total of both. */
  window?: number;
  input?: number;
  total?: number;
}

export interface ErrorDetails {
  /** The path of the invalid field in the client's request: `messages[0].content`. */
  param?: string;
  /** The code by which a client of this wire knows what to do about it: `thread_unsupported_request`. */
  reason?: string;
  /** The value for `retry-after`, from the upstream or from one of our limits: seconds or an HTTP date. */
  retryAfter?: string;
  /** The methods that the path does serve, sent as `Allow`. */
  allow?: readonly string[];
  /** The status of the upstream's answer, for the log. */
  upstreamStatus?: number;
  /** Whether the same request can succeed if it is sent again. If `false`, SDKs are asked not to retry. */
  retryable?: boolean;
  /** Whether another target may accept the request. If `false`, none is tried. */
  tryNextTarget?: boolean;
  /** Whether the upstream had started the work, for which it may charge. Then no other target is tried. */
  workBegun?: boolean;
  /**
   * Whether the upstream has certainly not started the work: it was not reached, or it refused the request without
   * reading it.
   */
  notProcessed?: boolean;
  /** Whether the failure is the gateway's own, which says nothing about the target. */
  own?: boolean;
  /**
   * The fields of the call's body that the upstream does not support, including cache hints anywhere in it. Without
   * them it may answer. `response_format` stands for the output schema in whichever field it is sent, which can be put
   * into words instead. `null content` and `empty content` stand for the content of a turn that has calls and no text,
   * `native suffix` for the field of the text after a gap, which can be written into the prompt instead.
   */
  unsupported?: readonly string[];
  /**
   * The upstream refuses reasoning from earlier turns, and may answer without it: either any reasoning, or only this
   * request's.
   */
  reasoning?: "any" | "this";
  /** The upstream's limit, if a shorter answer may be accepted. */
  answerLimit?: AnswerLimit;
  cause?: unknown;
}

/**
 * A failure that a client receives in its own protocol's shape. The message is written for the client. It contains no
 * secrets, no stack traces and no HTML from upstreams.
 */
export class GatewayError extends Error {
  override readonly name = "GatewayError";
  readonly code: ErrorCode;
  readonly details: ErrorDetails;

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, { cause: details.cause });
    this.code = code;
    this.details = details;
  }

  get status(): number {
    return STATUS_OF[this.code];
  }
}

/**
 * Any thrown value as a `GatewayError`. The message of an unknown error is kept internal, because it may contain
 * anything.
 */
export function toGatewayError(thrown: unknown): GatewayError {
  return thrown instanceof GatewayError
    ? thrown
    : new GatewayError("internal", "The gateway failed while it handled the request", { cause: thrown });
}

/** Upstream failures that another upstream may not have. */
const FAILURES: ReadonlySet<ErrorCode> = new Set(["upstream_error", "upstream_timeout", "unavailable", "rate_limit"]);

/** Whether the target failed in a way from which it may recover. */
export function isFailure(thrown: unknown): boolean {
  return FAILURES.has(toGatewayError(thrown).code);
}
