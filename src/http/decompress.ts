/** Decompresses bodies. The result is limited, because 96 bytes can stand for 31 MB. */
import { builtin, hasBuiltin } from "../util/builtin.ts";
import { runExclusively, waitToBegin, yieldToEventLoop } from "../util/sliced_work.ts";
import { GatewayError } from "../errors.ts";
import { tooLarge } from "./size.ts";

/** The content-encodings that can be undone. */
export type Coding = "gzip" | "x-gzip" | "br" | "zstd" | "deflate";

type Decompress = (bytes: Uint8Array, options: { maxOutputLength: number; params?: object }) => Promise<Uint8Array>;

/** A body may become as large as this, or as this many times its size. An agent that reads one file again and again gets close. */
const [FREE_BYTES, MOST_TIMES] = [4 * 2 ** 20, 1_000];

/** Most bodies stay below `FIRST_BYTES`, so that they need no turn. Each further try reserves `MORE_TIMES` as much room. */
const [FIRST_BYTES, MORE_TIMES] = [2 ** 19, 8];

interface DecompressLimits {
  /** The size limit in bytes after each decompression. */
  limitBytes: number;
  /** Receives the size that a decompression may lead to, and the one that it led to. If it throws, nothing is decompressed. */
  onLength?(bytes: number): void;
  caller?: string;
}

/**
 * Undoes the codings one after another. Throws `request_too_large`, `invalid_request` if the body is corrupt, and what `onLength`
 * throws.
 */
export async function decompressBody(
  sent: Uint8Array,
  codings: readonly Coding[],
  { limitBytes, onLength, caller = "" }: DecompressLimits,
): Promise<Uint8Array> {
  const most = Math.min(limitBytes, Math.max(FREE_BYTES, MOST_TIMES * sent.length));
  if (!hasBuiltin("node:zlib")) {
    const message = `Cannot read content-encoding "${codings[0]}" on this runtime: send the body uncompressed`;
    throw new GatewayError("unsupported_media_type", message);
  }
  let bytes = sent;
  const turn = waitToBegin(caller, FIRST_BYTES);
  if (turn) await turn;
  for (const coding of codings) {
    const packed = bytes;
    const unpacked = await decompress(packed, coding, Math.min(FIRST_BYTES, most)) ??
      await runExclusively(caller, () => decompressLarge(packed, coding, most, onLength));
    if (!unpacked) throw most === limitBytes ? tooLarge("decompressed body", limitBytes) : tooDense(sent.length);
    bytes = unpacked;
    onLength?.(bytes.length);
  }
  return bytes;
}

/** The size is unknown until it is decompressed, so the room for what it may become is reserved before. */
async function decompressLarge(
  packed: Uint8Array,
  coding: Coding,
  most: number,
  onLength: DecompressLimits["onLength"],
): Promise<Uint8Array | undefined> {
  for (let bytes = FIRST_BYTES; bytes < most;) {
    bytes = Math.min(MORE_TIMES * bytes, most);
    onLength?.(bytes);
    const unpacked = await decompress(packed, coding, bytes);
    await yieldToEventLoop();
    if (unpacked) return unpacked;
  }
  return undefined;
}

/** Only asynchronous functions: the synchronous brotli of Deno 2.9 takes corrupt input for empty output. */
const DECOMPRESS: Readonly<Record<Coding, Decompress>> = {
  gzip: by("gunzip"),
  "x-gzip": by("gunzip"),
  br: by("brotliDecompress"),
  zstd: unzstd,
  deflate: inflateAny,
};

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

/** `undefined` if it is more than `mostBytes`. */
async function decompress(bytes: Uint8Array, coding: Coding, mostBytes: number): Promise<Uint8Array | undefined> {
  try {
    return await DECOMPRESS[coding](bytes, { maxOutputLength: mostBytes });
  } catch (cause) {
    if (cause instanceof Error && "code" in cause && cause.code === "ERR_BUFFER_TOO_LARGE") return undefined;
    throw new GatewayError("invalid_request", `Cannot decompress the body: not valid ${coding}`, { cause });
  }
}

function tooDense(bytes: number): GatewayError {
  const message = `The body decompresses to more than ${MOST_TIMES} times its ${bytes} bytes: send it uncompressed`;
  return new GatewayError("request_too_large", message);
}
