import type { Extra } from "../canonical/extra.ts";
import type { ToolKind } from "../canonical/generate.ts";
import { GrowingJson } from "../canonical/growing_json.ts";
import { isJsonText, parseJson } from "../canonical/json.ts";
import { unwrapCustomInput } from "./custom_tool.ts";

/** A piece of a tool call from the upstream. Any field may come late or never. */
export interface ToolCallDelta {
  kind?: ToolKind;
  id?: string;
  name?: string;
  input?: string;
  extra?: Extra;
}

/** A tool call that has not been received or sent completely. */
export class PendingCall {
  readonly key: string;
  kind: ToolKind;
  id?: string;
  name?: string;
  extra?: Extra;
  /** The input so far, and its end that has not been sent yet. */
  input = "";
  unsent = "";
  /** Whether the upstream has sent everything. */
  over = false;
  /** The last characters of the input. */
  #tail = "";
  /** Reads the input, from when it first mattered whether that is complete. */
  #json: GrowingJson | undefined;
  /** Whether the input begins like JSON, once it has begun. */
  #quoted?: boolean;
  /**
   * The last piece, as long as each piece began with the whole piece before it; and whether there were at least two
   * such pieces.
   */
  #grown: string | undefined = "";
  #repeats = false;

  constructor(key: string, kind: ToolKind) {
    this.key = key;
    this.kind = kind;
  }

  /** Adds a piece. `nameOf` maps the upstream's tool name to the client's. */
  add({ id, name, input, extra }: ToolCallDelta, nameOf: (name: string) => string): void {
    this.id ||= id;
    if (name) this.name ||= nameOf(name);
    this.extra ??= extra;
    if (!input || this.over) return;
    // Joined only when all of it is needed: looking into a growing string copies it.
    this.input += input;
    this.unsent += input;
    this.#json?.add(input);
    this.#tail = input.length < TAIL ? (this.#tail + input).slice(-TAIL) : input.slice(-TAIL);
    if (this.#quoted === undefined) {
      const begun = input.trimStart();
      if (begun !== "") this.#quoted = begun.startsWith('"');
    }
    if (this.#grown !== undefined) this.#compareWithLast(input);
  }

  /** Whether the arguments are complete. */
  isWhole(): boolean {
    if (!this.#json && !ENDED_VALUE.test(this.#tail)) return false;
    return (this.#json ??= GrowingJson.of(this.input)).isComplete(this.input);
  }

  /**
   * Normalizes the arguments. Returns false if that is not possible yet; nothing may be sent then. `isCustom`: the
   * function is the substitute of a custom tool.
   */
  settle(isCustom: boolean): boolean {
    if (this.kind !== "function") return true;
    if (this.#repeats) {
      // Only the end shows whether the pieces form one text or each one repeats the whole.
      if (!this.over) return false;
      this.#repeats = false;
      this.#takeGrown();
    }
    if (isCustom) {
      // The text is inside JSON and is known once that is complete.
      if (!this.over && !(CLOSED_TEXT.test(this.#tail) && this.isWhole())) return false;
      this.kind = "custom";
      this.input = this.unsent = unwrapCustomInput(this.input, this.name ?? "");
      this.over = true;
      return true;
    }
    if (this.#quoted) {
      // Arguments are an object. Some servers encode it as a JSON string, which can be decoded once it is complete.
      if (!this.over) return false;
      this.#quoted = false;
      this.input = this.unsent = unquoted(this.input);
    }
    return true;
  }

  /**
   * Some servers repeat all arguments so far in every piece. Other streams are almost always recognized by their second
   * piece.
   */
  #compareWithLast(piece: string): void {
    this.#repeats = this.#grown !== "" && piece.startsWith(this.#grown!);
    this.#grown = this.#grown === "" || this.#repeats ? piece : undefined;
  }

  /**
   * If the last piece is JSON and all pieces together are not, the last piece is the whole input. What has been sent is
   * its beginning.
   */
  #takeGrown(): void {
    const grown = this.#grown ?? "";
    if (isJsonText(this.input) || !isJsonText(grown)) return;
    const sent = this.input.length - this.unsent.length;
    this.input = grown;
    this.unsent = grown.slice(sent);
  }
}

const TAIL = 16;
/**
 * How an object ends whose last value is a string. A single bracket may be part of that string, and often is in code.
 */
const CLOSED_TEXT = /"\s*\}\s*$/;

/** How a JSON value may end, with blanks after it. Looking at all of a growing string would copy it. */
const ENDED_VALUE = /(?:^|[}\]"\del])\s*$/;

/** The JSON object inside a JSON string; the input itself if there is none. */
function unquoted(input: string): string {
  const inner = parseJson(input);
  return typeof inner === "string" && inner.trimStart().startsWith("{") && isJsonText(inner) ? inner : input;
}
