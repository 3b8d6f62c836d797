/** The text of a page without a tree of it: for pages that no tree can be made of in time. All in one pass. */

/** Elements whose content nobody reads. */
const UNREAD = /^(script|style|noscript|template|svg|title|iframe|object|textarea|select)$/;
/** Elements inside a line. */
const INLINE =
  /^(a|abbr|b|bdi|bdo|cite|code|data|dfn|em|font|i|kbd|label|mark|q|s|samp|small|span|strong|sub|sup|time|tt|u|var|wbr)$/;
/** Elements without an end, or whose end is mostly left out. */
const UNNESTED =
  /^(area|base|br|col|embed|hr|img|input|link|meta|source|track|wbr|p|li|dt|dd|tr|td|th|option|thead|tbody|tfoot)$/;

interface Tag {
  name: string;
  isEnd: boolean;
  /** Where it begins, and what comes after it. */
  from: number;
  to: number;
}

/** Every tag, comments left out, and of elements that nobody reads only the beginning. */
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
 * The end of an element whose content is no tags; without one it ends where it begins. `endless`: those that have none up to the
 * end of the page, which is looked through once for each.
 */
function afterElement(html: string, name: string, from: number, endless: Set<string>): number {
  if (endless.has(name)) return from;
  for (let at = html.indexOf("</", from); at >= 0; at = html.indexOf("</", at + 2)) {
    if (html.slice(at + 2, at + 2 + name.length).toLowerCase() === name) return after(html, ">", at);
  }
  endless.add(name);
  return from;
}

/** The page without what nobody reads, and how large a tree of that is: elements, and how deep they stand. */
export function leanOf(html: string): { lean: string; elements: number; depth: number } {
  const pieces: string[] = [];
  let [at, elements, depth, deepest] = [0, 0, 0, 0];
  for (const { name, isEnd, from, to } of tagsIn(html)) {
    if (name === "!--" || (!isEnd && name !== "title" && UNREAD.test(name))) {
      pieces.push(html.slice(at, from));
      at = to;
      continue;
    }
    if (!isEnd) elements++;
    if (UNNESTED.test(name) || name === "title") continue;
    depth = isEnd ? Math.max(0, depth - 1) : depth + 1;
    deepest = Math.max(deepest, depth);
  }
  pieces.push(html.slice(at));
  return { lean: pieces.join(""), elements, depth: deepest };
}

/** `most`: characters of text, after which the rest is left. */
export function plainText(html: string, most: number): { title?: string; text: string } {
  const title = /<title[^>]{0,200}>([^<]{0,2000})/i.exec(html.slice(0, 100_000))?.[1];
  const pieces: string[] = [];
  let [at, length] = [0, 0];
  const take = (to: number) => {
    const piece = html.slice(at, Math.min(to, at + most));
    pieces.push(piece);
    length += piece.length;
  };
  for (const { name, from, to } of tagsIn(html)) {
    take(from);
    if (!INLINE.test(name)) pieces.push("\n");
    at = to;
    if (length > 2 * most) break;
  }
  if (length <= 2 * most) take(html.length);
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
