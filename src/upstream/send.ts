import { ByteBuffer } from "../util/byte_reader.ts";
import { type JsonValue, parseJson, readJson } from "../canonical/json.ts";
import { describeExcess, JSON_LIMITS, type JsonLimits, type Scan, scan } from "../canonical/json_limits.ts";
import { parseLists } from "../canonical/number_lists.ts";
import type { ModelOperation } from "../canonical/operations.ts";
import { parseExactly } from "../canonical/raw_number.ts";
import { runExclusively, runSliced, type SlicedWork, yieldToEventLoop } from "../util/sliced_work.ts";
import type { FormField } from "../contract/context.ts";
import type { Call, Reply, SecretPlace } from "../contract/call.ts";
import { GatewayError } from "../errors.ts";
import { blobOf } from "../platform/fetch_transport.ts";
import { TransportError, type TransportRequest, type TransportResponse } from "../platform/transport.ts";
import { withQuery } from "../util/urls_and_headers.ts";
import type { Addressed, Callee } from "./upstream.ts";

export type { Callee, Upstream } from "./upstream.ts";

const BEARER: SecretPlace = { header: "authorization", scheme: "Bearer" };

/** From this length in characters, writing and encoding a body take long, so others run in between. */
const LONG_BODY = 1_000_000;

/**
 * Makes one call and returns the response, whatever its status. It contains nothing of the client's request but what
 * the driver put there: no header, no credential. `largeFor`: the caller if the call is so large that it waits its turn.
 */
export function send(
  call: Call,
  upstream: Callee,
  signal: AbortSignal,
  largeFor?: string,
): Promise<TransportResponse> {
  if (call.url !== undefined) return sendForResult(call.url, upstream, signal);
  if (largeFor !== undefined) return sendInTurn(call, upstream, signal, largeFor);
  const body = bodyOf(call);
  if (typeof body === "string" && body.length >= LONG_BODY) {
    return yieldToEventLoop().then(() => reach({ ...headOf(call, upstream, body), body, signal }, upstream));
  }
  return reach({ ...headOf(call, upstream, body), body, signal }, upstream);
}

async function sendForResult(url: string, upstream: Callee, signal: AbortSignal): Promise<TransportResponse> {
  const { fetchResult } = await import("./fetch_result.ts");
  const headers = { "user-agent": "laneway" };
  return await fetchResult(url, upstream, (url) => reach({ url, method: "GET", headers, signal }, upstream));
}

/** Writes the body, then hands it over to the transport. Each takes long, so each waits for its turn. */
async function sendInTurn(
  call: Call,
  upstream: Callee,
  signal: AbortSignal,
  caller: string,
): Promise<TransportResponse> {
  const body = await runExclusively(caller, () => bodyOf(call));
  signal.throwIfAborted();
  // Within an object, since the turn is over before the answer comes.
  const { answer } = await runExclusively(caller, () => ({
    answer: reach({ ...headOf(call, upstream, body), body, signal }, upstream),
  }));
  return await answer;
}

/** The URL and headers of a call below the base URL, including the secret. `sent`: its body as it is sent. */
export function headOf(
  { path, method, headers: own, body, form }: Call,
  { baseUrl, query, headers: more, secret, secretPlace: { header, scheme, query: parameter } = BEARER }: Addressed,
  sent?: TransportRequest["body"],
) {
  const headers: Record<string, string> = { accept: "application/json, text/event-stream", "user-agent": "laneway" };
  for (const name in own) headers[name.toLowerCase()] = own[name]!;
  for (const name in more) headers[name.toLowerCase()] = more[name]!;
  if (secret !== undefined && header !== undefined) {
    headers[header] = scheme === undefined ? secret : `${scheme} ${secret}`;
  }
  if (typeof sent === "string") headers["content-type"] ??= "application/json";
  let url = `${baseUrl}/${path}`;
  if (query !== undefined) url = withQuery(url, query);
  if (secret !== undefined && parameter !== undefined) {
    url = withQuery(url, `${encodeURIComponent(parameter)}=${encodeURIComponent(secret)}`);
  }
  return {
    url,
    method: method ?? (body === undefined && !form ? "GET" : "POST"),
    headers,
  };
}

function reach(request: TransportRequest, callee: Callee): Promise<TransportResponse> {
  try {
    return callee.transport.send(request).then(undefined, (thrown) => {
      throw unreached(thrown, request, callee);
    });
  } catch (thrown) {
    return Promise.reject(unreached(thrown, request, callee));
  }
}

/** The error if there is no answer. */
function unreached(thrown: unknown, { signal }: TransportRequest, { name }: Callee): unknown {
  if (signal.aborted) return signal.reason;
  const { failure, cause } = thrown instanceof TransportError ? thrown : { failure: "lost", cause: thrown };
  if (failure === "exhausted") {
    const message = "The gateway has no free connections: try again";
    return new GatewayError("unavailable", message, { cause, notProcessed: true, retryAfter: "1" });
  }
  return new GatewayError("upstream_error", `Cannot reach upstream "${name}"`, {
    cause,
    notProcessed: failure !== "lost",
  });
}

function bodyOf({ body, form }: Call): TransportRequest["body"] {
  if (form) return toFormData(form);
  if (body === undefined || body instanceof Uint8Array || body instanceof Blob) return body;
  return JSON.stringify(body);
}

function toFormData(fields: readonly FormField[]): FormData {
  const form = new FormData();
  for (const { name, value, file } of fields) {
    if (file) form.append(name, blobOf(file.bytes, file.mediaType), file.name);
    else form.append(name, value);
  }
  return form;
}

/** The JSON parser for an answer. Numbers are kept exactly if unknown fields are passed on to the client. */
export function parserFor(operation: ModelOperation): typeof parseExactly {
  return operation === "generate" || operation === "relay" ? parseExactly : JSON.parse;
}

/** A reply, and how many bytes of it were read. */
export interface MeasuredReply extends Reply {
  readonly bytes?: number;
}

/**
 * The whole response: JSON parsed, other text as a string, anything else as bytes. Throws if it exceeds `limitBytes` or
 * the JSON limits. An error with too much JSON stays text, because its status is enough.
 */
export function readReply(
  response: TransportResponse,
  limitBytes: number,
  limits = JSON_LIMITS,
  parse: typeof parseExactly = JSON.parse,
): Promise<MeasuredReply> {
  const { status, headers, ok } = response;
  // Vectors can have millions of numbers. Only the byte limit applies to them.
  const most = parse === parseExactly ? limits : { ...limits, numbers: Infinity };
  return readBytes(response, limitBytes).then((read) => {
    const bytes = read.length;
    const body = runSliced(parseBody(read, headers.get("content-type") ?? "", ok, most, parse));
    return body instanceof Promise
      ? body.then((parsed) => ({ status, headers, bytes, body: parsed }))
      : { status, headers, bytes, body };
  });
}

/** The connection ended before the answer did. */
export function brokenOff(cause: unknown): GatewayError {
  return new GatewayError("upstream_error", "The connection to the upstream was lost", { cause });
}

/**
 * The error for an answer that exceeds a limit. Audio that is cut off cannot carry a reason, so the log has it as the
 * cause.
 */
export function tooLong(what: "answer" | "stream", limitBytes: number): GatewayError {
  const message = `The upstream's ${what} is longer than ${limitBytes} bytes`;
  return new GatewayError("upstream_error", message, { retryable: false, cause: new RangeError(message) });
}

/** The error for an answer that exceeds a JSON limit. */
export function tooMuchJson(what: string, excess: keyof JsonLimits, limits: JsonLimits): GatewayError {
  const message = `The upstream's ${what} ${describeExcess(excess, limits)}`;
  return new GatewayError("upstream_error", message, { retryable: false, cause: new RangeError(message) });
}

/** All bytes of a response. Throws if there are more than `limitBytes`. */
export async function readBytes({ body }: TransportResponse, limitBytes: number): Promise<Uint8Array<ArrayBuffer>> {
  if (!body) return new Uint8Array();
  const { whole } = body;
  if (whole && whole.length <= limitBytes) {
    const bytes = await whole.read().catch(failBroken);
    // A replacement for `fetch` may send more than it announces.
    if (bytes.length > limitBytes) throw tooLong("answer", limitBytes);
    return bytes;
  }
  let first: Uint8Array<ArrayBuffer> | undefined;
  let more: ByteBuffer | undefined;
  for (let length = 0;;) {
    let piece: Uint8Array | undefined;
    try {
      piece = await body.read();
    } catch (cause) {
      throw brokenOff(cause);
    }
    if (!piece) return more ? more.take() : first ?? new Uint8Array();
    length += piece.length;
    if (length > limitBytes) {
      await body.cancel();
      throw tooLong("answer", limitBytes);
    }
    // Most answers are a single piece.
    if (!first) first = piece.slice();
    else {
      if (!more) (more = new ByteBuffer(0, limitBytes)).append(first);
      more.append(piece);
    }
  }
}

function failBroken(cause: unknown): never {
  throw brokenOff(cause);
}

const decoder = new TextDecoder();

/** From this length in characters, a text is searched for long lists of numbers. */
const LONG_TEXT = 100_000;

/** The result for a text that is neither an object nor an array. It may be a number. */
const NOTHING_FOUND: Scan = { hasLongNumbers: true };

function* parseBody(
  bytes: Uint8Array<ArrayBuffer>,
  contentType: string,
  ok: boolean,
  limits: JsonLimits,
  parse: typeof parseExactly,
): SlicedWork<JsonValue | Uint8Array<ArrayBuffer>> {
  if (/^(audio|image|video)\/|octet-stream/.test(contentType)) return bytes;
  const decoded = decoder.decode(bytes);
  const text = ok ? decoded : EVENT.exec(decoded)?.[1] ?? decoded;
  yield;
  const holdsJson = /^\s*[[{]/.test(text);
  const { excess, hasLongNumbers } = holdsJson ? yield* scan(text, limits) : NOTHING_FOUND;
  if (excess && ok) throw tooMuchJson("answer", excess, limits);
  yield;
  // A model's answer "1.50" is text, and an unexpected stream is not JSON.
  if (excess || (!holdsJson && /^text\/(plain|event-stream)/.test(contentType))) return text;
  const parseNumbers = hasLongNumbers ? parse : JSON.parse;
  const value = text.length < LONG_TEXT
    ? readJson(text, parseNumbers)
    : yield* parseLists(text, (part) => readJson(part, parseNumbers));
  yield;
  return value ?? parseOdd(text, limits, parse) ?? text;
}

/** An error that is written as an event. */
const EVENT = /^\ufeff?\s*(?:(?:event|id|retry)?:[^\n]*\n+)*(?:data|error): ?(.*)/;

/** Parses JSON with NaN and Infinity. */
function parseOdd(text: string, limits: JsonLimits, parse: typeof parseExactly): JsonValue | undefined {
  return NO_NUMBER.test(text) ? parseJson(withNulls(text), limits, parse) : undefined;
}

// Python servers write NaN and Infinity, which JSON does not have. They become null, and parsers report where that is
// no valid value.
const NO_NUMBER = /\bNaN\b|\bInfinity\b/;

function withNulls(text: string): string {
  let inText = false;
  // A regular expression for a whole text fails on some texts of a few MB, such as audio.
  return text.replace(/\\.|"|-?\b(?:NaN|Infinity)\b/gs, (found) => {
    if (found === '"') inText = !inText;
    return inText || found === '"' || found.startsWith("\\") ? found : "null";
  });
}
