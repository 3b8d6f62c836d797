/** Placeholders: what they look like, and which text each stands for. */
import { GatewayError } from "../../src/errors.ts";
import { builtin } from "../../src/util/builtin.ts";

/** The kind of text that a placeholder stands for. `text`: one that only looked like a placeholder. */
export type Kind = "secret" | "email" | "phone" | "card" | "iban" | "ip" | "text";

/**
 * The digits of placeholders. The letters "e" and "r" are not among them, so that no placeholder begins inside another one, and
 * all letters are lower case, so that one in upper case can still be read.
 */
const DIGITS = "abcdfghijklmnopqstuvwxyz23456789";
const LENGTH = 16;
const BEGIN = "redacted-";
const MAIL = "@mail.invalid";

const DIGIT = `[${DIGITS}]{${LENGTH}}`;

/** Any text that looks like a placeholder, in upper or lower case. */
export const PLACEHOLDER = new RegExp(
  `${BEGIN}(?:(?:secret|phone|card|iban|ip|text)-${DIGIT}|email-${DIGIT}${MAIL.replace(".", "\\.")})`,
  "gi",
);

/** The length of the longest placeholder. */
export const LONGEST = `${BEGIN}email-${MAIL}`.length + LENGTH;

/** The most texts that one request may have replaced, and the most characters of them. */
const [MOST_TEXTS, MOST_CHARACTERS] = [10_000, 500_000];

/** Gives each text its placeholder. With the same key and owner, the same text always gets the same one. */
export class Placeholders {
  readonly #key: Uint8Array;
  readonly #owner: string;
  readonly #made = new Map<Kind, Map<string, string>>();
  /** The originals by placeholder. */
  readonly originals = new Map<string, string>();
  #characters = 0;

  constructor(key: Uint8Array, owner: string) {
    this.#key = key;
    this.#owner = owner;
  }

  /** The placeholder of the text. Throws `request_too_large` if there are too many texts to keep. */
  of(kind: Kind, text: string): string {
    let made = this.#made.get(kind);
    if (!made) this.#made.set(kind, made = new Map());
    const known = made.get(text);
    if (known !== undefined) return known;
    this.#characters += text.length;
    if (this.originals.size >= MOST_TEXTS || this.#characters > MOST_CHARACTERS) {
      const message =
        `Cannot redact the request: it has more than ${MOST_TEXTS} secrets and personal data, or they have ` +
        `more than ${MOST_CHARACTERS} characters`;
      throw new GatewayError("request_too_large", message, { own: true, tryNextTarget: false });
    }
    const placeholder = `${BEGIN}${kind}-${this.#digest(kind, text)}${kind === "email" ? MAIL : ""}`;
    const own = copied(text);
    made.set(own, placeholder);
    this.originals.set(placeholder, own);
    return placeholder;
  }

  /** A keyed hash, because a plain one could be found by trying out likely texts. */
  #digest(kind: Kind, text: string): string {
    // As JSON, each lone half of a character is a text of its own.
    const said = JSON.stringify([this.#owner, kind, text]);
    const bytes = builtin("node:crypto").createHmac("sha256", this.#key).update(said).digest();
    let digits = "";
    for (let bit = 0; digits.length < LENGTH; bit += 5) {
      const pair = bytes[bit >> 3]! << 8 | bytes[(bit >> 3) + 1]!;
      digits += DIGITS[pair >> 11 - (bit & 7) & 31];
    }
    return digits;
  }
}

/** A text of its own: a slice of a request would keep the whole request alive for as long as the answer. */
function copied(text: string): string {
  return builtin("node:buffer").Buffer.from(text, "utf16le").toString("utf16le");
}
