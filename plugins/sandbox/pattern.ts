const MAX_PATTERN = 1_000;
const MAX_TEXT = 1_000;

/**
 * A short text that matches a regular expression. Absent if the expression uses unsupported features (look-around, back-references)
 * or requires too much. The expression comes from the client, so it is parsed and never run: a hostile one can keep an engine
 * busy for years. `extra` lengthens every repetition that has no upper limit.
 */
export function textMatching(pattern: string, extra = 0): string | undefined {
  if (pattern.length > MAX_PATTERN) return undefined;
  const reader = new Reader(pattern, extra);
  const text = reader.alternatives();
  return reader.failed || !reader.atEnd ? undefined : text;
}

type Range = readonly [from: number, to: number];

const DIGITS: Range[] = [[0x30, 0x39]];
const LETTERS: Range[] = [[0x61, 0x7a], [0x41, 0x5a]];
const WORD: Range[] = [...LETTERS, ...DIGITS, [0x5f, 0x5f]];
const SPACES: Range[] = [[0x20, 0x20], [0x09, 0x0d], [0xa0, 0xa0]];
const SETS: Record<string, { ranges: Range[]; inverted: boolean }> = {
  d: { ranges: DIGITS, inverted: false },
  D: { ranges: DIGITS, inverted: true },
  w: { ranges: WORD, inverted: false },
  W: { ranges: WORD, inverted: true },
  s: { ranges: SPACES, inverted: false },
  S: { ranges: SPACES, inverted: true },
};
const CONTROLS: Record<string, string> = { n: "\n", r: "\r", t: "\t", f: "\f", v: "\v", 0: "\0" };
/** The characters to try for a negated class. */
const OTHERS = "a0A-_ .é";

class Reader {
  readonly pattern: string;
  readonly extra: number;
  failed = false;
  #at = 0;

  constructor(pattern: string, extra: number) {
    this.pattern = pattern;
    this.extra = extra;
  }

  get atEnd(): boolean {
    return this.#at >= this.pattern.length;
  }

  /** The text of the first alternative of `a|b|c`. The others are skipped. */
  alternatives(): string {
    const first = this.#sequence();
    while (this.#take("|")) this.#sequence();
    return first;
  }

  #sequence(): string {
    let text = "";
    while (!this.failed && !this.atEnd && !this.#sees("|") && !this.#sees(")")) {
      const atom = this.#atom();
      const times = this.#times();
      if (text.length + atom.length * times > MAX_TEXT) this.failed = true;
      else text += atom.repeat(times);
    }
    return text;
  }

  #atom(): string {
    const char = this.#next();
    switch (char) {
      case "^":
      case "$":
        return "";
      case ".":
        return "a";
      case "(":
        return this.#group();
      case "[":
        return this.#class();
      case "\\":
        return this.#escape();
      default:
        return char;
    }
  }

  #group(): string {
    if (this.#take("?") && !this.#take(":")) {
      const name = /^<[A-Za-z_$][\w$]*>/.exec(this.#rest());
      if (name) this.#at += name[0].length;
      else this.failed = true;
    }
    const text = this.alternatives();
    if (!this.#take(")")) this.failed = true;
    return text;
  }

  #class(): string {
    const inverted = this.#take("^");
    const ranges: Range[] = [];
    while (!this.failed && !this.#sees("]")) {
      const from = this.#member(ranges);
      if (from === undefined) continue;
      if (this.#sees("-") && this.pattern[this.#at + 1] !== "]") {
        this.#at++;
        const to = this.#member(ranges);
        ranges.push([from, to ?? from]);
      } else ranges.push([from, from]);
    }
    this.#at++;
    return this.#choose(ranges, inverted);
  }

  /** One character of a class. A set such as `\d` is added to `ranges` directly. */
  #member(ranges: Range[]): number | undefined {
    const set = this.#sees("\\") ? SETS[this.pattern[this.#at + 1] ?? ""] : undefined;
    if (set && !set.inverted) {
      this.#at += 2;
      ranges.push(...set.ranges);
      return undefined;
    }
    if (set) this.failed = true;
    const char = this.#next();
    return (char === "\\" ? this.#escape() : char).codePointAt(0);
  }

  #escape(): string {
    const char = this.#next();
    const set = SETS[char];
    if (set) return this.#choose(set.ranges, set.inverted);
    if (char === "b" || char === "B") return "";
    if (char in CONTROLS) return CONTROLS[char]!;
    if (char === "p") {
      const property = /^\{[^}]*\}/.exec(this.#rest())?.[0] ?? "";
      this.#at += property.length;
      return /^\{N/.test(property) ? "0" : /^\{Lu/.test(property) ? "A" : "a";
    }
    const code = char === "x"
      ? /^[0-9a-fA-F]{2}/.exec(this.#rest())
      : char === "u"
      ? /^(?:[0-9a-fA-F]{4}|\{[0-9a-fA-F]{1,6}\})/.exec(this.#rest())
      : undefined;
    if (code) {
      this.#at += code[0].length;
      const value = Number.parseInt(code[0].replace("{", ""), 16);
      return value <= 0x10ffff ? String.fromCodePoint(value) : "";
    }
    if (/[A-Za-z1-9]/.test(char)) this.failed = true;
    return char;
  }

  #choose(ranges: readonly Range[], inverted: boolean): string {
    if (!inverted && ranges[0]) return String.fromCodePoint(ranges[0][0]);
    const isIn = (char: string) =>
      ranges.some(([from, to]) => from <= char.codePointAt(0)! && char.codePointAt(0)! <= to);
    const other = inverted ? [...OTHERS].find((char) => !isIn(char)) : undefined;
    if (other === undefined) this.failed = true;
    return other ?? "";
  }

  /** How often the previous atom is repeated: the minimum, but at least once if that is allowed, so that the text shows it. */
  #times(): number {
    const quantifier = /^(?:[*+?]|\{(\d+)(,?)(\d*)\})\??/.exec(this.#rest());
    if (!quantifier) return 1;
    const [whole, counted, comma, limit] = quantifier;
    this.#at += whole.length;
    if (whole.startsWith("?")) return 1;
    const least = Number(counted ?? 1);
    const most = counted === undefined || (comma && !limit) ? MAX_TEXT + 1 : Number(limit || counted);
    return Math.min(Math.max(least, Math.min(this.extra, most)), MAX_TEXT + 1);
  }

  #rest(): string {
    return this.pattern.slice(this.#at);
  }

  #sees(char: string): boolean {
    return this.pattern[this.#at] === char;
  }

  #take(char: string): boolean {
    if (!this.#sees(char)) return false;
    this.#at++;
    return true;
  }

  #next(): string {
    const code = this.pattern.codePointAt(this.#at);
    if (code === undefined) {
      this.failed = true;
      return "";
    }
    const char = String.fromCodePoint(code);
    this.#at += char.length;
    return char;
  }
}
