/** Puts settings into the text of a configuration. All comments stay where they are, and so does everything else. */
import { findNodeAtLocation, type Node, parseTree } from "jsonc-parser";
import type { JsonValue } from "../../canonical/json.ts";
import { checkNames, layoutOf } from "../connect/formats/json.ts";

export interface Setting {
  at: readonly (string | number)[];
  value: JsonValue;
  /** A line that explains a new entry. */
  comment?: string;
  /** The name of another property of the same object, whose place this one takes. */
  instead?: string;
  /** Put the value before the first one of the list that stands there. */
  isFirst?: boolean;
}

/** How wide a value may be to stand on one line. */
const WIDEST = 88;

/** The text, which must be an object, with the setting. Throws `FormatError` if a name on the way to it stands there twice. */
export function withSetting(text: string, setting: Setting): string {
  const { at, value, comment, instead, isFirst = false } = setting;
  checkNames(text, at);
  const layout = layoutOf(text);
  const root = parseTree(text, [], { allowTrailingComma: true })!;
  const old = instead === undefined ? undefined : findNodeAtLocation(root, [...at.slice(0, -1), instead])?.parent;
  if (old) return replaced(text, old, `${JSON.stringify(at.at(-1)!)}: ${inline(value)}`);
  const found = findNodeAtLocation(root, [...at]);
  if (found?.type === "array" && isFirst) return withFirst(text, found, value);
  if (found) return replaced(text, found, print(value, indentAt(text, found.offset), layout));
  let depth = at.length - 1;
  while (depth > 0 && !findNodeAtLocation(root, at.slice(0, depth))) depth--;
  const around = findNodeAtLocation(root, at.slice(0, depth))!;
  const [name, ...inner] = at.slice(depth);
  // A comment needs the objects around it first.
  if (comment !== undefined && inner.length > 0) {
    return withSetting(withSetting(text, { at: at.slice(0, -1), value: {} }), setting);
  }
  const nested = inner.reduceRight<JsonValue>((rest, step) => ({ [step]: rest }), isFirst ? [value] : value);
  // A null that removes something of the default becomes an object again.
  if (around.type !== "object") return withSetting(text, { at: at.slice(0, depth), value: { [name!]: nested } });
  const property = { name: String(name), value: nested, comment: inner.length === 0 ? comment : undefined };
  return besideOthers(text, around, property) ?? inserted(text, around, property);
}

/** The text with the objects around a place. New ones have lines of their own. */
export function withObjectsAround(text: string, at: Setting["at"]): string {
  checkNames(text, at);
  const root = parseTree(text, [], { allowTrailingComma: true })!;
  let depth = at.length - 1;
  while (depth > 0 && !findNodeAtLocation(root, at.slice(0, depth))) depth--;
  const around = findNodeAtLocation(root, at.slice(0, depth))!;
  const [name, ...steps] = at.slice(depth, -1);
  if (name === undefined || around.type !== "object") return text;
  return inserted(text, around, { name: String(name), value: {}, steps });
}

function replaced(text: string, { offset, length }: Node, by: string): string {
  return text.slice(0, offset) + by + text.slice(offset + length);
}

function withFirst(text: string, list: Node, value: JsonValue): string {
  const [first] = list.children ?? [];
  if (!first) return replaced(text, list, `[${inline(value)}]`);
  const layout = layoutOf(text);
  const indent = indentAt(text, first.offset);
  const between = isFirstOnLine(text, first.offset) ? `,${layout.eol}${indent}` : ", ";
  return `${text.slice(0, first.offset)}${print(value, indent, layout)}${between}${text.slice(first.offset)}`;
}

type Layout = ReturnType<typeof layoutOf>;

interface Property {
  name: string;
  value: JsonValue;
  comment?: string;
  /** The names of new objects inside of it, each on a line of its own. */
  steps?: readonly (string | number)[];
}

/** The text with a property on the line of the others. Absent if they have several lines, or if the line would be too long. */
function besideOthers(text: string, { offset, length, children }: Node, property: Property): string | undefined {
  const { name, value, comment } = property;
  const last = children?.at(-1);
  const end = offset + length - 1;
  if (!last || comment !== undefined || text.slice(offset, end).includes("\n")) return undefined;
  const from = last.offset + last.length;
  const { comma, place } = placeAfter(text, from, end);
  const own = ` ${JSON.stringify(name)}: ${inline(value)}${comma ? "," : ""}`;
  const line = text.slice(text.lastIndexOf("\n", offset - 1) + 1, place) + own + text.slice(place).split(/\r?\n/, 1)[0];
  if (line.length > WIDEST) return undefined;
  return `${text.slice(0, from)}${comma ? "" : ","}${text.slice(from, place)}${own}${text.slice(place)}`;
}

/** The text with a property at the end of an object, after the comment that may stand behind the last one. */
function inserted(text: string, around: Node, { name, value, comment, steps = [] }: Property): string {
  const layout = layoutOf(text);
  const { eol } = layout;
  const unit = unitOf(layout);
  const last = around.children?.at(-1);
  const outer = indentAt(text, around.offset);
  const indent = last && isFirstOnLine(text, last.offset) ? indentAt(text, last.offset) : outer + unit;
  const end = around.offset + around.length - 1;
  const from = last ? last.offset + last.length : around.offset + 1;
  const { comma, place } = placeAfter(text, from, end);
  const lines = [
    ...comment === undefined ? [] : [`${indent}// ${comment}`],
    `${indent}${JSON.stringify(name)}: ${opened(steps, value, indent, layout)}`,
  ];
  const start = around.offset + 1;
  const kept = last && !comma ? `${text.slice(start, from)},${text.slice(from, place)}` : text.slice(start, place);
  // An object that was on one line gets a second one.
  const isOneLine = last !== undefined && !text.slice(start, end).includes("\n");
  const before = text.slice(0, start) + (isOneLine ? `${eol}${indent}${kept.trimStart()}` : kept);
  const rest = text.slice(place);
  const isOpen = /^[ \t]*\r?\n/.test(rest);
  return `${before}${eol}${lines.join(eol!)}${comma ? "," : ""}${isOpen ? rest : `${eol}${outer}${rest.trimStart()}`}`;
}

/** A comment, whole: a comma inside of it is none. */
export const COMMENT = /\/\*(?:[^*]|\*(?!\/))*\*\/|\/\/[^\r\n]*(?=[\r\n]|$)/.source;
const COMMA_AHEAD = new RegExp(`^(?:\\s|${COMMENT})*,`);
const REST_OF_LINE = new RegExp(`^(?:[ \\t]*(?:${COMMENT}))*`);

/** Whether a comma follows, and the place after it and after the comments on its line. `bare`: the place before those comments. */
export function placeAfter(text: string, from: number, end: number): { comma: boolean; place: number; bare: number } {
  const rest = text.slice(from, end);
  const before = COMMA_AHEAD.exec(rest)?.[0] ?? "";
  const comments = REST_OF_LINE.exec(rest.slice(before.length))![0];
  const bare = from + before.length;
  return { comma: before !== "", place: bare + comments.length, bare };
}

function unitOf({ insertSpaces, tabSize }: Layout): string {
  return insertSpaces ? " ".repeat(tabSize ?? 2) : "\t";
}

/** The blanks at the beginning of the line on which this offset is. */
export function indentAt(text: string, offset: number): string {
  const start = text.lastIndexOf("\n", offset - 1) + 1;
  return /^[ \t]*/.exec(text.slice(start, offset))![0];
}

export function isFirstOnLine(text: string, offset: number): boolean {
  const start = text.lastIndexOf("\n", offset - 1) + 1;
  return start > 0 && text.slice(start, offset).trim() === "";
}

/** New objects, each inside of the one before, and the value in the last of them. */
function opened(
  [step, ...rest]: readonly (string | number)[],
  value: JsonValue,
  indent: string,
  layout: Layout,
): string {
  if (step === undefined) return print(value, indent, layout);
  const inner = indent + unitOf(layout);
  const own = opened(rest, value, inner, layout);
  return `{${layout.eol}${inner}${JSON.stringify(String(step))}: ${own}${layout.eol}${indent}}`;
}

/** JSON with short values on one line. */
export function print(value: JsonValue, indent: string, layout: Layout): string {
  const short = inline(value);
  if (short.length + indent.length <= WIDEST || typeof value !== "object" || value === null) return short;
  const inner = indent + unitOf(layout);
  const items = Array.isArray(value)
    ? value.map((one) => print(one, inner, layout))
    : Object.entries(value).map(([name, one]) => `${JSON.stringify(name)}: ${print(one!, inner, layout)}`);
  const [open, close] = Array.isArray(value) ? "[]" : "{}";
  return `${open}${layout.eol}${
    items.map((item) => inner + item).join(`,${layout.eol}`)
  }${layout.eol}${indent}${close}`;
}

function inline(value: JsonValue): string {
  if (Array.isArray(value)) return `[${value.map(inline).join(", ")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const items = Object.entries(value).map(([name, one]) => `${JSON.stringify(name)}: ${inline(one!)}`);
  return items.length === 0 ? "{}" : `{ ${items.join(", ")} }`;
}
