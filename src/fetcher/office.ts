/**
 * Reads the text of office documents (ECMA-376): XML in a ZIP file. It is read in one pass without a tree, and no more is inflated
 * than a limit: a few kB may claim to be gigabytes.
 */
import { strFromU8, unzipSync } from "fflate";

/** The most bytes of all parts together once they are inflated, and how many entries the file may have. */
const [MOST_BYTES, MOST_ENTRIES] = [64 * 2 ** 20, 10_000];

/** The text of a document. `most`: the limit on it, in characters; somewhat more may be returned. Throws if it is none. */
export function officeText(kind: "docx" | "xlsx" | "pptx", bytes: Uint8Array, most: number): string {
  switch (kind) {
    case "docx":
      return wordText(partsOf(bytes, (name) => name === "word/document.xml"), most);
    case "xlsx":
      return sheetTexts(
        partsOf(bytes, (name) => /^xl\/(workbook|sharedStrings|worksheets\/[^/]+)\.xml$/.test(name)),
        most,
      );
    case "pptx":
      return slideTexts(partsOf(bytes, (name) => /^ppt\/slides\/slide\d+\.xml$/.test(name)), most);
    default:
      return kind satisfies never;
  }
}

/** The inflated parts by name. The sizes that the file claims are kept to: what is longer than it claims is an error. */
function partsOf(bytes: Uint8Array, isWanted: (name: string) => boolean): Map<string, string> {
  let [entries, total] = [0, 0];
  const parts = unzipSync(bytes, {
    filter({ name, originalSize }) {
      if (++entries > MOST_ENTRIES) throw new Error("The file has too many entries");
      if (!isWanted(name)) return false;
      total += originalSize;
      if (total > MOST_BYTES) throw new Error("The file is too large once it is inflated");
      return true;
    },
  });
  const found = new Map(Object.entries(parts).map(([name, part]) => [name, strFromU8(part)]));
  if (found.size === 0) throw new Error("The file is not what it claims");
  return found;
}

/** A tag, or the text between two. */
interface Piece {
  /** The name of a tag, without a prefix. Absent for text. */
  tag?: string;
  isEnd?: boolean;
  /** Whether the tag has no content. */
  isEmpty?: boolean;
  /** The text, or what stands in the tag beside its name. */
  text: string;
}

/** The tags and texts of XML, in order. Comments, declarations and instructions are left out. */
function* piecesOf(xml: string): Generator<Piece> {
  for (let at = 0; at < xml.length;) {
    const open = xml.indexOf("<", at);
    const end = open < 0 ? xml.length : open;
    if (end > at) yield { text: unescaped(xml.slice(at, end)) };
    if (open < 0) return;
    const close = xml.startsWith("<!--", open) ? xml.indexOf("-->", open) : xml.indexOf(">", open);
    if (close < 0) return;
    const inner = xml.slice(open + 1, close);
    at = close + (inner.startsWith("!--") ? 3 : 1);
    if (inner.startsWith("!") || inner.startsWith("?")) continue;
    const isEnd = inner.startsWith("/");
    const space = inner.search(/[\s/]/);
    const name = isEnd ? inner.slice(1).trim() : space < 0 ? inner : inner.slice(0, space);
    const tag = name.slice(name.indexOf(":") + 1);
    yield { tag, isEnd, isEmpty: inner.endsWith("/"), text: inner.slice(name.length) };
  }
}

const ENTITIES: Readonly<Record<string, string>> = { lt: "<", gt: ">", amp: "&", quot: '"', apos: "'" };

/** Entities that a document declares itself are left as they stand: they could expand to anything. */
function unescaped(text: string): string {
  if (!text.includes("&")) return text;
  return text.replace(/&(#x?[\da-f]{1,6}|[a-z]{2,4});/gi, (whole, name: string) => {
    if (!name.startsWith("#")) return ENTITIES[name] ?? whole;
    const code = /^#x/i.test(name) ? parseInt(name.slice(2), 16) : parseInt(name.slice(1), 10);
    return code > 0 && code < 0x110000 ? String.fromCodePoint(code) : "";
  });
}

function attribute(text: string, name: string): string | undefined {
  const found = new RegExp(`(?:^|[\\s:])${name}\\s*=\\s*(?:"([^"]*)"|'([^']*)')`).exec(text);
  return found ? unescaped(found[1] ?? found[2] ?? "") : undefined;
}

/** Text that grows to a limit. */
class Growing {
  readonly #pieces: string[] = [];
  readonly #most: number;
  #length = 0;

  constructor(most: number) {
    this.#most = most;
  }

  get isFull(): boolean {
    return this.#length > this.#most;
  }

  add(text: string): void {
    this.#pieces.push(text);
    this.#length += text.length;
  }

  toString(): string {
    return this.#pieces.join("").replace(/[ \t]+\n/g, "\n").replace(/\n{3,}/g, "\n\n").trim();
  }
}

/** Whether a tag opens an element with content. */
function opens({ isEnd, isEmpty }: Piece): boolean {
  return !isEnd && !isEmpty;
}

/** Paragraphs as lines, headings with number signs, and rows of tables with bars. */
function wordText(parts: ReadonlyMap<string, string>, most: number): string {
  const text = new Growing(most);
  let [isText, cells] = [false, 0];
  for (const piece of piecesOf(parts.get("word/document.xml")!)) {
    if (text.isFull) break;
    const { tag, isEnd } = piece;
    if (tag === undefined) {
      if (isText) text.add(piece.text);
      continue;
    }
    if (tag === "t") isText = opens(piece);
    if (tag === "tc") cells += isEnd ? -1 : Number(opens(piece));
    text.add(isEnd ? endOf(tag, cells > 0) : startOf(piece));
  }
  return String(text);
}

function startOf({ tag, text }: Piece): string {
  if (tag === "tab") return "\t";
  if (tag === "br") return "\n";
  const level = tag === "pStyle" ? /^heading\s?([1-6])$/i.exec(attribute(text, "val") ?? "")?.[1] : undefined;
  return level ? `${"#".repeat(Number(level))} ` : "";
}

function endOf(tag: string, isInCell: boolean): string {
  if (tag === "p") return isInCell ? " " : "\n\n";
  return tag === "tr" ? "\n" : tag === "tc" ? " | " : "";
}

/** The text of each slide under its number. */
function slideTexts(parts: ReadonlyMap<string, string>, most: number): string {
  const text = new Growing(most);
  const numberOf = (name: string) => Number(/\d+/.exec(name)![0]);
  for (const [name, xml] of [...parts].sort(([one], [other]) => numberOf(one) - numberOf(other))) {
    text.add(`\n\n## Slide ${numberOf(name)}\n\n`);
    let isText = false;
    for (const { tag, isEnd, isEmpty, text: inner } of piecesOf(xml)) {
      if (text.isFull) return String(text);
      if (tag === undefined) {
        if (isText) text.add(inner);
      } else if (tag === "t") isText = !isEnd && !isEmpty;
      else if (isEnd && tag === "p" || tag === "br") text.add("\n");
    }
  }
  return String(text);
}

/** Each sheet as comma-separated values under its name. */
function sheetTexts(parts: ReadonlyMap<string, string>, most: number): string {
  const text = new Growing(most);
  const shared = sharedTexts(parts.get("xl/sharedStrings.xml") ?? "");
  const names = [...piecesOf(parts.get("xl/workbook.xml") ?? "")].flatMap(({ tag, isEnd, text }) =>
    tag === "sheet" && !isEnd ? [attribute(text, "name") ?? ""] : []
  );
  const numberOf = (name: string) => Number(/(\d+)\.xml$/.exec(name)?.[1] ?? 0);
  const sheets = [...parts].filter(([name]) => name.startsWith("xl/worksheets/"))
    .sort(([one], [other]) => numberOf(one) - numberOf(other));
  for (const [index, [, xml]] of sheets.entries()) {
    text.add(`\n\n## ${names[index] ?? `Sheet ${index + 1}`}\n\n`);
    addRows(xml, shared, text);
    if (text.isFull) break;
  }
  return String(text);
}

/** The texts to which cells refer by number. */
function sharedTexts(xml: string): string[] {
  const texts: string[] = [];
  let [isText, current] = [false, ""];
  for (const { tag, isEnd, isEmpty, text } of piecesOf(xml)) {
    if (tag === undefined) current += isText ? text : "";
    else if (tag === "t") isText = !isEnd && !isEmpty;
    else if (tag === "si" && (isEnd || isEmpty)) {
      texts.push(current);
      current = "";
    }
  }
  return texts;
}

/** The most empty cells that are written before one with a value: a single cell may be in column XFD. */
const MOST_EMPTY = 100;

function addRows(xml: string, shared: readonly string[], text: Growing): void {
  let type: string | undefined;
  let [value, isValue, place, written] = ["", false, -1, 0];
  for (const piece of piecesOf(xml)) {
    if (text.isFull) return;
    const { tag, isEnd } = piece;
    if (tag === undefined) value += isValue ? piece.text : "";
    else if (tag === "v" || tag === "t") isValue = opens(piece);
    else if (tag === "row") {
      if (isEnd) text.add("\n");
      [place, written] = [-1, 0];
    } else if (tag === "c" && !isEnd) {
      type = attribute(piece.text, "t");
      place = columnOf(attribute(piece.text, "r")) ?? place + 1;
      value = "";
    } else if (tag === "c") {
      text.add(",".repeat(Math.min(Math.max(place - written, 0), MOST_EMPTY)));
      text.add(quoted(type === "s" ? shared[Number(value)] : value));
      written = place;
    }
  }
}

/** `B7` is column 1. */
function columnOf(reference = ""): number | undefined {
  const letters = /^([A-Z]{1,3})\d/.exec(reference)?.[1];
  if (!letters) return undefined;
  return [...letters].reduce((number, letter) => number * 26 + letter.charCodeAt(0) - 64, 0) - 1;
}

function quoted(text = ""): string {
  return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
