/** Reads the text of a page in one pass without building a tree, for pages whose tree would take too long. */

/** Elements whose content is not read. */
const UNREAD = /^(script|style|noscript|template|svg|title|iframe|object|textarea|select)$/;
/** Elements inside a line. */
const INLINE =
  /^(a|abbr|b|bdi|bdo|cite|code|data|dfn|em|font|i|kbd|label|mark|q|s|samp|small|span|strong|sub|sup|time|tt|u|var|wbr)$/;
/** Elements whose text shares a line with the next one's. */
const CELL = /^t[dh]$/;
/** Elements without an end tag, or whose end tag is mostly left out. */
const UNNESTED =
  /^(area|base|br|col|embed|hr|img|input|link|meta|source|track|wbr|p|li|dt|dd|tr|td|th|option|thead|tbody|tfoot)$/;

interface Tag {
  name: string;
  isEnd: boolean;
  /** The position of its first character. */
  from: number;
  /** The position after its last character. */
  to: number;
}

/** Every tag and comment. An element that is not read, with its content, is one tag. */
function* tagsIn(html: string): Generator<Tag> {
  const endless = new Set<string>();
  for (let from = html.indexOf("<"); from >= 0;) {
    let to = from + 1;
    if (!canBegin(html.charCodeAt(to))) {
      from = html.indexOf("<", to);
      continue;
    }
    if (html.startsWith("!--", to)) {
      to = after(html, "-->", to + 3);
      yield { name: "!--", isEnd: true, from, to };
    } else {
      const [, slash, name = ""] = /^(\/?)([a-z][\w:-]{0,40}|[!?])/i.exec(html.slice(to, to + 50)) ?? [];
      if (name !== "") {
        const tag = { name: name.toLowerCase(), isEnd: slash === "/", from, to: after(html, ">", to) };
        to = !tag.isEnd && UNREAD.test(tag.name) ? afterElement(html, tag.name, tag.to, endless) : tag.to;
        yield { ...tag, to };
      }
    }
    from = html.indexOf("<", to);
  }
}

/** A letter, or one of `!`, `/` and `?`. */
function canBegin(code: number): boolean {
  return (code | 32) >= 97 && (code | 32) <= 122 || code === 33 || code === 47 || code === 63;
}

function after(html: string, text: string, from: number): number {
  const at = html.indexOf(text, from);
  return at < 0 ? html.length : at + text.length;
}

/**
 * The end of an element whose content has no tags. Without an end tag, it ends where it begins. `endless`: the names that have no
 * end tag in the rest of the page, which is searched once for each name.
 */
function afterElement(html: string, name: string, from: number, endless: Set<string>): number {
  if (endless.has(name)) return from;
  for (let at = html.indexOf("</", from); at >= 0; at = html.indexOf("</", at + 2)) {
    if (html.slice(at + 2, at + 2 + name.length).toLowerCase() === name) return after(html, ">", at);
  }
  endless.add(name);
  return from;
}

/** How large a tree may be. */
export interface TreeLimits {
  elements: number;
  /** In characters. */
  length: number;
  /** How deep elements may be nested. */
  depth: number;
}

/** Splits a page into the part for the tree, without elements that are not read, and the rest as it is. */
export function leanOf(html: string, limits: TreeLimits): { lean: string; rest: string } {
  const room = new Room(html, limits);
  const pieces: string[] = [];
  let [at, seen] = [0, 0];
  const take = (to: number) => pieces.push(html.slice(at, to));
  for (const tag of tagsIn(html)) {
    const { name, isEnd, from, to } = tag;
    const isUnread = name === "!--" || !isEnd && name !== "title" && UNREAD.test(name);
    const end = room.takeText(seen, from);
    if (end < from || !isUnread && !room.takeTag(tag)) {
      take(end);
      return { lean: pieces.join(""), rest: html.slice(end) };
    }
    seen = to;
    if (!isUnread) continue;
    take(from);
    at = to;
  }
  const end = room.takeText(seen, html.length);
  take(end);
  return { lean: pieces.join(""), rest: html.slice(end) };
}

/** Characters that split text into several nodes of a tree. A text node costs less than an element does. */
const PIECES = /[&<>]/g;
const PIECE = 1 / 4;

/** The space that is left in the tree. */
class Room {
  readonly #html: string;
  readonly #left: TreeLimits;
  readonly #depth: number;

  constructor(html: string, limits: TreeLimits) {
    this.#html = html;
    this.#left = { ...limits };
    this.#depth = limits.depth;
  }

  /** Takes space for text. Returns where the text or the space ends. */
  takeText(from: number, to: number): number {
    let end = Math.min(to, from + this.#left.length);
    for (const { index } of this.#html.slice(from, end).matchAll(PIECES)) {
      this.#left.elements -= PIECE;
      if (this.#left.elements > 0) continue;
      end = from + index;
      break;
    }
    this.#left.length -= end - from;
    return end;
  }

  /** Takes space for a tag. Returns whether there was enough. */
  takeTag({ name, isEnd, from, to }: Tag): boolean {
    const left = this.#left;
    left.length -= to - from;
    if (!isEnd) left.elements -= 1 + manyAttributes(this.#html.slice(from, to));
    if (!UNNESTED.test(name) && name !== "title") left.depth = Math.min(this.#depth, left.depth + (isEnd ? 1 : -1));
    return left.length >= 0 && left.elements >= 0 && left.depth >= 0;
  }
}

/** The extra cost of a tag with many attributes, in elements. Most tags have none. */
function manyAttributes(tag: string): number {
  if (tag.length < 200) return 0;
  const marks = tag.match(/[\s="'/]/g)?.length ?? 0;
  return Math.floor(Math.max(0, marks - 64) / 16);
}

/** The text after this many tags is left out, too: there is little text between so many. */
const MOST_TAGS = 500_000;

/** `most`: the limit on the text, in characters. */
export function plainText(html: string, most: number): { title?: string; text: string } {
  const title = /<title[^>]{0,200}>([^<]{0,2000})/i.exec(html.slice(0, 100_000))?.[1];
  const pieces: string[] = [];
  let [at, length, tags] = [0, 0, 0];
  const take = (to: number) => {
    const piece = html.slice(at, Math.min(to, at + most));
    if (piece !== "") pieces.push(piece);
    length += piece.length;
  };
  const isWhole = () => length <= 2 * most && tags <= MOST_TAGS;
  for (const { name, isEnd, from, to } of tagsIn(html)) {
    take(from);
    at = to;
    if (CELL.test(name)) pieces.push(isEnd ? " | " : "");
    else if (!INLINE.test(name) && (pieces.at(-1) !== "\n" || pieces.at(-2) !== "\n")) pieces.push("\n");
    tags++;
    if (!isWhole()) break;
  }
  if (isWhole()) take(html.length);
  const lines = decoded(pieces.join("")).split("\n").map((line) => line.replace(/\s+/g, " ").trim());
  const text = lines.filter((line, index) => line !== "" || lines[index - 1] !== "").join("\n").trim();
  return { ...(title && { title: decoded(title).replace(/\s+/g, " ").trim() }), text };
}

const ENTITIES: Readonly<Record<string, string>> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
  nbsp: " ",
  ndash: "–",
  mdash: "—",
  hellip: "…",
  copy: "©",
};

function decoded(text: string): string {
  return text.replace(/&(?:#(\d{1,7})|#x([\da-f]{1,6})|([a-z]{2,8}));/gi, (whole, decimal, hex, name) => {
    if (name) return ENTITIES[name] ?? whole;
    const code = parseInt(decimal ?? hex, hex ? 16 : 10);
    return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code).toWellFormed() : "";
  });
}
