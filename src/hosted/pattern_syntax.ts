/** Reads regular expressions of the kind that `linear_pattern.ts` matches, in the form of Python's, which models write. */

/** A pattern that cannot be read, or needs more steps than it may take. The message is for the model. */
export class PatternError extends Error {
  readonly isSlow: boolean;

  constructor(message: string, isSlow = false) {
    super(message);
    this.isSlow = isSlow;
  }
}

/** The longest pattern, in characters, as at the vendor whose clients search by patterns. */
const LONGEST = 200;
export type Test = (code: number) => boolean;
export type Place = "start" | "end" | "edge" | "inside";

export type Node =
  | { type: "one"; test: Test }
  | { type: "place"; place: Place }
  | { type: "all"; of: Node[] }
  | { type: "any"; of: Node[] }
  | { type: "repeat"; of: Node; least: number; most: number };

const isDigit: Test = (code) => code >= 48 && code <= 57;
export const isWord: Test = (code) => isDigit(code) || code === 95 || code > 127 || isLetter(code);
const isSpace: Test = (code) => code === 32 || code >= 9 && code <= 13 || code === 0xa0;
const isLetter: Test = (code) => code >= 65 && code <= 90 || code >= 97 && code <= 122;
const not = (test: Test): Test => (code) => !test(code);

const CLASSES: Readonly<Record<string, Test>> = {
  d: isDigit,
  D: not(isDigit),
  w: isWord,
  W: not(isWord),
  s: isSpace,
  S: not(isSpace),
};
const PLACES: Readonly<Record<string, Place>> = { b: "edge", B: "inside", A: "start", Z: "end", z: "end" };
const CONTROLS: Readonly<Record<string, number>> = { n: 10, t: 9, r: 13, f: 12, v: 11, 0: 0 };

/** Throws `PatternError` if the pattern cannot be read. */
export function parsePattern(pattern: string): Node {
  if (pattern.length > LONGEST) throw new PatternError(`The pattern is longer than ${LONGEST} characters`);
  return new PatternParser(pattern).parse();
}

class PatternParser {
  readonly #text: string;
  #at = 0;
  #ignoresCase = false;

  constructor(text: string) {
    this.#text = text;
  }

  parse(): Node {
    const flags = /^\(\?([imsau]+)\)/.exec(this.#text);
    if (flags) {
      this.#ignoresCase = flags[1]!.includes("i");
      this.#at = flags[0].length;
    }
    const node = this.#choice();
    if (this.#at < this.#text.length) throw new PatternError(`Unbalanced ")" at ${this.#at}`);
    return node;
  }

  #choice(): Node {
    const of = [this.#sequence()];
    while (this.#take("|")) of.push(this.#sequence());
    return of.length === 1 ? of[0]! : { type: "any", of };
  }

  #sequence(): Node {
    const of: Node[] = [];
    while (this.#at < this.#text.length && !"|)".includes(this.#text[this.#at]!)) of.push(this.#repeated());
    return { type: "all", of };
  }

  #repeated(): Node {
    const of = this.#atom();
    const rest = this.#text.slice(this.#at);
    const written = /^(?:[*+?]|\{(\d{1,4})(,?)(\d{0,4})\})\??/.exec(rest);
    if (!written) return of;
    this.#at += written[0].length;
    if (/^[*+?]/.test(this.#text.slice(this.#at))) throw new PatternError(`Nothing to repeat at ${this.#at}`);
    const [word, from, comma, to] = written;
    if (from === undefined) {
      return { type: "repeat", of, least: word[0] === "+" ? 1 : 0, most: word[0] === "?" ? 1 : Infinity };
    }
    const most = to !== "" ? Number(to) : comma === "" ? Number(from) : Infinity;
    if (most < Number(from)) throw new PatternError("The ends of a repetition are out of order");
    return { type: "repeat", of, least: Number(from), most };
  }

  #atom(): Node {
    const start = this.#at;
    const character = this.#text[this.#at++]!;
    switch (character) {
      case "(":
        return this.#group(start);
      case "[":
        return this.#one(this.#set(start));
      case "\\":
        return this.#escape();
      case "^":
      case "$":
        return { type: "place", place: character === "^" ? "start" : "end" };
      case ".":
        return { type: "one", test: (code) => code !== 10 };
      case "*":
      case "+":
      case "?":
        throw new PatternError(`Nothing to repeat at ${start}`);
      default:
        return this.#literal(character.charCodeAt(0));
    }
  }

  #group(start: number): Node {
    const opening = /^\?(?::|P?<[A-Za-z_]\w*>)/.exec(this.#text.slice(this.#at));
    if (opening) this.#at += opening[0].length;
    else if (this.#text[this.#at] === "?") throw new PatternError(`This kind of group is not supported, at ${start}`);
    const node = this.#choice();
    if (!this.#take(")")) throw new PatternError(`Missing ")" for the group at ${start}`);
    return node;
  }

  #escape(): Node {
    const character = this.#text[this.#at];
    const place = character === undefined ? undefined : PLACES[character];
    if (place) {
      this.#at++;
      return { type: "place", place };
    }
    const test = this.#escaped();
    return typeof test === "number" ? this.#literal(test) : { type: "one", test };
  }

  /** The character or the class that an escape means. */
  #escaped(): Test | number {
    const rest = this.#text.slice(this.#at);
    const code = /^(?:x([\da-f]{2})|u([\da-f]{4}))/i.exec(rest);
    if (code) {
      this.#at += code[0].length;
      return parseInt(code[1] ?? code[2]!, 16);
    }
    const [character = ""] = rest;
    this.#at++;
    if (Object.hasOwn(CLASSES, character)) return CLASSES[character]!;
    if (Object.hasOwn(CONTROLS, character)) return CONTROLS[character]!;
    if (character === "" || /[A-Za-z0-9]/.test(character)) {
      throw new PatternError(`The escape \\${character} is not supported`);
    }
    return character.charCodeAt(0);
  }

  #set(start: number): Test {
    const isNegated = this.#take("^");
    const tests: Test[] = [];
    for (let isFirst = true; isFirst || this.#text[this.#at] !== "]"; isFirst = false) {
      const from = this.#member(start);
      const isRange = this.#text[this.#at] === "-" && this.#text[this.#at + 1] !== "]";
      if (typeof from !== "number" || !isRange) {
        tests.push(typeof from === "number" ? (code) => code === from : from);
        continue;
      }
      this.#at++;
      const to = this.#member(start);
      if (typeof to !== "number" || to < from) throw new PatternError(`The range in the set at ${start} is invalid`);
      tests.push((code) => code >= from && code <= to);
    }
    this.#at++;
    const has = this.#folded((code) => tests.some((test) => test(code)));
    return isNegated ? not(has) : has;
  }

  #member(start: number): Test | number {
    if (this.#at >= this.#text.length) throw new PatternError(`Missing "]" for the set at ${start}`);
    return this.#take("\\") ? this.#escaped() : this.#text.charCodeAt(this.#at++);
  }

  #literal(own: number): Node {
    return this.#one(this.#folded((code) => code === own));
  }

  /** The test remembers its last answer, because all repetitions of the node ask about the same character. */
  #one(test: Test): Node {
    let [last, passed] = [-1, false];
    return {
      type: "one",
      test(code) {
        if (code !== last) [last, passed] = [code, test(code)];
        return passed;
      },
    };
  }

  #folded(test: Test): Test {
    if (!this.#ignoresCase) return test;
    return (code) => {
      const text = String.fromCharCode(code);
      return test(code) || test(text.toLowerCase().charCodeAt(0)) || test(text.toUpperCase().charCodeAt(0));
    };
  }

  #take(character: string): boolean {
    if (this.#text[this.#at] !== character) return false;
    this.#at++;
    return true;
  }
}
