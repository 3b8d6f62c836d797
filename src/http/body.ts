import { ByteBuffer, ByteReader } from "../util/byte_reader.ts";
import { describeExcess, findStringEnd, JSON_LIMITS, type JsonLimits, scan } from "../canonical/json_limits.ts";
import { parseExactly } from "../canonical/raw_number.ts";
import { builtin } from "../util/builtin.ts";
import { failAfter } from "../util/timeout.ts";
import { finish, type Work } from "../util/work.ts";
import { GatewayError } from "../errors.ts";

export interface BodyLimits {
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
  /** Receives the size in bytes so far, as sent and after each decompression. If it throws, reading ends. */
  onLength?(bytes: number): void;
  /** How much JSON the body may contain. */
  json?: JsonLimits;
  /** Receives all bytes after decompression. */
  copy?: { add(bytes: Uint8Array, isOurs: boolean): void };
}

type Decompress = (bytes: Uint8Array, options: { maxOutputLength: number; params?: object }) => Promise<Uint8Array>;

/**
 * Reads, decompresses and parses a JSON body of any type. Throws `request_too_large`, `request_timeout`,
 * `unsupported_media_type` (an unsupported content-encoding), `client_closed`, or `invalid_request` with a message that quotes
 * nothing from the body.
 */
export async function readJsonBody(request: Request, limits: BodyLimits): Promise<unknown> {
  const bytes = await readBody(request, "a JSON object", limits);
  limits.copy?.add(bytes, true);
  return await finish(parseBody(bytes, limits.json));
}

/** Parses JSON. Throws `invalid_request`. */
export function* parseBody(body: Uint8Array | string, limits = JSON_LIMITS): Work<unknown> {
  const text = typeof body === "string" ? body : decodeText(body);
  yield;
  // Checked before parsing, because 89 compressed bytes can describe ten million objects.
  const { excess, hasLongNumbers } = yield* scan(text, limits);
  if (excess) throw new GatewayError("invalid_request", `The body ${describeExcess(excess, limits)}`);
  yield;
  const value = parseJson(text, hasLongNumbers);
  yield;
  return value;
}

/** The whole body after decompression. `expected` describes what an empty body should have been. */
export async function readBody(
  request: Request,
  expected: string,
  limits: BodyLimits,
): Promise<Uint8Array> {
  const { limitBytes } = limits;
  const declared = Number(request.headers.get("content-length"));
  if (declared > limitBytes) throw tooLarge("body", limitBytes);
  const codings = parseCodings(request.headers.get("content-encoding"));

  // A chunked body has no reliable length.
  const isKnown = limits.isServed && !request.headers.has("transfer-encoding");
  const isSmall = isKnown && declared > 0 && declared <= SMALL_BYTES;
  let bytes = isSmall ? await readAtOnce(request, limits) : await readPieces(request.body, declared, limits);
  if (isSmall) limits.onLength?.(bytes.length);
  if (bytes.length === 0) throw new GatewayError("invalid_request", `The body is empty: expected ${expected}`);
  for (const coding of codings.length > 0 ? codings.toReversed() : sniffCodings(bytes)) {
    bytes = await inTurn(() => decompress(bytes, coding, limitBytes));
    limits.onLength?.(bytes.length);
  }
  return bytes;
}

/** The size that fits into the first packets of a connection. */
const SMALL_BYTES = 2 ** 14;

/** A small body arrives all at once. Reading it as a stream takes three times as long and makes more garbage. */
function readAtOnce(request: Request, { timeoutMs, stallMs = STALL_MS }: BodyLimits): Promise<Uint8Array> {
  const mostMs = Math.min(timeoutMs, stallMs);
  return failAfter(
    mostMs,
    request.bytes().catch(disconnected),
    () => new GatewayError("request_timeout", `Cannot read the body: it took longer than ${mostMs / 1000} s`),
  );
}

const TRUSTED_BYTES = 2 ** 20;
const LARGEST_READ = 2 ** 16;
const STALL_MS = 30_000;

async function readPieces(
  body: ReadableStream<Uint8Array> | null,
  declared: number,
  { limitBytes, timeoutMs, stallMs = STALL_MS, trustedBytes = TRUSTED_BYTES, onLength }: BodyLimits,
): Promise<Uint8Array> {
  if (!body) return new Uint8Array();
  const reader = new ByteReader(body, Math.min(Math.max(declared, 1_024), LARGEST_READ));
  const stop = () => reader.cancel().catch(() => {}); // a failure of the sender does not matter any more
  let late: string | undefined;
  const arrival = watchArrival(timeoutMs, stallMs, (reason) => {
    late = reason;
    stop();
  });
  try {
    const buffer = new ByteBuffer(Math.min(Math.max(declared, 0), trustedBytes), limitBytes);
    while (true) {
      arrival.wait();
      const value = await reader.read().catch(disconnected);
      if (late) throw new GatewayError("request_timeout", `Cannot read the body: ${late}`);
      if (!value) return buffer.take();
      if (buffer.length + value.length > limitBytes) {
        stop();
        throw tooLarge("body", limitBytes);
      }
      try {
        onLength?.(buffer.length + value.length);
      } catch (refusal) {
        stop();
        throw refusal;
      }
      buffer.append(value);
    }
  } finally {
    arrival.end();
  }
}

function disconnected(cause: unknown): never {
  throw new GatewayError("client_closed", "The client disconnected while sending the body", { cause });
}

/**
 * Calls `onLate` with a reason if no data arrives for `stallMs` after a wait began, or if everything takes longer than
 * `timeoutMs`.
 */
function watchArrival(timeoutMs: number, stallMs: number, onLate: (reason: string) => void) {
  const deadline = performance.now() + timeoutMs;
  let since = 0;
  // A single timer that checks the clock when it fires. Most bodies arrive before that.
  const arm = (ms: number): ReturnType<typeof setTimeout> =>
    setTimeout(() => {
      const now = performance.now();
      const [stallLeft, left] = [since + stallMs - now, deadline - now];
      if (left <= 0) onLate(`it took longer than ${timeoutMs / 1000} s`);
      else if (stallLeft <= 0) onLate(`nothing came for ${stallMs / 1000} s`);
      else timer = arm(Math.min(stallLeft, left));
    }, ms);
  let timer = arm(Math.min(stallMs, timeoutMs));
  return {
    wait: () => void (since = performance.now()),
    end: () => clearTimeout(timer),
  };
}

/** Only asynchronous functions: the synchronous brotli of Deno 2.9 takes corrupt input for empty output. */
const DECOMPRESS: ReadonlyMap<string, Decompress> = new Map<string, Decompress>([
  ["gzip", by("gunzip")],
  ["x-gzip", by("gunzip")],
  ["br", by("brotliDecompress")],
  ["zstd", unzstd],
  ["deflate", inflateAny],
]);

function by(name: "gunzip" | "brotliDecompress" | "inflate" | "inflateRaw" | "zstdDecompress"): Decompress {
  return (bytes, options) => builtin("node:util").promisify(builtin("node:zlib")[name] as CallbackForm)(bytes, options);
}

type CallbackForm = (
  bytes: Uint8Array,
  options: object,
  callback: (error: Error | null, result: Uint8Array) => void,
) => void;

/** A frame may need a window of 128 MiB, but as a content-encoding the standard (RFC 9659) allows only 8 MiB. */
function unzstd(bytes: Uint8Array, options: { maxOutputLength: number }): Promise<Uint8Array> {
  const params = { [builtin("node:zlib").constants.ZSTD_d_windowLogMax]: 23 };
  return by("zstdDecompress")(bytes, { ...options, params });
}

/** `deflate` means zlib's format in the standard and often raw deflate in practice. Only a zlib header starts with method 8. */
function inflateAny(bytes: Uint8Array, options: { maxOutputLength: number }): Promise<Uint8Array> {
  return by((bytes[0]! & 0x0f) === 8 ? "inflate" : "inflateRaw")(bytes, options);
}

const MAX_CODINGS = 3;

/** The encodings of the body, in the order in which they were applied. */
function parseCodings(header: string | null): string[] {
  const codings = (header ?? "").toLowerCase().split(",").map((coding) => coding.trim())
    .filter((coding) => coding !== "" && coding !== "identity");
  const unknown = codings.find((coding) => !DECOMPRESS.has(coding));
  if (unknown !== undefined) {
    throw new GatewayError(
      "unsupported_media_type",
      `Cannot read content-encoding "${unknown.slice(0, 32)}": send gzip, br, zstd, deflate or identity`,
    );
  }
  if (codings.length > MAX_CODINGS) {
    throw new GatewayError("unsupported_media_type", `Cannot decode more than ${MAX_CODINGS} content-encodings`);
  }
  return codings;
}

/** Some proxies drop the header. JSON never starts with these bytes. */
function sniffCodings([first, second, third, fourth]: Uint8Array): string[] {
  if (first === 0x1f && second === 0x8b) return ["gzip"];
  return first === 0x28 && second === 0xb5 && third === 0x2f && fourth === 0xfd ? ["zstd"] : [];
}

let last: Promise<unknown> = Promise.resolve();

/** Runs one decompression at a time, because the size of a body is unknown until it is decompressed. */
function inTurn<T>(work: () => Promise<T>): Promise<T> {
  const turn = last.then(work);
  last = turn.catch(() => {});
  return turn;
}

async function decompress(bytes: Uint8Array, coding: string, limitBytes: number): Promise<Uint8Array> {
  try {
    return await DECOMPRESS.get(coding)!(bytes, { maxOutputLength: limitBytes });
  } catch (cause) {
    if (cause instanceof Error && "code" in cause && cause.code === "ERR_BUFFER_TOO_LARGE") {
      throw tooLarge("decompressed body", limitBytes);
    }
    throw new GatewayError("invalid_request", `Cannot decompress the body: not valid ${coding}`, { cause });
  }
}

export function tooLarge(what: string, limitBytes: number): GatewayError {
  const limit = limitBytes < 2 ** 20
    ? `${limitBytes} bytes`
    : `${Number((limitBytes / 2 ** 20).toFixed(1))} MiB (${limitBytes} bytes)`;
  return new GatewayError("request_too_large", `The ${what} is larger than the limit of ${limit}`);
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

function parseJson(text: string, hasLongNumbers: boolean): unknown {
  try {
    return hasLongNumbers ? parseExactly(text) : JSON.parse(text);
  } catch (error) {
    // The engine's message quotes the body, so neither it nor the error is passed on.
    const stated = / at position (\d+) \(line \d+ column \d+\)$/.exec(String(error))?.[1];
    const position = stated === undefined ? findNoValue(text) : Number(stated);
    const found = position < text.length ? "character" : "end";
    throw new GatewayError("invalid_request", `The body is not JSON: unexpected ${found} at position ${position}`);
  }
}

const SCALAR = /-?\d[\d.eE+-]*|true|false|null/y;

/** The position at which a value is missing. For this mistake the engine reports no position. */
function findNoValue(text: string): number {
  let before: string | undefined = ",";
  for (let at = 0; at < text.length; at++) {
    const char = text[at];
    switch (char) {
      case " ":
      case "\t":
      case "\n":
      case "\r":
        continue;
      case "[":
      case "{":
        break;
      case "]":
      case "}":
      case ",":
      case ":":
        if (before === "," || before === ":" || (before === "[" && char !== "]")) return at;
        break;
      case '"':
        at = findStringEnd(text, at);
        break;
      default:
        SCALAR.lastIndex = at;
        if (!SCALAR.test(text)) return at;
        at = SCALAR.lastIndex - 1;
    }
    before = char;
  }
  return text.length;
}
