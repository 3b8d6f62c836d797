import { ByteBuffer, ByteReader } from "../util/byte_reader.ts";
import { describeExcess, findStringEnd, JSON_LIMITS, type JsonLimits, scan } from "../canonical/json_limits.ts";
import { parseExactly } from "../canonical/raw_number.ts";
import { builtin } from "../util/builtin.ts";
import { failAfter } from "../util/timeout.ts";
import { finish, type Work } from "../util/work.ts";
import { GatewayError } from "../errors.ts";

export interface BodyLimits {
  /** The most bytes that a body may have, as sent and after each decompression. */
  limitBytes: number;
  /** How long the client may take to send it, in milliseconds. */
  timeoutMs: number;
  /** How long the client may send nothing meanwhile, in milliseconds. */
  stallMs?: number;
  /** Whether a server brought it, which lets through no more of it than its content-length. */
  isServed?: boolean;
  /** How much is set aside on the client's word alone, in bytes. */
  trustedBytes?: number;
  /** Hears how many bytes there are by now, as sent and after each decompression; what it throws ends the reading. */
  onLength?(bytes: number): void;
  /** How much JSON is made of it. */
  json?: JsonLimits;
  /** Gets all bytes, decompressed. */
  copy?: { add(bytes: Uint8Array, isOurs: boolean): void };
}

type Decompress = (bytes: Uint8Array, options: { maxOutputLength: number; params?: object }) => Promise<Uint8Array>;

/**
 * The JSON that a client sent, decompressed and parsed, of any type. Throws `request_too_large`, `request_timeout`,
 * `unsupported_media_type` (a content-encoding that we do not read), `client_closed`, or `invalid_request` whose message
 * holds nothing of the body.
 */
export async function readJsonBody(request: Request, limits: BodyLimits): Promise<unknown> {
  const bytes = await readBody(request, "a JSON object", limits);
  limits.copy?.add(bytes, true);
  return await finish(parseBytes(bytes, limits.json));
}

function* parseBytes(bytes: Uint8Array, limits = JSON_LIMITS): Work<unknown> {
  const text = decodeText(bytes);
  yield;
  // Before anything is made of it: 89 compressed bytes can tell of ten million objects.
  const { excess, hasLongNumbers } = yield* scan(text, limits);
  if (excess) throw new GatewayError("invalid_request", `The body ${describeExcess(excess, limits)}`);
  yield;
  const body = parseJson(text, hasLongNumbers);
  yield;
  return body;
}

/** All bytes of the body, decompressed. `expected` says what it should have been, where it is empty. */
export async function readBody(
  request: Request,
  expected: string,
  limits: BodyLimits,
): Promise<Uint8Array> {
  const { limitBytes } = limits;
  const declared = Number(request.headers.get("content-length"));
  if (declared > limitBytes) throw tooLarge("body", limitBytes);
  const codings = parseCodings(request.headers.get("content-encoding"));

  // Of a chunked body the length says nothing.
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

/** What fits into the first packets of a connection. */
const SMALL_BYTES = 2 ** 14;

/** A small body is there in one moment. To read it as a stream takes three times as long, and leaves the collector more to do. */
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
  const stop = () => reader.cancel().catch(() => {}); // the sender's own failure changes nothing for us
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

/** Calls `onLate` with why, where nothing comes for `stallMs` after a wait began, or all takes longer than `timeoutMs`. */
function watchArrival(timeoutMs: number, stallMs: number, onLate: (reason: string) => void) {
  const deadline = performance.now() + timeoutMs;
  let since = 0;
  // One timer, which looks at the time when it fires: most bodies are there before.
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

/** The asynchronous forms only: the synchronous brotli of Deno 2.9 takes corrupt input for empty output. */
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

/** A frame may ask for a window of 128 MiB; as a content-encoding the standard (RFC 9659) allows it 8 MiB. */
function unzstd(bytes: Uint8Array, options: { maxOutputLength: number }): Promise<Uint8Array> {
  const params = { [builtin("node:zlib").constants.ZSTD_d_windowLogMax]: 23 };
  return by("zstdDecompress")(bytes, { ...options, params });
}

/** `deflate` is zlib's format by the standard and raw deflate by habit; only a zlib header begins with method 8. */
function inflateAny(bytes: Uint8Array, options: { maxOutputLength: number }): Promise<Uint8Array> {
  return by((bytes[0]! & 0x0f) === 8 ? "inflate" : "inflateRaw")(bytes, options);
}

const MAX_CODINGS = 3;

/** What was done to the body, in the order in which it was done. */
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

/** Proxies lose the header; no JSON begins with these bytes. */
function sniffCodings([first, second, third, fourth]: Uint8Array): string[] {
  if (first === 0x1f && second === 0x8b) return ["gzip"];
  return first === 0x28 && second === 0xb5 && third === 0x2f && fourth === 0xfd ? ["zstd"] : [];
}

let last: Promise<unknown> = Promise.resolve();

/** One after the other: nobody knows how large a body will be that is not decompressed yet. */
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

function tooLarge(what: string, limitBytes: number): GatewayError {
  const limit = limitBytes < 2 ** 20
    ? `${limitBytes} bytes`
    : `${Number((limitBytes / 2 ** 20).toFixed(1))} MiB (${limitBytes} bytes)`;
  return new GatewayError("request_too_large", `The ${what} is larger than the limit of ${limit}`);
}

const lenientDecoder = new TextDecoder();
const strictDecoder = new TextDecoder("utf-8", { fatal: true });

/** The strict decoder is several times slower than the lenient one, so it runs only where that one replaced something. */
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
    // The engine's message quotes the body, so neither it nor the error goes on from here.
    const stated = / at position (\d+) \(line \d+ column \d+\)$/.exec(String(error))?.[1];
    const position = stated === undefined ? findNoValue(text) : Number(stated);
    const found = position < text.length ? "character" : "end";
    throw new GatewayError("invalid_request", `The body is not JSON: unexpected ${found} at position ${position}`);
  }
}

const SCALAR = /-?\d[\d.eE+-]*|true|false|null/y;

/** Where a value should begin and none does: the one mistake whose position the engine does not tell. */
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
