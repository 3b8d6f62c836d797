/** The seam between an answer that broke off and the rest of it: no text twice, and none lost. */
import { GatewayError } from "../errors.ts";

/** Takes away what the rest of an answer repeats of the beginning. */
export interface Seam {
  /** Returns what is new of the next piece of text. It may hold text back. Throws if the rest does not fit. */
  take(text: string): string;
  /** Called when the text has ended. Returns what is new of the text that was held back. */
  end(): string;
}

/** A text that broke off, in two: the part to send to the model, and the part that the model will then write again. */
export interface CutText {
  sent: string;
  /** Blank space, half a character, or both. Servers and templates differ in what they keep of it. */
  again: string;
}

export function cutText(shown: string): CutText {
  const whole = isHighSurrogate(shown.charCodeAt(shown.length - 1)) ? shown.slice(0, -1) : shown;
  const sent = whole.trimEnd();
  return { sent, again: shown.slice(sent.length) };
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}

/** The error for a rest that does not continue its beginning. */
export function misfit(): GatewayError {
  return new GatewayError("upstream_error", "The rest of the answer does not fit its beginning", { retryable: false });
}

/** For a model that goes on at the end of the text that it was sent. `again`: what was shown and not sent. */
export class DirectSeam implements Seam {
  readonly #space: string;
  readonly #half: string;
  #held = "";
  #isOver: boolean;

  constructor(again: string) {
    this.#space = /^\s*/.exec(again)![0];
    this.#half = again.slice(this.#space.length);
    this.#isOver = again === "";
  }

  take(text: string): string {
    if (this.#isOver) return text;
    this.#held += text;
    const start = this.#held.startsWith(this.#space) ? this.#space.length : this.#held.search(/\S/);
    if (start < 0) {
      // A model may write blank space for ever. The first of it tells as much as all of it.
      this.#held = this.#held.slice(0, this.#space.length);
      return "";
    }
    return this.#half !== "" && start === this.#held.length ? "" : this.#rest(start);
  }

  end(): string {
    if (this.#isOver || this.#held === "") return "";
    if (this.#half !== "") throw misfit();
    this.#isOver = true;
    return "";
  }

  /** The text from its first new character on. A template may have replaced the space before it by its own. */
  #rest(start: number): string {
    this.#isOver = true;
    if (!this.#held.startsWith(this.#half, start)) throw misfit();
    return this.#held.slice(start + this.#half.length);
  }
}

/**
 * From how many equal characters on a text repeats the beginning on purpose: all of it, or the first characters of a beginning
 * that then differs. A word that goes on rarely looks like the first words of its answer.
 */
const [ALL_ON_PURPOSE, SOME_ON_PURPOSE] = [4, 16];

/**
 * For a server whose answer begins with the text that it was sent. Not all versions of such a server do it.
 * `isUnsure`: it usually does not, and a short text that comes again may be new.
 */
export class RepeatedSeam implements Seam {
  readonly #sent: string;
  readonly #after: DirectSeam;
  /** How much of the text that was sent has come again. */
  #repeated = 0;
  #isOver: boolean;

  constructor({ sent, again }: CutText, isUnsure: boolean) {
    this.#sent = sent;
    this.#after = new DirectSeam(again);
    this.#isOver = sent === "" || (isUnsure && sent.length < ALL_ON_PURPOSE);
  }

  take(text: string): string {
    if (this.#isOver) return this.#after.take(text);
    const end = this.#repeated + text.length;
    if (end >= this.#sent.length || !this.#sent.startsWith(text, this.#repeated)) {
      return this.#after.take(this.#new(text));
    }
    this.#repeated = end;
    return "";
  }

  end(): string {
    const rest = this.#isOver || this.#repeated === 0 ? "" : this.#after.take(this.#new(""));
    return rest + this.#after.end();
  }

  /** The new part of the answer. `text`: its last piece. */
  #new(text: string): string {
    this.#isOver = true;
    const left = this.#sent.slice(this.#repeated);
    if (text.startsWith(left)) return text.slice(left.length);
    if (this.#repeated + commonStart(text, left) >= SOME_ON_PURPOSE) throw misfit();
    return this.#sent.slice(0, this.#repeated) + text;
  }
}

function commonStart(one: string, other: string): number {
  let length = 0;
  while (length < one.length && one[length] === other[length]) length++;
  return length;
}

/** How much of the text a model is asked to repeat, and how much of its answer is searched for that, in characters. */
const [LONGEST_QUOTE, MOST_HELD] = [40, 240];
/** The shortest repetition that counts as one if the model did not repeat what it was asked to. */
const SHORTEST_OVERLAP = 8;

/** The last words of the text, which the model is asked to repeat first. */
export function quoteOf(shown: string): string {
  const sent = cutText(shown).sent.trimStart();
  const tail = sent.slice(-LONGEST_QUOTE);
  const start = tail.length === sent.length ? 0 : tail.search(/\s\S/) + 1;
  const quote = tail.slice(start);
  return isLowSurrogate(quote.charCodeAt(0)) ? quote.slice(1) : quote;
}

function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}

/** For a model that was asked in words to go on, and to begin with the last words of the text. */
export class QuotedSeam implements Seam {
  readonly #shown: string;
  readonly #quote: string;
  readonly #after: DirectSeam;
  #held = "";
  #isOver = false;

  constructor(shown: string) {
    this.#shown = shown;
    this.#quote = quoteOf(shown);
    this.#after = new DirectSeam(cutText(shown).again);
  }

  take(text: string): string {
    if (this.#isOver) return this.#after.take(text);
    this.#held += text;
    const end = endOfQuote(this.#held, this.#quote);
    if (end !== undefined && end < this.#held.length) return this.#from(end);
    return this.#held.length < MOST_HELD ? "" : this.#from(this.#overlap());
  }

  end(): string {
    const rest = this.#isOver || this.#held === ""
      ? ""
      : this.#from(endOfQuote(this.#held, this.#quote) ?? this.#overlap());
    return rest + this.#after.end();
  }

  #from(start: number): string {
    this.#isOver = true;
    return this.#after.take(inFlow(this.#shown, this.#held.slice(start)));
  }

  /** The end of the longest repetition of the text's own end. Throws if there is none: what comes may be anything. */
  #overlap(): number {
    const length = overlapOf(this.#shown, this.#held);
    if (length < SHORTEST_OVERLAP) throw misfit();
    return length;
  }
}

/** The length of the longest beginning of `text` with which `shown` ends, in linear time (Knuth, Morris and Pratt). */
export function overlapOf(shown: string, text: string): number {
  const most = Math.min(shown.length, text.length);
  /** For each beginning of `text`: the length of the longest shorter one with which it ends. */
  const within = new Uint32Array(most);
  const next = (length: number, character: string) => {
    let shorter = length;
    while (shorter > 0 && text[shorter] !== character) shorter = within[shorter - 1]!;
    return text[shorter] === character ? shorter + 1 : 0;
  };
  for (let at = 1; at < most; at++) within[at] = next(within[at - 1]!, text[at]!);
  let length = 0;
  for (let at = shown.length - most; at < shown.length; at++) length = next(length, shown[at]!);
  return length;
}

const OPENING = /^[\s"'`“”‘’…]*/;
const QUOTES: Readonly<Record<string, string>> = { "“": '"', "”": '"', "‘": "'", "’": "'" };

/** The index at which the quote ends if the text begins with it. Its spaces and quotation marks may be others. */
function endOfQuote(text: string, quote: string): number | undefined {
  const opening = OPENING.exec(text)![0].length;
  for (let start = 0; start <= opening; start++) {
    const end = endOfSame(text, start, quote);
    if (end !== undefined) return end;
  }
  return undefined;
}

function endOfSame(text: string, start: number, quote: string): number | undefined {
  let at = start;
  for (let index = 0; index < quote.length; index++) {
    const wanted = quote[index]!;
    if (/\s/.test(wanted)) {
      if (!/\s/.test(text[at] ?? "")) return undefined;
      while (/\s/.test(text[at] ?? "")) at++;
      while (/\s/.test(quote[index + 1] ?? "")) index++;
    } else if (plain(text[at++]) !== plain(wanted)) return undefined;
  }
  return at;
}

function plain(character: string | undefined): string | undefined {
  return character === undefined ? undefined : QUOTES[character] ?? character;
}

/** A model that begins anew begins a paragraph. Amid a sentence that is a space. */
function inFlow(shown: string, rest: string): string {
  const space = /^\s*/.exec(rest)![0];
  const isParagraph = space.includes("\n") && space.length < rest.length;
  const isAmid = isParagraph && /[\p{L}\p{N},;]$/u.test(shown) && !isInFence(shown);
  return isAmid ? ` ${rest.slice(space.length)}` : rest;
}

function isInFence(text: string): boolean {
  return (text.match(/^[ \t]*(```|~~~)/gm) ?? []).length % 2 === 1;
}
