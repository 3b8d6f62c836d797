/** Most frames of a stream are like the one before but for the text that they bring: such a text is all that has to be read. */

/** After so many frames that were like none before, a stream is taken to be of another kind: each of them cost something. */
const MOST_IN_VAIN = 20;

/** Finds the frames of one stream that differ from those before in one text alone. */
export class AlikeFrames {
  /** What stands before and after the text. */
  #before = "";
  #after = "";
  /** How many frames in a row were like that. */
  #count = 0;
  #inVain = 0;

  /**
   * The text that the JSON brings, where it is otherwise the same as that of the last two frames. One is not enough: a second of
   * a kind may still say something, such as that an id names an answer because it came again.
   */
  textIn(json: string): string | undefined {
    if (this.#count < 2) return undefined;
    const text = this.#hole(json);
    if (text !== undefined) this.#inVain = 0;
    return text;
  }

  /** The last frame, and the text that was all it brought; none where it brought anything else. */
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
    // Where a letter may be escaped, the text may stand elsewhere in another spelling.
    const isSure = !this.#before.includes("\\") && !this.#after.includes("\\");
    if (isSure) this.#count = 1;
  }

  /** The text in the place of the one that was learned. */
  #hole(json: string): string | undefined {
    const end = json.length - this.#after.length;
    if (end <= this.#before.length || !json.startsWith(this.#before) || !json.endsWith(this.#after)) return undefined;
    try {
      const text: unknown = JSON.parse(json.slice(this.#before.length, end));
      return typeof text === "string" ? text : undefined;
    } catch {
      return undefined;
    }
  }
}
