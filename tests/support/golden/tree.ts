import { isRawNumber, parseExactly } from "../../../src/canonical/raw_number.ts";
import type { JsonValue } from "../../../src/canonical/json.ts";

/** JSON in which a word may stand for a value: `(absent)`, `(id of message 0)`. */
export type Tree = string | number | boolean | null | Word | Tree[] | Branch;
export type Branch = { [key: string]: Tree };

/** A word that is written in place of a value, in round brackets and without quotes. */
export class Word {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  toJSON(): string {
    return this.text;
  }
}

/** The tree of a JSON text, with the digits of its numbers. */
export function parseTree(text: string): Tree {
  return parseExactly(text) as Tree;
}

export function isBranch(value: Tree | undefined): value is Branch {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Word) &&
    !isRawNumber(value);
}

/** Whether both are written in the same way, with their members in the same order. */
export function isSame(one: Tree | undefined, other: Tree | undefined): boolean {
  if (one === other) return one !== undefined;
  if (Array.isArray(one) && Array.isArray(other)) {
    return one.length === other.length && one.every((item, index) => isSame(item, other[index]));
  }
  if (isBranch(one) && isBranch(other)) return isSame(Object.entries(one), Object.entries(other));
  return typeof one === "object" && typeof other === "object" && one !== null && other !== null &&
    inOneLine(one) === inOneLine(other);
}

/** The tree with each leaf changed. */
export function mapLeaves(tree: Tree, change: (leaf: Tree) => Tree): Tree {
  if (Array.isArray(tree)) return tree.map((item) => mapLeaves(item, change));
  if (!isBranch(tree)) return change(tree);
  return Object.fromEntries(Object.entries(tree).map(([key, value]) => [key, mapLeaves(value, change)]));
}

const WIDTH = 120;

/** The tree on as few lines as fit, one member a line where they do not. The outermost object is always opened. */
export function layOut(tree: Tree): string {
  return isBranch(tree) && Object.keys(tree).length > 0 ? open(tree, "") : write(tree, "", 0);
}

/** The tree on one line. */
export function inOneLine(tree: Tree): string {
  if (Array.isArray(tree)) return `[${tree.map(inOneLine).join(", ")}]`;
  if (!isBranch(tree)) return leaf(tree);
  return `{${Object.entries(tree).map(([key, value]) => `${JSON.stringify(key)}: ${inOneLine(value)}`).join(", ")}}`;
}

function write(tree: Tree, indent: string, used: number): string {
  if (!Array.isArray(tree) && !isBranch(tree)) return leaf(tree);
  const room = WIDTH - indent.length - used;
  // The line is at least as long as the JSON text, which takes less time to make.
  const line = JSON.stringify(tree).length < room ? inOneLine(tree) : undefined;
  return line !== undefined && line.length < room ? line : open(tree, indent);
}

function open(tree: Tree[] | Branch, indent: string): string {
  const inner = `${indent}  `;
  if (Array.isArray(tree)) {
    return `[\n${tree.map((item) => inner + write(item, inner, 0)).join(",\n")}\n${indent}]`;
  }
  const members = Object.entries(tree).map(([key, value]) => {
    const name = `${JSON.stringify(key)}: `;
    return inner + name + write(value, inner, name.length);
  });
  return `{\n${members.join(",\n")}\n${indent}}`;
}

function leaf(value: Tree): string {
  return value instanceof Word ? `(${value.text})` : JSON.stringify(value as JsonValue);
}
