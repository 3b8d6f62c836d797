/**
 * Text that comes in pieces, for readers that are written as if it were all there: a reader is a generator that yields where
 * the text that came so far ends, and goes on where more has come.
 */

/** A reader of the text; `next()` goes on once there is more of it. */
export type Reading<T> = Generator<void, T, void>;

export class Source {
  /** The newest piece, and how far it is read. */
  piece = "";
  at = 0;
  /** No more pieces come. */
  over = false;
  /** The text that is neither passed on nor dropped yet: where it begins in this piece, and its part from earlier pieces. */
  #from = 0;
  #held = "";
  #holds = false;
  readonly #pass: (text: string) => void;

  /** `pass` gets all text that is not held. */
  constructor(pass: (text: string) => void) {
    this.#pass = pass;
  }

  /** Only when all that came before is read. */
  append(text: string): void {
    this.piece = text;
    this.at = this.#from = 0;
  }

  /** The piece is read to its end. */
  turn(): void {
    if (this.#holds) this.#held += this.piece.slice(this.#from);
    else this.flush();
    this.append("");
  }

  /** Passes on what is read and not held. */
  flush(): void {
    if (this.#holds || this.at === this.#from) return;
    const text = this.piece.slice(this.#from, this.at);
    this.#from = this.at;
    this.#pass(text);
  }

  /** Keeps back all that is read from here on, until it is taken or released. */
  hold(): void {
    this.flush();
    this.#holds = true;
  }

  held(): string {
    return this.#held + this.piece.slice(this.#from, this.at);
  }

  /** Goes back to before the held `text`, which was read last. */
  unread(text: string): void {
    const before = text.slice(0, Math.max(0, text.length - this.at));
    this.at -= text.length - before.length;
    if (before === "") return;
    this.#held = this.#held.slice(0, -before.length);
    this.piece = before + this.piece;
  }

  take(): string {
    const text = this.held();
    this.#held = "";
    this.#from = this.at;
    this.#holds = false;
    return text;
  }

  release(): void {
    const text = this.take();
    if (text !== "") this.#pass(text);
  }
}

/** Marks that are looked for in a text: nearly all of it is none, which is found out without a reader. */
export class Marks {
  readonly #byStart = new Map<number, readonly string[]>();

  constructor(marks: readonly string[]) {
    for (const mark of marks) {
      const start = mark.charCodeAt(0);
      this.#byStart.set(start, [...this.#byStart.get(start) ?? [], mark]);
    }
  }

  /** Whether one may begin at the next character, as far as the piece tells. */
  mayBegin({ piece, at }: Source): boolean {
    const marks = this.#byStart.get(piece.charCodeAt(at));
    return marks !== undefined && marks.some((mark) => isBegun(mark, piece, at));
  }

  /** Passes over the next character and all that follows up to where one may begin. */
  skipTo(source: Source): void {
    do source.at++; while (source.at < source.piece.length && !this.mayBegin(source));
  }
}

/** Whether the piece has the mark there, or ends amid it. */
function isBegun(mark: string, piece: string, at: number): boolean {
  const end = Math.min(mark.length, piece.length - at);
  for (let index = 1; index < end; index++) {
    if (piece.charCodeAt(at + index) !== mark.charCodeAt(index)) return false;
  }
  return true;
}

/** The next character; none at the end of the text. */
export function* peek(source: Source): Reading<string> {
  while (source.at === source.piece.length) {
    if (source.over) return "";
    source.turn();
    yield;
  }
  return source.piece[source.at]!;
}

export function* skipSpace(source: Source, spaces = " \t\r\n"): Reading<string> {
  for (;;) {
    const next = yield* peek(source);
    if (next === "" || !spaces.includes(next)) return next;
    source.at++;
  }
}

/** Reads the longest of the words that comes. `undefined` if none of them does. Only for text that is held. */
export function* oneOf<Word extends string>(source: Source, words: readonly Word[]): Reading<Word | undefined> {
  let left = words;
  let read = "";
  let whole: Word | undefined;
  for (;;) {
    const next = yield* peek(source);
    left = next === "" ? [] : left.filter((word) => word[read.length] === next);
    if (left.length === 0) {
      source.unread(read.slice(whole?.length ?? 0));
      return whole;
    }
    source.at++;
    read += next;
    whole = left.find((word) => word === read) ?? whole;
    if (whole === read && left.length === 1) return whole;
  }
}

/** Whether the word comes next; then it is read. */
export function* word(source: Source, expected: string): Reading<boolean> {
  return (yield* oneOf(source, [expected])) !== undefined;
}

/** The text before `close`. `undefined` if `close` does not come within `limit` characters. */
export function* until(source: Source, close: string, limit = Infinity): Reading<string | undefined> {
  const borders = bordersOf(close);
  let text = "";
  let matched = 0;
  while ((yield* peek(source)) !== "") {
    if (matched === 0) {
      const found = source.piece.indexOf(close[0]!, source.at);
      const end = Math.min(found < 0 ? source.piece.length : found, source.at + limit + 1 - text.length);
      text += source.piece.slice(source.at, end);
      source.at = end;
      if (text.length > limit) return undefined;
      if (end !== found) continue;
    }
    const next = source.piece[source.at]!;
    while (matched > 0 && close[matched] !== next) {
      const border = borders[matched - 1]!;
      text += close.slice(0, matched - border);
      matched = border;
    }
    if (close[matched] !== next) continue;
    source.at++;
    matched++;
    if (matched === close.length) return text;
  }
  return undefined;
}

/** For each beginning of the mark, the length of the longest shorter one that it ends with. */
function bordersOf(mark: string): number[] {
  const borders = [0];
  for (let at = 1; at < mark.length; at++) {
    let border = borders[at - 1]!;
    while (border > 0 && mark[border] !== mark[at]) border = borders[border - 1]!;
    borders.push(mark[border] === mark[at] ? border + 1 : 0);
  }
  return borders;
}

const IN_JSON = /["{}[\]]/g;
const IN_STRING = /["\\]/g;

/** The text of an object or a list, to the bracket that closes it; `depth` brackets are read already. It may yet not be JSON. */
export function* jsonText(source: Source, depth = 0): Reading<string | undefined> {
  const brackets = new Brackets(depth);
  let text = "";
  for (;;) {
    const next = yield* peek(source);
    if (next === "" || (brackets.depth === 0 && next !== "{" && next !== "[")) return undefined;
    const { piece, at } = source;
    source.at = brackets.follow(piece, at);
    text += piece.slice(at, source.at);
    if (brackets.depth === 0) return text;
    if (!brackets.isEscape) continue;
    const escaped = yield* peek(source);
    if (escaped === "") return undefined;
    text += escaped;
    source.at++;
  }
}

/** A string of JSON; its first quote is next. */
export function* jsonString(source: Source): Reading<string | undefined> {
  let text = "";
  let isEscaped = false;
  for (;;) {
    const next = yield* peek(source);
    if (next === "") return undefined;
    source.at++;
    text += next;
    if (next === '"' && !isEscaped && text.length > 1) return text;
    isEscaped = next === "\\" && !isEscaped;
  }
}

/** Which brackets of a JSON text are open. */
class Brackets {
  depth: number;
  /** Whether a backslash came last: the character behind it, which may be in the next piece, means nothing. */
  isEscape = false;
  #inString = false;

  constructor(depth: number) {
    this.depth = depth;
  }

  /** Reads until the last bracket is closed, a backslash comes, or the piece ends. Returns the position reached. */
  follow(piece: string, at: number): number {
    this.isEscape = false;
    let end = at;
    while (end < piece.length && !this.isEscape) {
      const pattern = this.#inString ? IN_STRING : IN_JSON;
      pattern.lastIndex = end;
      const found = pattern.exec(piece)?.index ?? piece.length;
      end = Math.min(found + 1, piece.length);
      this.#count(piece[found]);
      if (this.depth === 0) break;
    }
    return end;
  }

  #count(mark: string | undefined): void {
    if (mark === "\\") this.isEscape = true;
    else if (mark === '"') this.#inString = !this.#inString;
    else if (mark === "{" || mark === "[") this.depth++;
    else if (mark !== undefined) this.depth--;
  }
}
