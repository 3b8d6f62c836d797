/** Edits of a configuration's text by the console's forms. All comments stay, except those of what is removed or replaced. */
import { findNodeAtLocation, type Node, parseTree } from "jsonc-parser";
import type { JsonValue } from "../../canonical/json.ts";
import { checkNames, layoutOf } from "../connect/formats/json.ts";
import type { Edit } from "../../context/console.ts";
import { COMMENT, indentAt, isFirstOnLine, placeAfter, print, withObjectsAround, withSetting } from "./document.ts";

/** A byte order mark. */
const MARK = "\ufeff";

/** The text, which must be an object, with the edits one after the other. Throws `FormatError` if a name on the way stands there twice. */
export function withEdits(text: string, edits: readonly Edit[]): string {
  const mark = text.startsWith(MARK) ? MARK : "";
  return mark + edits.reduce(withEdit, text.slice(mark.length));
}

function withEdit(text: string, { at, value }: Edit): string {
  if (value === undefined) return without(text, at);
  const list = typeof at.at(-1) === "number" ? nodeAt(text, at.slice(0, -1)) : undefined;
  const isNext = list?.type === "array" && list.children!.length <= Number(at.at(-1));
  return isNext ? appended(text, list, value) : withSetting(withObjectsAround(text, at), { at, value });
}

function nodeAt(text: string, at: Edit["at"]): Node | undefined {
  return findNodeAtLocation(parseTree(text, [], { allowTrailingComma: true })!, [...at]);
}

function appended(text: string, list: Node, value: JsonValue): string {
  const layout = layoutOf(text);
  const last = list.children!.at(-1);
  const start = list.offset + 1;
  if (!last) return text.slice(0, start) + print(value, indentAt(text, list.offset), layout) + text.slice(start);
  const after = last.offset + last.length;
  const { comma, place } = placeAfter(text, after, list.offset + list.length - 1);
  const indent = indentAt(text, last.offset);
  const ownLine = isFirstOnLine(text, last.offset) || text.slice(after, place).includes("//");
  const item = `${ownLine ? `${layout.eol}${indent}` : " "}${print(value, indent, layout)}`;
  const kept = comma ? text.slice(after, place) : `,${text.slice(after, place)}`;
  return `${text.slice(0, after)}${kept}${item}${comma ? "," : ""}${text.slice(place)}`;
}

/** The text without the property or the item, and without the comments in the lines above it and behind it. */
function without(text: string, at: Edit["at"]): string {
  checkNames(text, at);
  const value = nodeAt(text, at);
  const node = value?.parent?.type === "property" ? value.parent : value;
  const around = node?.parent;
  if (!node || !around) return text;
  const end = around.offset + around.length - 1;
  const index = around.children!.indexOf(node);
  const { comma, from, to } = spanOf(text, node, end);
  const isLast = index === around.children!.length - 1;
  const before = isLast && !comma ? around.children![index - 1] : undefined;
  const head = before ? withoutComma(text.slice(0, from), before.offset + before.length) : text.slice(0, from);
  const tail = text.slice(to);
  if (around.children!.length > 1) return head + tail;
  // An object or list that has become empty keeps no blank lines.
  const [kept, rest] = [text.slice(around.offset + 1, from), text.slice(to, end)];
  return (kept + rest).trim() === "" ? text.slice(0, around.offset + 1) + text.slice(end) : head + tail;
}

/** The characters that go with a node, and whether a comma is among them. `end`: that of the object or list around it. */
function spanOf(text: string, node: Node, end: number): { comma: boolean; from: number; to: number } {
  const after = node.offset + node.length;
  const { comma, place, bare } = placeAfter(text, after, end);
  const isFirst = isFirstOnLine(text, node.offset);
  const lineEnd = /^[ \t]*(?:\r?\n|$)/.exec(text.slice(place))?.[0];
  if (lineEnd === undefined) {
    // A comment on the line belongs to what follows there, unless the brackets end.
    const to = place === end || /^\s*$/.test(text.slice(place, end)) ? place : bare;
    return { comma, from: node.offset, to: comma ? skipped(text, to, end) : to };
  }
  if (!isFirst) return { comma, from: blanksBefore(text, node.offset), to: place };
  return { comma, from: aboveOf(text, node.offset), to: place + lineEnd.length };
}

function skipped(text: string, from: number, end: number): number {
  return from + /^[ \t]*/.exec(text.slice(from, end))![0].length;
}

function blanksBefore(text: string, offset: number): number {
  return text.slice(0, offset).replace(/[ \t]+$/, "").length;
}

const TOKENS = new RegExp(`"(?:[^"\\\\\\n]|\\\\.)*"|${COMMENT}`, "g");

/** The beginning of the lines of comments that stand directly above. */
function aboveOf(text: string, offset: number): number {
  let start = text.lastIndexOf("\n", offset - 1) + 1;
  const comments = [...text.slice(0, start).matchAll(TOKENS)].filter(([token]) => !token.startsWith('"')).reverse();
  for (const { 0: token, index } of comments) {
    const isAlone = isFirstOnLine(text, index) && /^[ \t]*\r?\n$/.test(text.slice(index + token.length, start));
    if (!isAlone) break;
    start = text.lastIndexOf("\n", index - 1) + 1;
  }
  return start;
}

/** The text without the comma behind `from`. Comments before it stay. */
function withoutComma(text: string, from: number): string {
  const before = new RegExp(`^(?:\\s|${COMMENT})*(?=,)`).exec(text.slice(from))?.[0];
  if (before === undefined) return text;
  const at = from + before.length;
  return text.slice(0, at) + text.slice(at + 1);
}
