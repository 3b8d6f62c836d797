import { isJsonText } from "./json.ts";

/** The longest number or word, with the blanks around it, that counts as the argument of a call, in characters. */
const LONGEST_SCALAR = 400;

const [SPACE, LINE_FEED, RETURN, TAB] = [0x20, 0x0a, 0x0d, 0x09];
const [QUOTE, BACKSLASH, BRACKET, BRACKET_END, BRACE, BRACE_END] = [0x22, 0x5c, 0x5b, 0x5d, 0x7b, 0x7d];

/**
 * Tells whether a text that arrives in pieces is one complete JSON value so far. Each character is read only once. Otherwise a
 * long text would be parsed again after every piece, and an upstream decides how small the pieces are.
 */
export class GrowingJson {
  #state: "blank" | "scalar" | "open" | "closed" | "no JSON" = "blank";
  /** The number of open lists and objects. */
  #depth = 0;
  #isInString = false;
  #isEscaped = false;
  /** The length of all pieces. */
  #length = 0;
  /** Whether the closed value was found to be valid. */
  #isValid = false;

  /** The state after a first piece. */
  static of(text: string): GrowingJson {
    const json = new GrowingJson();
    json.add(text);
    return json;
  }

  /** Adds a piece. */
  add(piece: string): void {
    this.#length += piece.length;
    for (let at = 0; at < piece.length && this.#state !== "no JSON"; at++) {
      if (this.#isInString) at = this.#passString(piece, at);
      else this.#read(piece.charCodeAt(at));
    }
  }

  /** Whether the text is complete. `text`: all pieces, which need not be joined in memory, because the text is seldom read. */
  isComplete(text: string): boolean {
    if (this.#state === "scalar") return this.#length <= LONGEST_SCALAR && isJsonText(text);
    if (this.#state !== "closed") return false;
    this.#isValid ||= isJsonText(text);
    // No further piece can make it valid.
    if (!this.#isValid) this.#state = "no JSON";
    return this.#isValid;
  }

  #read(code: number): void {
    if (isBlank(code)) return;
    if (this.#state === "closed") this.#state = "no JSON";
    if (this.#state === "blank") this.#state = opens(code) ? "open" : "scalar";
    if (this.#state !== "open") return;
    if (code === QUOTE) this.#isInString = true;
    else if (code === BRACE || code === BRACKET) this.#depth++;
    else if ((code === BRACE_END || code === BRACKET_END) && --this.#depth === 0) this.#state = "closed";
  }

  /** The position of the last character of the string in this piece. */
  #passString(piece: string, from: number): number {
    for (let at = from; at < piece.length; at++) {
      const code = piece.charCodeAt(at);
      if (this.#isEscaped) this.#isEscaped = false;
      else if (code === BACKSLASH) this.#isEscaped = true;
      else if (code === QUOTE) {
        this.#isInString = false;
        if (this.#depth === 0) this.#state = "closed";
        return at;
      }
    }
    return piece.length;
  }
}

function opens(code: number): boolean {
  return code === QUOTE || code === BRACKET || code === BRACE;
}

function isBlank(code: number): boolean {
  return code === SPACE || code === LINE_FEED || code === RETURN || code === TAB;
}
