// deno-lint-ignore-file house/file-length -- one reading of errors in bodies of any shape
/** Error handling shared by several wires. */
import { CACHE_HINT } from "../../src/transforms/cache_hints.ts";
import { asObject, asText, isJsonObject, type JsonObject, parseJson } from "../../src/canonical/json.ts";
import type { Allowance } from "../../src/contract/allowance.ts";
import type { Reply } from "../../src/contract/call.ts";
import { type ErrorCode, type ErrorDetails, GatewayError } from "../../src/errors.ts";
import { readAnswerLimit, saysOverflow } from "./overflow.ts";
import {
  isValidation,
  refusedContents,
  refusedParameters,
  refusesCacheHints,
  refusesForm,
  refusesSuffix,
} from "./refusals.ts";

const LONGEST_MESSAGE = 500;
/** How much of an upstream's text is searched for the message, in characters. */
const LONGEST_READ = 8_192;
/** Durations. A number alone is seconds (RFC 9110), or some hosts' time since the epoch. */
const DURATION = /^(\d+(?:\.\d+)?) ?(ms|s)?$/;
/** Dates of HTTP and of ISO 8601. */
const DATE = /^\w{3}, .* (?:GMT|UTC)$|^\d{4}-\d{2}-\d{2}T[\d:.]+(?:Z|[+-]\d{2}:\d{2})$/;
const DEEPEST_READ = 8;

/**
 * An upstream's error message, made fit for a client: the first of `error.message`, `error`, `detail` (a text, or a
 * list of `{msg}`), `message`, or the text itself. Stack traces are cut off. Empty if the text is markup or nothing is left.
 */
export function upstreamMessage(body: unknown): string {
  const text = (messageIn(body) ?? sentenceIn(body) ?? asText(body)).slice(0, LONGEST_READ);
  if (/<\s*(!doctype|html|head|body|title|pre|h1)\b/i.test(text)) return "";
  const cut = text.split(/\n[ \t]*(?:at\s|File ")|\bTraceback \(most recent call last\)/)[0]!.trim();
  return cut.length > LONGEST_MESSAGE ? `${cut.slice(0, LONGEST_MESSAGE)}…` : cut;
}

function messageIn(body: unknown, depth = 0): string | undefined {
  if (depth > DEEPEST_READ) return undefined;
  if (Array.isArray(body)) return typeof body[0] === "string" ? body[0] : messageIn(body[0], depth + 1);
  if (!isJsonObject(body)) return undefined;
  const { error, detail, message, msg, metadata } = body;
  // A router's own message says nothing. It has its provider's beside it.
  const { raw } = asObject(metadata);
  if (typeof raw === "string" && raw !== "") return messageIn(parseJson(raw), depth + 1) ?? raw;
  if (typeof error === "string" && isReadable(error, message)) return error;
  const nested = messageIn(error, depth + 1) ?? messageIn(detail, depth + 1);
  return nested ?? [detail, message, msg].find((value) => typeof value === "string");
}

/** A single word is a code, and a text that is shorter than the message is the name of the status. */
function isReadable(error: string, message: unknown): boolean {
  return typeof message !== "string" || /\s/.test(error) && message.length <= error.length;
}

/** The first text of several words, in a body of any other shape. */
function sentenceIn(body: unknown, depth = 0): string | undefined {
  if (typeof body === "string") return depth > 0 && /\S\s+\S|[\u0080-\uffff]{4}/.test(body) ? body : undefined;
  if (typeof body !== "object" || body === null || body instanceof Uint8Array || depth > DEEPEST_READ) return undefined;
  for (const inner of Object.values(body)) {
    const found = sentenceIn(inner, depth + 1);
    if (found !== undefined) return found;
  }
}

/** How the hub's router and engine, Ollama and vLLM report that a model is for another task. */
const OTHER_TASK =
  /\bnot a chat model\b|^"[^"]{1,200}" does not support (chat|embed(ding)?s?)\b|\bmodel\b.{0,200} does not support (the )?(task|chat completions?|embeddings?|scor(e|ing)|re-?rank(ing)?|transcriptions?|translations?|image (generations?|edit(s|ing)?))\b/i;

/** The client's error for an upstream's answer outside 2xx. It exposes no upstream credentials or HTML pages. */
export function upstreamError({ status, headers, body }: Omit<Reply, "body"> & { body: unknown }): GatewayError {
  const { code, message, details } = failureOf(status, headers, body);
  if (code !== "invalid_request") return new GatewayError(code, message, details);
  const unsupported = [
    ...refusedParameters(body),
    ...(refusesCacheHints(body) ? [CACHE_HINT] : []),
    ...(refusesSuffix(body) ? ["native suffix"] : []),
  ];
  return new GatewayError(code, message, { ...details, unsupported });
}

/** Seconds, or an HTTP date. A client could not act on any other value. */
function retryAfterOf(headers: Headers): string | undefined {
  const ms = headers.get("retry-after-ms");
  const value = ms === null ? headers.get("retry-after") ?? "" : `${ms}ms`;
  if (DATE.test(value)) return untilTime(Date.parse(value), headers);
  const [, number, unit] = DURATION.exec(value) ?? [];
  if (number === undefined) return undefined;
  const seconds = unit === "ms" ? Number(number) / 1000 : Number(number);
  if (unit !== undefined || seconds < 1e9) return String(seconds);
  return untilTime(seconds < 1e11 ? seconds * 1000 : seconds, headers);
}

/** In seconds by the upstream's `date` header, if it sends one, because the two clocks may differ. `time`: since the epoch, in ms. */
function untilTime(time: number, headers: Headers): string | undefined {
  const seconds = (time - Date.parse(headers.get("date") ?? "")) / 1000;
  if (!Number.isNaN(seconds)) return String(Math.max(0, seconds));
  return Math.abs(time) < 8.64e15 ? new Date(time).toUTCString() : undefined;
}

/** The object that describes the error. */
function errorIn(body: unknown): JsonObject {
  const object = asObject(body);
  return isJsonObject(object.error) ? object.error : object;
}

/** Without a status, the failure is the upstream's own unless its message says otherwise. */
function failureOf(status: number | undefined, headers: Headers, body: unknown): GatewayError {
  const inner = errorIn(body);
  const refusal: Refusal = {
    status,
    isRefusal: status !== undefined && status >= 400 && status < 500,
    inner,
    words: [inner.code, inner.type].filter((word) => typeof word === "string").join(" "),
    message: upstreamMessage(body),
    details: {
      upstreamStatus: status,
      retryAfter: retryAfterOf(headers) ?? /;\s*t=(\d+)/.exec(headers.get("ratelimit") ?? "")?.[1],
      param: typeof inner.param === "string" ? inner.param : undefined,
    },
  };
  return failureByWords(refusal) ?? failureByStatus(refusal);
}

/** An upstream's error answer. */
interface Refusal {
  status: number | undefined;
  /** Whether the status blames the request. */
  isRefusal: boolean;
  inner: JsonObject;
  /** The error's code and type. */
  words: string;
  message: string;
  details: ErrorDetails;
}

function failureByWords({ status, isRefusal, inner, words, message, details }: Refusal): GatewayError | undefined {
  const says = message || `The upstream answered ${status}`;
  // Some servers report an overflow with status 500 and a code. Retrying does not help.
  if (saysOverflow(isRefusal || status === undefined ? `${words} ${message}` : words)) {
    return new GatewayError("context_length_exceeded", overflowSays(inner, says), details);
  }
  // llama.cpp, with status 501, and Ollama: the model has no marks for gaps.
  if (/^infill is not supported\b|\bdoes not support insert\b/i.test(message)) {
    return new GatewayError("invalid_request", message, { ...details, param: "suffix", tryNextTarget: true });
  }
  // llama.cpp reports this with status 500. Retrying does not help.
  if (/\b(image|audio|video|vision) (input|inputs) (is|are) not supported\b/i.test(message)) {
    return new GatewayError("invalid_request", message, details);
  }
  if (isRefusal && OTHER_TASK.test(message)) {
    const param = details.param ?? "model";
    return new GatewayError("model_task_mismatch", says, { ...details, param, tryNextTarget: true });
  }
  // The second form is that of the hub's per-provider routes, with status 400.
  if (/\bmodel_not_(supported|found)\b/.test(words) || /^model not supported by provider/i.test(message)) {
    return new GatewayError("model_not_found", says, details);
  }
  return /\binsufficient_quota\b/.test(words) ? new GatewayError("billing", says, details) : undefined;
}

/** Error codes by status, with the message to use if the upstream sends none. */
const BY_STATUS: ReadonlyMap<number, [code: ErrorCode, text?: string]> = new Map([
  [402, ["billing"]],
  [404, ["model_not_found"]],
  [408, ["upstream_timeout", "The upstream ran out of time"]],
  // 409 is a conflict, 425 a refusal of early data. The server did not begin, and a retry may soon succeed.
  [409, ["unavailable", "The upstream is not ready for the request"]],
  [413, ["request_too_large"]],
  [425, ["unavailable", "The upstream is not ready for the request"]],
  [429, ["rate_limit", "The upstream limits the rate of requests"]],
  // Some hosts have this status of their own for a tier without room.
  [498, ["unavailable", "The upstream has no room for the request"]],
  [503, ["unavailable", "The upstream is overloaded"]],
  [504, ["upstream_timeout", "The upstream ran out of time"]],
  [524, ["upstream_timeout", "The upstream ran out of time"]],
  [529, ["unavailable", "The upstream is overloaded"]],
]);

function failureByStatus({ status, isRefusal, message, details }: Refusal): GatewayError {
  const says = message || `The upstream answered ${status}`;
  if (status === undefined) {
    const text = `The upstream failed${message === "" ? " while it answered" : `: ${message}`}`;
    return new GatewayError("upstream_error", text, details);
  }
  if (status === 401 || status === 403) {
    const text = `The upstream refused the gateway's credentials (${status})`;
    return new GatewayError("upstream_error", text, { ...details, retryable: false });
  }
  const [code, text] = BY_STATUS.get(status) ?? [];
  if (code) return new GatewayError(code, message || (text ?? says), details);
  // TEI answers 424 when its inner engine failed.
  if (isRefusal && status !== 424) return new GatewayError("invalid_request", says, details);
  const failed = message === "" ? says : `The upstream failed (${status}): ${message}`;
  return new GatewayError("upstream_error", failed, details);
}

/** Older builds of llama.cpp report the numbers in separate fields, newer ones in the message. */
function overflowSays({ n_prompt_tokens: asked, n_ctx: size }: JsonObject, says: string): string {
  return typeof asked === "number" && typeof size === "number" && !/\d/.test(says)
    ? `request (${asked} tokens) exceeds the available context size (${size} tokens)`
    : says;
}

/** The parts of a request that an upstream reports as unsupported. */
type Refused = Pick<ErrorDetails, "unsupported" | "reasoning">;

/** An upstream's refusal, with what the request should omit to succeed. `more`: refusals specific to one wire's servers. */
export function upstreamRefusal(
  reply: Reply,
  more: (refusal: { body: Reply["body"]; message: string }) => Refused,
): GatewayError {
  const { code, message, details: all } = upstreamError(reply);
  const isLimit = code === "invalid_request" || code === "context_length_exceeded";
  const answerLimit = isLimit ? readAnswerLimit(message) : undefined;
  const details = answerLimit ? { ...all, answerLimit } : all;
  if (isValidation(reply)) {
    const unsupported = [...refusedContents(reply.body), ...(refusesForm(reply.body) ? ["response_format"] : [])];
    return new GatewayError(code, message, unsupported.length > 0 ? { ...details, unsupported } : details);
  }
  if (code !== "invalid_request") return new GatewayError(code, message, details);
  const { unsupported = [], reasoning } = more({ body: reply.body, message });
  const form = refusesForm(reply.body) ? ["response_format"] : [];
  const refused = new Set([...unsupported, ...details.unsupported ?? [], ...form]);
  return new GatewayError(code, message, { ...details, unsupported: [...refused], reasoning });
}

/** Errors that a retry does not fix. Claude Code would retry them. */
const FINAL: ReadonlySet<ErrorCode> = new Set([
  "authentication",
  "permission",
  "model_not_found",
  "model_task_mismatch",
  "unsupported",
  "unsupported_media_type",
]);

/** The error headers that the SDKs of every wire read: how long to wait, and whether to retry at all. */
export function errorHeaders({ code, details }: GatewayError): Headers {
  const { allow, retryAfter, retryable = FINAL.has(code) ? false : undefined } = details;
  const headers = new Headers();
  if (allow) headers.set("allow", allow.join(", "));
  if (retryAfter) headers.set("retry-after", retryAfter);
  if (retryable !== undefined) headers.set("x-should-retry", String(retryable));
  return headers;
}

/** The status that goes with an upstream's word for what went wrong, for an error that comes without one. */
const STATUS_OF_WORD: Readonly<Record<string, number>> = {
  context_length_exceeded: 400,
  exceed_context_size_error: 400,
  invalid_prompt: 400,
  insufficient_quota: 402,
  rate_limit_exceeded: 429,
  rate_limit_error: 429,
  server_is_overloaded: 503,
  slow_down: 503,
};

/** An error that an upstream puts inside a stream, or an answer, whose status was 200. */
export function upstreamStreamError(body: unknown): GatewayError {
  const inner = errorIn(body);
  const numbers = [inner.code, inner.status, inner.status_code].filter((one) => typeof one !== "object").map(Number);
  const status = numbers.find((value) => value >= 400 && value < 600);
  const word = [inner.code, inner.type].find((one) => typeof one === "string" && Object.hasOwn(STATUS_OF_WORD, one));
  return failureOf(status ?? STATUS_OF_WORD[String(word)], new Headers(), body);
}

/** Whether an answer with a status of success holds an error. An empty object is none. */
export function saysError(body: unknown): boolean {
  const { error } = asObject(body);
  return isJsonObject(error) ? Object.keys(error).length > 0 : Boolean(error);
}

/** How the shape of the chat wire, which most others share, names each error: its `type`, and a `code` where clients act on one. */
const WORDS_OF: Record<ErrorCode, { type: string; code: string | null }> = {
  invalid_request: { type: "invalid_request_error", code: null },
  context_length_exceeded: { type: "invalid_request_error", code: "context_length_exceeded" },
  previous_response_not_found: { type: "invalid_request_error", code: "previous_response_not_found" },
  authentication: { type: "authentication_error", code: "invalid_api_key" },
  billing: { type: "insufficient_quota", code: "insufficient_quota" },
  budget_exceeded: { type: "insufficient_quota", code: "budget_exceeded" },
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
  return { error: { message, type: words.type, param: details.param ?? null, code: details.reason ?? words.code } };
}

/** The SDKs read the id from `x-request-id`. */
export function serializeError(error: GatewayError, { requestId }: { requestId: string }): Response {
  const headers = errorHeaders(error);
  headers.set("x-request-id", requestId);
  return Response.json(serializeErrorBody(error), { status: error.status, headers });
}

/** As the vendor of the chat wire tells it, whose clients wait by it: durations such as `1m30s`. */
export function serializeAllowance(allowance: Allowance): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const kind of ["requests", "tokens", "dollars"] as const) {
    const gauge = allowance[kind];
    if (!gauge) continue;
    headers[`x-ratelimit-limit-${kind}`] = String(gauge.limit);
    headers[`x-ratelimit-remaining-${kind}`] = String(gauge.remaining);
    if (gauge.resetMs !== undefined) headers[`x-ratelimit-reset-${kind}`] = durationOf(gauge.resetMs);
  }
  return headers;
}

function durationOf(ms: number): string {
  const seconds = Math.ceil(ms / 1000);
  return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m${seconds % 60}s`;
}
