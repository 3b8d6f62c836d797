/** Most frames of a stream differ from the one before only in the text they carry. Only that text has to be parsed. */

/**
 * After this many unsuccessful attempts a stream counts as one without alike frames, because each attempt costs time.
 */
const MOST_IN_VAIN = 20;

/** Recognizes frames of a stream that differ from earlier ones only in one text. */
export class AlikeFrames {
  /** The JSON before and after the text. */
  #before = "";
  #after = "";
  /** How many frames in a row matched. */
  #count = 0;
  #inVain = 0;

  /**
   * The text in the JSON, if the rest equals that of the last two frames. One frame is not enough: a second one can
   * still add information, such as that a repeated id names the answer.
   */
  textIn(json: string): string | undefined {
    if (this.#count < 2) return undefined;
    const text = this.#hole(json);
    if (text !== undefined) this.#inVain = 0;
    return text;
  }

  /** Learns from the last frame. `text`: all that it carried; `undefined` if it carried anything else. */
  learn(json: string, text: string | undefined): void {
    if (text !== undefined && this.#count > 0 && this.#hole(json) === text) {
      this.#count++;
      return;
    }
    this.#count = 0;
    if (text !== undefined && this.#inVain < MOST_IN_VAIN) this.#begin(json, text);
  }

  #begin(json: string, text: string): void {
    this.#inVain++;
    const quoted = JSON.stringify(text);
    const at = json.indexOf(quoted);
    if (at === -1 || json.indexOf(quoted, at + 1) !== -1) return;
    this.#before = json.slice(0, at);
    this.#after = json.slice(at + quoted.length);
    // With escapes, the same text may also occur elsewhere in another spelling.
    const isSure = !this.#before.includes("\\") && !this.#after.includes("\\");
    if (isSure) this.#count = 1;
  }

  /** The text at the position that was learned. */
  #hole(json: string): string | undefined {
    const end = json.length - this.#after.length;
    const start = this.#before.length;
    // With `startsWith` and `endsWith` this took a quarter of a chunk's time (Deno 2.9.6); slices take hardly any.
    if (end <= start || json.slice(0, start) !== this.#before || json.slice(end) !== this.#after) return undefined;
    try {
      const text: unknown = JSON.parse(json.slice(start, end));
      return typeof text === "string" ? text : undefined;
    } catch {
      return undefined;
    }
  }
}
