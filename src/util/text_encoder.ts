/** How many bytes texts share. A text that nobody has read yet keeps all of them alive. */
const SHARED_BYTES = 4_096;
/** What a character takes at most in UTF-8, in bytes for each UTF-16 unit. */
const MOST_PER_UNIT = 3;

const encoder = new TextEncoder();

/**
 * Encodes the texts of one stream. Memory of its own costs a short text three times as much as to encode it (Deno 2.9.6), so
 * short ones share some. Whoever gets the bytes may see those of earlier texts beside them, and must not transfer them.
 */
export class SharingEncoder {
  #shared = new Uint8Array();
  #used = 0;

  encode(text: string): Uint8Array<ArrayBuffer> {
    const most = MOST_PER_UNIT * text.length;
    if (most > SHARED_BYTES) return encoder.encode(text);
    // Where somebody has transferred them all the same, none are left.
    if (most > this.#shared.length - this.#used) {
      this.#shared = new Uint8Array(SHARED_BYTES);
      this.#used = 0;
    }
    const { written } = encoder.encodeInto(text, this.#shared.subarray(this.#used));
    return this.#shared.subarray(this.#used, this.#used += written);
  }
}
