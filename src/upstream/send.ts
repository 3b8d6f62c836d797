import { ByteBuffer } from "../util/byte_reader.ts";
import { type JsonValue, parseJson, readJson } from "../canonical/json.ts";
import { describeExcess, JSON_LIMITS, type JsonLimits, type Scan, scan } from "../canonical/json_limits.ts";
import { parseLists } from "../canonical/number_lists.ts";
import type { ModelOperation } from "../canonical/operations.ts";
import { parseExactly } from "../canonical/raw_number.ts";
import { finish, type Work } from "../util/work.ts";
import type { FormField } from "../contract/context.ts";
import type { Quirks } from "../contract/quirks.ts";
import type { Call, Reply } from "../contract/call.ts";
import type { Driver, Target } from "../contract/driver.ts";
import { GatewayError } from "../errors.ts";
import { blobOf } from "../platform/fetch_transport.ts";
import {
  type Transport,
  TransportError,
  type TransportRequest,
  type TransportResponse,
} from "../platform/transport.ts";
import type { Refusals } from "./unsupported_fields.ts";
import type { Timeouts } from "./deadlines.ts";

/** One configured service, ready to be called. */
export interface Upstream {
  name: string;
  driver: Driver;
  /** Without a slash at its end; absent where the driver makes no calls. */
  baseUrl?: string;
  /** Goes out as `Authorization: Bearer`, to this upstream alone. */
  secret?: string;
  /** The environment variable that should hold the secret and does not. */
  missingSecret?: string;
  /** Whether it gets the caller's own token in place of a secret of the gateway's. */
  takesTokens: boolean;
  /** How many calls it is given at once; no limit where absent. */
  concurrency?: {
    acquire(caller: string, signal: AbortSignal): Promise<() => void>;
    load(): { running: number; waiting: number };
  };
  headers: Readonly<Record<string, string>>;
  /** Whether it learns which trace a request is a part of. */
  propagateTrace?: boolean;
  /** How it is called. */
  transport: Transport;
  /** Top-level fields of a request body that it answers with an error: left out and noted. */
  refuses: readonly string[];
  /** Those that it turned out to refuse. */
  refusals: Refusals;
  /** Its settings, for every model that has none of its own. */
  quirks: Quirks & Pick<Target, "systemMessages">;
  /** Where it chooses among providers: how it names its choice, and the words after a model's colon that choose none. */
  providers?: { servedBy: string; policies: readonly string[] };
  /** The catalog that has the files of its models' tokenizers. */
  tokenizers?: string;
  /** Where its results may be fetched from that it gives as URLs: origins, with `*.` for all names below one. */
  resultsFrom: readonly string[];
  timeouts: Timeouts;
  /** The longest answer that is read whole, in bytes. */
  answerBytes: number;
  /** The most that a model may write in one answer, in characters. */
  answerText: number;
  /** The longest answer that is passed on as it comes, in bytes. */
  streamBytes: number;
  /** The longest line or event that is taken from its streams, in characters. */
  frameBytes: number;
  /** How much JSON is made of an answer, or of an event of a stream. */
  json: JsonLimits;
}

/** Where a call goes, how, and what goes with it. */
export type Service = Pick<Upstream, "name" | "baseUrl" | "secret" | "headers" | "resultsFrom" | "transport">;

/**
 * Makes one call and gives the response as it comes, whatever its status. Nothing of the client's request is in it but what
 * the driver put there: no header, no credential.
 */
export function send(call: Call, upstream: Service, signal: AbortSignal): Promise<TransportResponse> {
  if (call.url !== undefined) return fetchResult(call.url, upstream, signal);
  const { url, method, headers } = headOf(call, upstream);
  const body = bodyOf(call);
  if (typeof body === "string") headers["content-type"] ??= "application/json";
  return reach({ url, method, headers, body, signal }, upstream);
}

/** Where a call below the base URL goes, and its headers, the secret among them. */
export function headOf({ path, method, headers: own, body, form }: Call, { baseUrl, headers: more, secret }: Service) {
  const headers: Record<string, string> = { accept: "application/json, text/event-stream", "user-agent": "laneway" };
  for (const name in own) headers[name.toLowerCase()] = own[name]!;
  for (const name in more) headers[name.toLowerCase()] = more[name]!;
  if (secret !== undefined) headers.authorization = `Bearer ${secret}`;
  return { url: `${baseUrl}/${path}`, method: method ?? (body === undefined && !form ? "GET" : "POST"), headers };
}

async function reach(request: TransportRequest, { name, transport }: Service): Promise<TransportResponse> {
  try {
    return await transport.send(request);
  } catch (thrown) {
    request.signal.throwIfAborted();
    const { failure, cause } = thrown instanceof TransportError ? thrown : { failure: "lost", cause: thrown };
    if (failure === "exhausted") {
      const message = "The gateway has no free connections: try again";
      throw new GatewayError("unavailable", message, { cause, notProcessed: true, retryAfter: "1" });
    }
    throw new GatewayError("upstream_error", `Cannot reach upstream "${name}"`, {
      cause,
      notProcessed: failure !== "lost",
    });
  }
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

const MOST_REDIRECTS = 3;

/** A result that the upstream gives as a URL: fetched without any credential, and from nowhere but where it may be. */
async function fetchResult(url: string, upstream: Service, signal: AbortSignal): Promise<TransportResponse> {
  let place = URL.parse(url);
  for (let hops = 0; hops <= MOST_REDIRECTS; hops++) {
    if (!place || place.username + place.password !== "" || !isAmong(place, upstream.resultsFrom)) {
      const where = place ? `"${place.protocol}//${place.host}", which its "resultsFrom" does not name` : "no URL";
      const message = `The result of upstream "${upstream.name}" is at ${where}`;
      throw new GatewayError("upstream_error", message, { retryable: false });
    }
    const request = { url: place.href, method: "GET", headers: { "user-agent": "laneway" }, signal };
    const response = await reach(request, upstream);
    const location = response.status >= 300 && response.status < 400 && response.headers.get("location");
    if (!location) return response;
    await response.body?.cancel();
    place = URL.parse(location, place.href);
  }
  const message = `Cannot fetch the result of upstream "${upstream.name}": too many redirects`;
  throw new GatewayError("upstream_error", message, { retryable: false });
}

/** `https://*.example.com` names every host below example.com, on the same port. */
function isAmong({ protocol, host }: URL, allowed: readonly string[]): boolean {
  return allowed.some((pattern) => {
    const wanted = URL.parse(pattern);
    if (!wanted || protocol !== wanted.protocol) return false;
    return wanted.host.startsWith("*.") ? host.endsWith(wanted.host.slice(1)) : host === wanted.host;
  });
}

/** How the JSON of an answer is read: its numbers exactly, where what is not known of it goes on to the client. */
export function parserFor(operation: ModelOperation): typeof parseExactly {
  return operation === "generate" || operation === "relay" ? parseExactly : JSON.parse;
}

/**
 * The whole response: JSON parsed, other text as a string, all else as bytes. Throws where it is longer than `limitBytes`, or
 * more JSON than it may be; an error of so much JSON stays text, because its status is enough.
 */
export async function readReply(
  response: TransportResponse,
  limitBytes: number,
  limits = JSON_LIMITS,
  parse = parserFor("embed"),
): Promise<Reply> {
  const { status, headers, ok } = response;
  const bytes = await readBytes(response, limitBytes);
  // Vectors are millions of numbers, which only the bytes limit.
  const most = parse === parseExactly ? limits : { ...limits, numbers: Infinity };
  const body = await finish(parseBody(bytes, headers.get("content-type") ?? "", ok, most, parse));
  return { status, headers, body };
}

/** The connection ended before the answer did. */
export function brokenOff(cause: unknown): GatewayError {
  return new GatewayError("upstream_error", "The connection to the upstream was lost", { cause });
}

/** The upstream sends more than is read. Audio that is cut off carries no reason, so the log has it, as the cause. */
export function tooLong(what: "answer" | "stream", limitBytes: number): GatewayError {
  const message = `The upstream's ${what} is longer than ${limitBytes} bytes`;
  return new GatewayError("upstream_error", message, { retryable: false, cause: new RangeError(message) });
}

/** The same of more JSON than is made of it. */
export function tooMuchJson(what: string, excess: keyof JsonLimits, limits: JsonLimits): GatewayError {
  const message = `The upstream's ${what} ${describeExcess(excess, limits)}`;
  return new GatewayError("upstream_error", message, { retryable: false, cause: new RangeError(message) });
}

/** All bytes of a response. Throws where there are more than `limitBytes`. */
export function readBytes({ body }: TransportResponse, limitBytes: number): Promise<Uint8Array<ArrayBuffer>> {
  const whole = body?.whole;
  if (!whole || whole.length > limitBytes) return readPieces(body, limitBytes);
  return whole.read().then((bytes) => {
    // Whoever stands in for `fetch` may send more than it announces.
    if (bytes.length > limitBytes) throw tooLong("answer", limitBytes);
    return bytes;
  }, failBroken);
}

async function readPieces(body: TransportResponse["body"], limitBytes: number): Promise<Uint8Array<ArrayBuffer>> {
  const buffer = new ByteBuffer(0, limitBytes);
  if (!body) return buffer.take();
  for (;;) {
    const piece = await body.read().catch(failBroken);
    if (!piece) return buffer.take();
    if (buffer.length + piece.length > limitBytes) {
      await body.cancel();
      throw tooLong("answer", limitBytes);
    }
    buffer.append(piece);
  }
}

function failBroken(cause: unknown): never {
  throw brokenOff(cause);
}

const decoder = new TextDecoder();

/** Of a text that is no object or list, which may be a number. */
const NOTHING_FOUND: Scan = { hasLongNumbers: true };

function* parseBody(
  bytes: Uint8Array<ArrayBuffer>,
  contentType: string,
  ok: boolean,
  limits: JsonLimits,
  parse: typeof parseExactly,
): Work<JsonValue | Uint8Array<ArrayBuffer>> {
  if (/^(audio|image|video)\/|octet-stream/.test(contentType)) return bytes;
  const text = decoder.decode(bytes);
  yield;
  const holdsJson = /^\s*[[{]/.test(text);
  const { excess, hasLongNumbers } = holdsJson ? yield* scan(text, limits) : NOTHING_FOUND;
  if (excess && ok) throw tooMuchJson("answer", excess, limits);
  yield;
  // What a model wrote down as "1.50" is a text, and a stream that nobody asked for is no JSON.
  if (excess || (!holdsJson && /^text\/(plain|event-stream)/.test(contentType))) return text;
  const parseNumbers = hasLongNumbers ? parse : JSON.parse;
  return (yield* parseLists(text, (part) => readJson(part, parseNumbers))) ?? parseOdd(text, limits, parse) ?? text;
}

/** JSON with numbers that it has not. */
function parseOdd(text: string, limits: JsonLimits, parse: typeof parseExactly): JsonValue | undefined {
  return NO_NUMBER.test(text) ? parseJson(withNulls(text), limits, parse) : undefined;
}

// Servers in Python write numbers that JSON has not. As null they are found where they stand.
const NO_NUMBER = /\bNaN\b|\bInfinity\b/;

function withNulls(text: string): string {
  let inText = false;
  // A pattern for a whole text gives up on some that are longer than a few MB, as sound is.
  return text.replace(/\\.|"|-?\b(?:NaN|Infinity)\b/gs, (found) => {
    if (found === '"') inText = !inText;
    return inText || found === '"' || found.startsWith("\\") ? found : "null";
  });
}
