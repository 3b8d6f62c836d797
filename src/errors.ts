/** Every code that the gateway answers with, and the HTTP status that goes with it. */
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

/** How long an answer an upstream can give, in tokens, as its refusal states it. */
export interface AnswerLimit {
  /** The field of the call's body that asked for more. */
  field: string;
  /** The most, whatever the input. */
  most?: number;
  /** The most of input and answer together; the input; and what was asked for together. */
  window?: number;
  input?: number;
  total?: number;
}

export interface ErrorDetails {
  /** The field of the client's request that is at fault, as a path: `messages[0].content`. */
  param?: string;
  /** What the upstream (or a limit of ours) says in `retry-after`: seconds or an HTTP date. */
  retryAfter?: string;
  /** The methods that the path does serve; goes out as `Allow`. */
  allow?: readonly string[];
  /** The status that the upstream answered with, for the log. */
  upstreamStatus?: number;
  /** Whether the same request can succeed if it is sent again; SDKs are asked not to retry where it is `false`. */
  retryable?: boolean;
  /** Whether another target may take what this one refuses; where it is `false`, none is asked. */
  tryNextTarget?: boolean;
  /** Whether the upstream had begun the work, which it may charge for: then no other one is asked. */
  workBegun?: boolean;
  /** Whether the upstream has certainly not begun the work: it was not reached, or refused the request unread or at its door. */
  notProcessed?: boolean;
  /** Whether it is the gateway's own failure, and says nothing of the target that was to be asked. */
  own?: boolean;
  /**
   * The fields of the call's body that the upstream does not take, cache hints wherever they stand: it may answer without
   * them. `response_format` among them is the form of the answer, in whichever field it stands: it can be asked for in words.
   * `null content` and `empty content` are what a turn with calls and no text has for its content.
   */
  unsupported?: readonly string[];
  /** The upstream refuses reasoning of earlier turns, which it may answer without: any of it, or what this request brings. */
  reasoning?: "any" | "this";
  /** The upstream's limit, where a shorter answer may do. */
  answerLimit?: AnswerLimit;
  cause?: unknown;
}

/**
 * A failure that a client gets, in its own protocol's shape. The message is written for the client: it holds no
 * secret, no stack trace and no upstream's HTML.
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

/** Any thrown value as a `GatewayError`; a stranger's message stays inside, because it may hold anything. */
export function toGatewayError(thrown: unknown): GatewayError {
  return thrown instanceof GatewayError
    ? thrown
    : new GatewayError("internal", "The gateway failed while it handled the request", { cause: thrown });
}

/** Failures of the upstream, which another one may not have. */
const FAILURES: ReadonlySet<ErrorCode> = new Set(["upstream_error", "upstream_timeout", "unavailable", "rate_limit"]);

/** Whether the same may go well the next time: the target failed, and may recover. */
export function isFailure(thrown: unknown): boolean {
  return FAILURES.has(toGatewayError(thrown).code);
}
