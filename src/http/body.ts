import { ByteBuffer, ByteReader } from "../util/byte_reader.ts";
import { describeExcess, JSON_LIMITS, type JsonLimits, scan, scanShort, SHORT_TEXT } from "../canonical/json_limits.ts";
import { replaceHalves } from "../canonical/half_surrogates.ts";
import { parseExactly } from "../canonical/raw_number.ts";
import { TimeLimit } from "../util/time_limit.ts";
import { runExclusively, runSliced, type SlicedWork, waitToBegin } from "../util/sliced_work.ts";
import { GatewayError } from "../errors.ts";
import type { Coding } from "./decompress.ts";
import { FIRST_BYTES, parseCodings, sniffCodings } from "./codings.ts";
import { findMissingValue } from "./json_mistake.ts";
import { tooLarge } from "./size.ts";

export interface BodyLimits {
  /** Whether the body is a file, which may be empty, and is not decompressed only because it looks compressed. */
  isFile?: boolean;
  /** The size limit in bytes, for the body as sent and after each decompression. */
  limitBytes: number;
  /** How many milliseconds the client may take to send the body. */
  timeoutMs: number;
  /** How many milliseconds may pass without data. */
  stallMs?: number;
  /** Whether the request comes through a server, which delivers no more bytes than the content-length. */
  isServed?: boolean;
  /** How many bytes to allocate on the strength of the content-length alone. */
  trustedBytes?: number;
  /**
   * Receives the size in bytes so far, as sent and after each decompression. Before a decompression, it receives the size that
   * this may lead to. If it throws, reading ends.
   */
  onLength?(bytes: number): void;
  /** Up to this size, nothing is received before a decompression. */
  uncountedBytes?: number;
  /** Gets `end` while the body is on its way. */
  arrival?: { end?: EndBody | undefined };
  /** The caller. Large bodies are parsed in turns, one caller after another. */
  caller?: string;
  /** How much JSON the body may contain. */
  json?: JsonLimits;
  /** Receives all bytes after decompression. */
  copy?: { add(bytes: Uint8Array, isOurs: boolean): void };
}

/** Ends a body that is on its way. The client is told the reason as `request_timeout`. */
export type EndBody = (reason: string) => void;

/**
 * Reads, decompresses and parses a JSON body of any type. Throws `request_too_large`, `request_timeout`,
 * `unsupported_media_type` (an unsupported content-encoding), `client_closed`, or `invalid_request` with a message that quotes
 * nothing from the body.
 */
export async function readJsonBody(request: Request, limits: BodyLimits): Promise<unknown> {
  return await parseJsonBody(await readBody(request, "a JSON object", limits), limits);
}

/** Parses a JSON body that has arrived, at once if it is short and nothing else is running. Throws `invalid_request`. */
export function parseJsonBody(bytes: Uint8Array, limits: BodyLimits): unknown {
  const { caller = "", copy, json = JSON_LIMITS } = limits;
  copy?.add(bytes, true);
  const { length } = bytes;
  if (length > LARGE_BYTES) return parseLarge(bytes, limits);
  const turn = waitToBegin(caller, length);
  if (turn) return turn.then(() => runSliced(parseBody(bytes, json)));
  return length > SHORT_BYTES ? runSliced(parseBody(bytes, json)) : parseShort(bytes, json);
}

/** Like `parseBody`, all at once. */
function parseShort(bytes: Uint8Array, limits: JsonLimits): unknown {
  const text = decodeText(bytes);
  const { excess, hasLongNumbers } = scanShort(text, limits);
  if (excess) throw tooMuch(excess, limits);
  return parseJson(text, hasLongNumbers);
}

/** Parses JSON of more than `LARGE_BYTES`, when no other large body is worked on. Throws `invalid_request`. */
export function parseLarge(
  body: Uint8Array | string,
  { caller = "", json }: Pick<BodyLimits, "caller" | "json">,
): Promise<unknown> {
  return runExclusively(caller, () => runSliced(parseBody(body, json)));
}

/** Parses JSON. Throws `invalid_request`. */
export function* parseBody(body: Uint8Array | string, limits = JSON_LIMITS): SlicedWork<unknown> {
  const text = typeof body === "string" ? body : decodeText(body);
  yield;
  // Checked before parsing, because 89 compressed bytes can describe ten million objects.
  const { excess, hasLongNumbers } = yield* scan(text, limits);
  if (excess) throw tooMuch(excess, limits);
  yield;
  const value = parseJson(text, hasLongNumbers);
  yield;
  return value;
}

function tooMuch(excess: keyof JsonLimits, limits: JsonLimits): GatewayError {
  return new GatewayError("invalid_request", `The body ${describeExcess(excess, limits)}`);
}

/** A body as the head of its request announces it. */
interface Announced {
  /** The content-length. 0 if there is none. */
  declared: number;
  codings: readonly Coding[];
  /** The content that an empty body lacks, in words. */
  expected: string;
}

/** The whole body after decompression. `expected` describes what an empty body should have been. */
export function readBody(request: Request, expected: string, limits: BodyLimits): Promise<Uint8Array> {
  const { headers } = request;
  const declared = Number(headers.get("content-length"));
  if (declared > limits.limitBytes) throw tooLarge("body", limits.limitBytes);
  const encoding = headers.get("content-encoding");
  const announced: Announced = { declared, codings: encoding ? parseCodings(encoding) : [], expected };

  // A chunked body has no reliable length.
  const isKnown = limits.isServed && !headers.has("transfer-encoding");
  const isSmall = isKnown && declared > 0 && declared <= UNCOUNTED_BYTES;
  return isSmall ? readAtOnce(request, announced, limits) : readPieces(request.body, announced, limits);
}

function unpack(
  bytes: Uint8Array,
  { codings, expected }: Announced,
  limits: BodyLimits,
): Uint8Array | Promise<Uint8Array> {
  if (limits.isFile && codings.length === 0) return bytes;
  if (bytes.length === 0) throw new GatewayError("invalid_request", `The body is empty: expected ${expected}`);
  if (codings.length === 0 && !FIRST_BYTES.has(bytes[0]!)) return bytes;
  const applied = codings.length > 0 ? codings.toReversed() : sniffCodings(bytes);
  if (applied.length === 0) return bytes;
  return import("./decompress.ts").then(({ decompressBody }) => decompressBody(bytes, applied, limits));
}

/** Work on a body of this size takes far less time than a slice. */
export const SHORT_BYTES = SHORT_TEXT;
/** The size that fits into the first packets of a connection. */
export const UNCOUNTED_BYTES = 2 ** 14;
/** Larger bodies are worked on one at a time: each takes milliseconds and several times its size in memory. */
export const LARGE_BYTES = 2 ** 20;

/** A small body arrives all at once. Reading it as a stream takes three times as long and makes more garbage. */
function readAtOnce(request: Request, announced: Announced, limits: BodyLimits): Promise<Uint8Array> {
  const { timeoutMs, stallMs = STALL_MS, onLength, uncountedBytes = -1 } = limits;
  const mostMs = Math.min(timeoutMs, stallMs);
  const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>();
  const limit = new TimeLimit(mostMs, () => {
    reject(new GatewayError("request_timeout", `Cannot read the body: it took longer than ${mostMs / 1000} s`));
  });
  request.bytes().then((bytes) => {
    limit.cancel();
    resolve(bytes);
  }, (cause) => {
    limit.cancel();
    reject(broken(cause));
  });
  return promise.then((bytes) => {
    if (bytes.length > uncountedBytes) onLength?.(bytes.length);
    return unpack(bytes, announced, limits);
  });
}

const TRUSTED_BYTES = 2 ** 20;
const LARGEST_READ = 2 ** 16;
const STALL_MS = 30_000;

async function readPieces(
  body: ReadableStream<Uint8Array> | null,
  announced: Announced,
  limits: BodyLimits,
): Promise<Uint8Array> {
  const { declared } = announced;
  const { limitBytes, timeoutMs, stallMs = STALL_MS, trustedBytes = TRUSTED_BYTES, arrival = {} } = limits;
  const { onLength, uncountedBytes = -1 } = limits;
  const expectedBytes = Math.min(Math.max(declared, 0), trustedBytes);
  if (!body) return unpack(new Uint8Array(), announced, limits);
  const reader = new ByteReader(body, Math.min(Math.max(declared, 1_024), LARGEST_READ));
  const stop = () => reader.cancel().catch(() => {}); // a failure of the sender does not matter any more
  let late: string | undefined;
  const end = (reason: string) => {
    late = reason;
    stop();
  };
  arrival.end = end;
  const watch = watchArrival(timeoutMs, stallMs, end);
  try {
    let first: Uint8Array | undefined;
    let more: ByteBuffer | undefined;
    for (let length = 0;;) {
      watch.since = performance.now();
      let value: Uint8Array | undefined;
      try {
        value = await reader.read();
      } catch (cause) {
        throw broken(cause);
      }
      if (late) throw new GatewayError("request_timeout", `Cannot read the body: ${late}`);
      if (!value) return unpack(more?.take() ?? first ?? new Uint8Array(), announced, limits);
      length += value.length;
      try {
        if (length > limitBytes) throw tooLarge("body", limitBytes);
        if (length > uncountedBytes) onLength?.(length);
      } catch (refusal) {
        stop();
        throw refusal;
      }
      // Most bodies are a single piece. The reader uses its memory again.
      if (!first) first = value.slice();
      else {
        if (!more) (more = new ByteBuffer(expectedBytes, limitBytes)).append(first);
        more.append(value);
      }
    }
  } finally {
    arrival.end = undefined;
    watch.first.cancel();
    if (watch.next !== undefined) clearTimeout(watch.next);
  }
}

function broken(cause: unknown): GatewayError {
  return new GatewayError("client_closed", "The client disconnected while sending the body", { cause });
}

interface ArrivalWatch {
  /** When the wait for the next piece began. */
  since: number;
  /** The limit that ends before any other, and the timer that follows it. Most bodies arrive before that. */
  first: TimeLimit;
  next?: ReturnType<typeof setTimeout>;
}

/**
 * Calls `onLate` with a reason if no data arrives for `stallMs` after a wait began, or if everything takes longer than
 * `timeoutMs`.
 */
function watchArrival(timeoutMs: number, stallMs: number, onLate: (reason: string) => void): ArrivalWatch {
  const deadline = performance.now() + timeoutMs;
  const look = () => {
    const now = performance.now();
    const [stallLeft, left] = [watch.since + stallMs - now, deadline - now];
    if (left <= 0) onLate(`it took longer than ${timeoutMs / 1000} s`);
    else if (stallLeft <= 0) onLate(`nothing came for ${stallMs / 1000} s`);
    else watch.next = setTimeout(look, Math.min(stallLeft, left));
  };
  const watch: ArrivalWatch = { since: 0, first: new TimeLimit(Math.min(stallMs, timeoutMs), look) };
  return watch;
}

const lenientDecoder = new TextDecoder();
const strictDecoder = new TextDecoder("utf-8", { fatal: true });

/** Decodes UTF-8. The strict decoder is several times slower, so it runs only if the lenient one replaced something. */
export function decodeText(bytes: Uint8Array): string {
  const text = lenientDecoder.decode(bytes);
  if (!text.includes("\uFFFD")) return text;
  try {
    return strictDecoder.decode(bytes);
  } catch {
    throw new GatewayError("invalid_request", "The body is not valid UTF-8");
  }
}

function parseJson(given: string, hasLongNumbers: boolean): unknown {
  const text = given.includes("\\ud") || given.includes("\\uD") ? replaceHalves(given) : given;
  try {
    return hasLongNumbers ? parseExactly(text) : JSON.parse(text);
  } catch (error) {
    // The engine's message quotes the body, so neither it nor the error is passed on.
    const stated = / at position (\d+) \(line \d+ column \d+\)$/.exec(String(error))?.[1];
    const position = stated === undefined ? findMissingValue(text) : Number(stated);
    const found = position < text.length ? "character" : "end";
    throw new GatewayError("invalid_request", `The body is not JSON: unexpected ${found} at position ${position}`);
  }
}
