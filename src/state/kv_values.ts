/** Values of any length in a database that limits their length. A value has a head, and chunks if it is long. */
import { builtin } from "../util/builtin.ts";
import { parseExactly } from "../canonical/raw_number.ts";
import type { StoreKey } from "./store.ts";

/** The most bytes that the database takes as one value. */
export const CHUNK_BYTES = 65_536;
/** A value up to this length is in its head. The head's other fields need the rest of one value of the database. */
export const INLINE_BYTES = 64_000;

/** The entry under a value's key. It has the bytes of a short value, or else the id and the number of the chunks. */
export interface Head {
  expiresAt: number;
  text?: Uint8Array<ArrayBuffer>;
  id: string;
  chunks: number;
}

/** A value as it is written: the chunks first, the head last. */
export interface Written {
  key: Deno.KvKey;
  head: Head;
  chunks: Deno.KvMutation[];
  /** The length of the encoded value. */
  bytes: number;
}

/** How values are encoded as bytes. */
export interface Form {
  toBytes(value: unknown): Uint8Array<ArrayBuffer>;
  fromBytes(bytes: Uint8Array<ArrayBuffer>): unknown;
}

/** Encodes values as JSON in UTF-8. */
export const AS_JSON: Form = {
  toBytes: (value) => new TextEncoder().encode(JSON.stringify(value)),
  fromBytes: (bytes) => parseExactly(DECODER.decode(bytes)),
};

/** `expireIn`: in milliseconds. Absent if the value is kept for good. */
export function writtenAs(
  key: StoreKey,
  bytes: Uint8Array<ArrayBuffer>,
  expiresAt: number,
  expireIn?: number,
): Written {
  const id = crypto.randomUUID();
  const chunks = bytes.length > INLINE_BYTES ? chunksOf(id, bytes, expireIn) : [];
  const head: Head = { expiresAt, id, chunks: chunks.length, ...(chunks.length === 0 && { text: bytes }) };
  return { key: headKey(key), head, chunks, bytes: bytes.length };
}

/** The mutations that keep the chunks of a head for another `expireIn` milliseconds. */
export async function chunksAnew(kv: Deno.Kv, { id, chunks }: Head, expireIn: number): Promise<Deno.KvMutation[]> {
  if (chunks === 0) return [];
  const entries = kv.list<Uint8Array<ArrayBuffer>>({ prefix: ["laneway", "chunk", id] });
  return await Array.fromAsync(entries, ({ key, value }): Deno.KvMutation => ({ type: "set", key, value, expireIn }));
}

/** The value of a head. Absent if some of its chunks are missing. */
export async function readValue(kv: Deno.Kv, form: Form, { text, id, chunks }: Head): Promise<unknown> {
  if (text) return form.fromBytes(text);
  const entries = kv.list<Uint8Array<ArrayBuffer>>({ prefix: ["laneway", "chunk", id] });
  const parts = await Array.fromAsync(entries, ({ value }) => value);
  return parts.length === chunks ? form.fromBytes(await new Blob(parts).bytes()) : undefined;
}

const DECODER = new TextDecoder(undefined, { ignoreBOM: true });

/** Keys are hashed, because the database limits their length. */
export function headKey(key: StoreKey): Deno.KvKey {
  const position = key.at(-1);
  return typeof position === "number"
    ? [...listKey(key.slice(0, -1)), position]
    : ["laneway", "value", builtin("node:crypto").hash("sha256", JSON.stringify(key), "hex")];
}

/** The prefix of the keys of a list's positions. */
export function listKey(list: StoreKey): Deno.KvKey {
  return ["laneway", "list", builtin("node:crypto").hash("sha256", JSON.stringify(list), "hex")];
}

/** The mutations that remove a value's chunks. */
export function removals(head: Head | null): Deno.KvMutation[] {
  return Array.from({ length: head?.chunks ?? 0 }, (_, index) => ({
    type: "delete",
    key: chunkKey(head!.id, index),
  }));
}

function chunkKey(id: string, index: number): Deno.KvKey {
  return ["laneway", "chunk", id, index];
}

function chunksOf(id: string, bytes: Uint8Array<ArrayBuffer>, expireIn?: number): Deno.KvMutation[] {
  return Array.from({ length: Math.ceil(bytes.length / CHUNK_BYTES) }, (_, index): Deno.KvMutation => ({
    type: "set",
    key: chunkKey(id, index),
    value: bytes.subarray(index * CHUNK_BYTES, (index + 1) * CHUNK_BYTES),
    ...(expireIn !== undefined && { expireIn }),
  }));
}
