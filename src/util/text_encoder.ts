/** The size of the buffer that texts share, in bytes. A text that has not been read yet keeps all of it alive. */
const SHARED_BYTES = 4_096;
/** The most bytes that a UTF-16 unit takes in UTF-8. */
const MOST_PER_UNIT = 3;

const encoder = new TextEncoder();

/**
 * Encodes the texts of one stream. For a short text, a buffer of its own costs three times as much as the encoding
 * (Deno 2.9.6), so short texts share one. The reader of the bytes can see earlier texts in the buffer, and must not
 * transfer it.
 */
export class SharingEncoder {
  #shared = new Uint8Array();
  #used = 0;

  encode(text: string): Uint8Array<ArrayBuffer> {
    const most = MOST_PER_UNIT * text.length;
    if (most > SHARED_BYTES) return encoder.encode(text);
    // A buffer that was transferred all the same has length 0.
    if (most > this.#shared.length - this.#used) {
      this.#shared = new Uint8Array(SHARED_BYTES);
      this.#used = 0;
    }
    const { written } = encoder.encodeInto(text, this.#shared.subarray(this.#used));
    return this.#shared.subarray(this.#used, this.#used += written);
  }
}
