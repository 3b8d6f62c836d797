/** A value as a server keeps it: a head of a fixed length, then the JSON text, compressed where that makes it shorter. */
import { parseExactly } from "../../canonical/raw_number.ts";
import { builtin } from "../../util/builtin.ts";
import { Slice, yieldToEventLoop } from "../../util/sliced_work.ts";

/** The digits of `expiresAt`, which scripts read. */
export const EXPIRY_BYTES = 16;
const STAMP_BYTES = 12;
/** What a record begins with. No two records of one key have the same, so that it says which one is there. */
export const HEAD_BYTES = EXPIRY_BYTES + STAMP_BYTES;

/** The form of what follows the head. */
const PLAIN = 0x6a;
const PACKED = 0x7a;

/** Shorter texts gain little. */
const LEAST_PACKED = 1_024;
/** A piece takes a few milliseconds, and between two of them others have a turn. */
const PIECE_BYTES = 262_144;
/** Before each piece: its length, and that of the text in it. The decoder says nothing of a piece that is cut. */
const LENGTHS_BYTES = 8;

/** The first bytes of a record. `expiresAt`: milliseconds since the epoch. */
export function expiryOf(expiresAt: number): string {
  return String(Math.min(Math.ceil(expiresAt), Number.MAX_SAFE_INTEGER)).padStart(EXPIRY_BYTES, "0");
}

/** `expiresAt`: milliseconds since the epoch. */
export async function writeRecord(value: unknown, expiresAt: number): Promise<Uint8Array> {
  const { Buffer } = builtin("node:buffer");
  const stamp = builtin("node:crypto").randomBytes(9).toString("base64url");
  const text = Buffer.from(JSON.stringify(value));
  const packed = text.length < LEAST_PACKED ? undefined : await pack(text);
  const form = packed ? PACKED : PLAIN;
  return Buffer.concat([Buffer.from(expiryOf(expiresAt) + stamp), Buffer.of(form), ...(packed ?? [text])]);
}

/** The pieces; nothing where they are no shorter. */
async function pack(text: Uint8Array): Promise<Uint8Array[] | undefined> {
  const { zstdCompressSync } = builtin("node:zlib");
  const pieces: Uint8Array[] = [];
  const slice = new Slice();
  let size = 0;
  for (let at = 0; at < text.length; at += PIECE_BYTES) {
    const plain = text.subarray(at, at + PIECE_BYTES);
    const piece = zstdCompressSync(plain);
    const lengths = new DataView(new ArrayBuffer(LENGTHS_BYTES));
    lengths.setUint32(0, piece.length);
    lengths.setUint32(4, plain.length);
    pieces.push(new Uint8Array(lengths.buffer), piece);
    size += LENGTHS_BYTES + piece.length;
    if (slice.isOver()) await yieldToEventLoop();
  }
  return size < text.length ? pieces : undefined;
}

/** The value, unless it has expired at `now`. */
export async function readRecord(record: Uint8Array | null, now: number): Promise<unknown> {
  if (!record || Number(DECODER.decode(record.subarray(0, EXPIRY_BYTES))) <= now) return undefined;
  const body = record.subarray(HEAD_BYTES + 1);
  const form = record[HEAD_BYTES];
  if (form === PLAIN) return parseExactly(DECODER.decode(body));
  if (form === PACKED) return parseExactly(await unpack(body));
  throw new Error(`Cannot read a stored value of form ${form}: a later version may have written it`);
}

async function unpack(body: Uint8Array): Promise<string> {
  const { zstdDecompressSync } = builtin("node:zlib");
  const view = new DataView(body.buffer, body.byteOffset, body.byteLength);
  const decoder = new TextDecoder(undefined, { ignoreBOM: true });
  const slice = new Slice();
  let text = "";
  for (let at = 0; at < body.length;) {
    const from = at + LENGTHS_BYTES;
    // What somebody else has put there must not fill the memory.
    const plain = zstdDecompressSync(body.subarray(from, from + view.getUint32(at)), { maxOutputLength: PIECE_BYTES });
    if (plain.length !== view.getUint32(at + 4)) throw new Error("A stored value is incomplete");
    text += decoder.decode(plain, { stream: true });
    at = from + view.getUint32(at);
    if (slice.isOver()) await yieldToEventLoop();
  }
  return text + decoder.decode();
}

const DECODER = new TextDecoder(undefined, { ignoreBOM: true });
