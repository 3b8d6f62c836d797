import type { Extra } from "../canonical/extra.ts";
import type { ToolKind } from "../canonical/generate.ts";
import { isJsonText, parseJson } from "../canonical/json.ts";
import { unwrapCustomInput } from "./custom_tool.ts";

/** What an upstream adds to one tool call; any of it may come late, or never. */
export interface ToolCallDelta {
  kind?: ToolKind;
  id?: string;
  name?: string;
  input?: string;
  extra?: Extra;
}

/** One tool call of which the upstream has not sent all, or of which not all is out. */
export class PendingCall {
  readonly key: string;
  kind: ToolKind;
  id?: string;
  name?: string;
  extra?: Extra;
  /** What the model wrote so far, and the end of it that is not out yet. */
  input = "";
  unsent = "";
  /** Nothing more comes from the upstream. */
  over = false;
  /** The last characters of what the model wrote. */
  #tail = "";
  /** Whether the input is JSON, as far as it was looked at: it is read once for each length. */
  #read = { length: 0, isJson: false };
  /** Whether it begins as a JSON text does, once it has begun. */
  #quoted?: boolean;
  /** The piece that came last, as long as each began with all of the one before it; and whether there are two such pieces. */
  #grown: string | undefined = "";
  #repeats = false;

  constructor(key: string, kind: ToolKind) {
    this.key = key;
    this.kind = kind;
  }

  /** Takes what the upstream adds. `nameOf` gives the client's name for the upstream's. */
  add({ id, name, input, extra }: ToolCallDelta, nameOf: (name: string) => string): void {
    this.id ||= id;
    if (name) this.name ||= nameOf(name);
    this.extra ??= extra;
    if (!input || this.over) return;
    // Joined only where all of it is asked for: to look into a text that grows takes as long as to copy it.
    this.input += input;
    this.unsent += input;
    this.#tail = input.length < TAIL ? (this.#tail + input).slice(-TAIL) : input.slice(-TAIL);
    if (this.#quoted === undefined) {
      const begun = input.trimStart();
      if (begun !== "") this.#quoted = begun.startsWith('"');
    }
    if (this.#grown !== undefined) this.#compareWithLast(input);
  }

  /** Whether the arguments are whole. */
  isWhole(): boolean {
    if (this.#read.length === this.input.length) return this.#read.isJson;
    if (!ENDED_VALUE.test(this.#tail)) return false;
    this.#read = { length: this.input.length, isJson: isJsonText(this.input) };
    return this.#read.isJson;
  }

  /**
   * Makes the arguments what the model meant; false where that is not known yet, and nothing may go out. `isCustom`: the function
   * stands in for a custom tool.
   */
  settle(isCustom: boolean): boolean {
    if (this.kind !== "function") return true;
    if (this.#repeats) {
      // Only its end shows whether the pieces are one text or each is all of it.
      if (!this.over) return false;
      this.#repeats = false;
      this.#takeGrown();
    }
    if (isCustom) {
      // The model's text is inside JSON, so it is known once that is whole.
      if (!this.over && !(CLOSED_TEXT.test(this.#tail) && this.isWhole())) return false;
      this.kind = "custom";
      this.input = this.unsent = unwrapCustomInput(this.input);
      this.over = true;
      return true;
    }
    if (this.#quoted) {
      // Arguments are an object. Some servers write its JSON into a JSON text, which is known once that is whole.
      if (!this.over) return false;
      this.#quoted = false;
      this.input = this.unsent = unquoted(this.input);
    }
    return true;
  }

  /** Some servers send all arguments so far with every piece. Of those that do not, next to none get past their second piece. */
  #compareWithLast(piece: string): void {
    this.#repeats = this.#grown !== "" && piece.startsWith(this.#grown!);
    this.#grown = this.#grown === "" || this.#repeats ? piece : undefined;
  }

  /** The last piece is all of the input, where it is JSON and the pieces together are none. What is out began it already. */
  #takeGrown(): void {
    const grown = this.#grown ?? "";
    if (isJsonText(this.input) || !isJsonText(grown)) return;
    const sent = this.input.length - this.unsent.length;
    this.input = grown;
    this.unsent = grown.slice(sent);
  }
}

const TAIL = 16;
/** How an object ends whose last value is a text: a bracket alone may stand in that text, and often does where it is code. */
const CLOSED_TEXT = /"\s*\}\s*$/;

/** How a JSON value may end: to look at all of a text that grows takes as long as to copy it. */
const ENDED_VALUE = /[}\]"\del]\s*$/;

/** The JSON object that is written inside a JSON text; the same where there is none. */
function unquoted(input: string): string {
  const inner = parseJson(input);
  return typeof inner === "string" && inner.trimStart().startsWith("{") && isJsonText(inner) ? inner : input;
}
