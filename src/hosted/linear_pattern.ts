/**
 * Regular expressions that a model writes, matched in time that grows with the pattern and the text only: all ways through the
 * pattern are followed at once, so that no pattern can make the gateway try them one after another. It has no references back and
 * no look around.
 */

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
/** How large the pattern may become once its repetitions are written out. */
const MOST_STATES = 1_000;

type Test = (code: number) => boolean;
type Place = "start" | "end" | "edge" | "inside";

type Node =
  | { type: "one"; test: Test }
  | { type: "place"; place: Place }
  | { type: "all"; of: Node[] }
  | { type: "any"; of: Node[] }
  | { type: "repeat"; of: Node; least: number; most: number };

/** One step of a compiled pattern. `to`: where it may go on. */
type State = { test?: Test; place?: Place; to: number[]; isEnd?: true };

export class LinearPattern {
  readonly #states: State[] = [];

  /** Throws `PatternError` if the pattern is no regular expression of the kind that is matched here. */
  constructor(pattern: string) {
    if (pattern.length > LONGEST) throw new PatternError(`The pattern is longer than ${LONGEST} characters`);
    const last = this.#add(new PatternParser(pattern).parse(), [this.#push({ to: [] })]);
    const end = this.#push({ to: [], isEnd: true });
    for (const one of last) this.#states[one]!.to.push(end);
  }

  /** Whether the pattern occurs in the text. `budget`: the steps that are left, of which each takes one. */
  occursIn(text: string, budget: { steps: number }): boolean {
    const states = this.#states;
    const seen = new Int32Array(states.length).fill(-1);
    let current: number[] = [];
    for (let at = 0; at <= text.length; at++) {
      const stack = [...current, 0];
      const next: number[] = [];
      while (stack.length > 0) {
        const number = stack.pop()!;
        if (seen[number] === at) continue;
        seen[number] = at;
        if (--budget.steps < 0) throw new PatternError("The search took too many steps: use a simpler pattern", true);
        const state = states[number]!;
        if (state.isEnd) return true;
        if (state.place && !isAt(state.place, text, at)) continue;
        if (!state.test) { for (const one of state.to) stack.push(one); }
        else if (at < text.length && state.test(text.charCodeAt(at))) { for (const one of state.to) next.push(one); }
      }
      current = next;
    }
    return false;
  }

  #push(state: State): number {
    if (this.#states.length >= MOST_STATES) throw new PatternError("The pattern repeats too much");
    return this.#states.push(state) - 1;
  }

  /** Adds the node behind the states `after`, and returns those behind which the pattern goes on. */
  #add(node: Node, after: number[]): number[] {
    switch (node.type) {
      case "one":
        return [this.#behind(after, { test: node.test, to: [] })];
      case "place":
        return [this.#behind(after, { place: node.place, to: [] })];
      case "all":
        return node.of.reduce((last, one) => this.#add(one, last), after);
      case "any": {
        const fork = [this.#behind(after, { to: [] })];
        return node.of.flatMap((one) => this.#add(one, fork));
      }
      case "repeat":
        return this.#repeat(node, after);
    }
  }

  #repeat({ of, least, most }: Extract<Node, { type: "repeat" }>, after: number[]): number[] {
    let last = after;
    for (let count = 0; count < least; count++) last = this.#add(of, last);
    if (most === Infinity) {
      const fork = this.#behind(last, { to: [] });
      for (const one of this.#add(of, [fork])) this.#states[one]!.to.push(fork);
      return [fork];
    }
    const ends = [...last];
    for (let count = least; count < most; count++) {
      // A state of its own, so that what was optional before stays so.
      last = this.#add(of, [this.#behind(last, { to: [] })]);
      ends.push(...last);
    }
    return ends;
  }

  #behind(after: readonly number[], state: State): number {
    const number = this.#push(state);
    for (const one of after) this.#states[one]!.to.push(number);
    return number;
  }
}

function isAt(place: Place, text: string, at: number): boolean {
  if (place === "start") return at === 0;
  if (place === "end") return at === text.length;
  const isEdge = (at > 0 && isWord(text.charCodeAt(at - 1))) !== (at < text.length && isWord(text.charCodeAt(at)));
  return isEdge === (place === "edge");
}

const isDigit: Test = (code) => code >= 48 && code <= 57;
const isWord: Test = (code) => isDigit(code) || code === 95 || code > 127 || isLetter(code);
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
    const folded = tests.map((test) => this.#folded(test));
    const has: Test = (code) => folded.some((test) => test(code));
    return isNegated ? not(has) : has;
  }

  #member(start: number): Test | number {
    if (this.#at >= this.#text.length) throw new PatternError(`Missing "]" for the set at ${start}`);
    return this.#take("\\") ? this.#escaped() : this.#text.charCodeAt(this.#at++);
  }

  #literal(own: number): Node {
    return this.#one(this.#folded((code) => code === own));
  }

  #one(test: Test): Node {
    return { type: "one", test };
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
