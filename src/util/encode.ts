/** The memory that small texts share, in bytes. A text that nobody has read yet keeps all of it alive. */
const POOL_BYTES = 4_096;
/** What a character takes at most in UTF-8, in bytes for each UTF-16 unit. */
const MOST_PER_UNIT = 3;

const encoder = new TextEncoder();
let pool = new Uint8Array(POOL_BYTES);
let used = 0;

/**
 * The text in UTF-8. Memory of its own costs a short text three times as much as to encode it (Deno 2.9.6), so short ones share
 * some. Nobody changes or transfers the bytes.
 */
export function encodeText(text: string): Uint8Array<ArrayBuffer> {
  const most = MOST_PER_UNIT * text.length;
  if (most > POOL_BYTES) return encoder.encode(text);
  if (most > POOL_BYTES - used) {
    pool = new Uint8Array(POOL_BYTES);
    used = 0;
  }
  const { written } = encoder.encodeInto(text, pool.subarray(used));
  return pool.subarray(used, used += written);
}
