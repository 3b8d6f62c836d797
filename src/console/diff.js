// @ts-check
/** The differences between two texts, line by line. */
import { diffIndices } from "node-diff3";

/** Above this many pairs of lines, everything between the first and the last difference counts as changed. */
const MOST_PAIRS = 4_000_000;

const LINE_END = /\r\n?|\n/;

/**
 * @typedef {{ kind: " " | "-" | "+", text: string }} Line
 * @param {string} before
 * @param {string} after
 * @returns {Line[]}
 */
export function diffLines(before, after) {
  const [old, own] = [before.split(LINE_END), after.split(LINE_END)];
  let start = 0;
  while (start < old.length && start < own.length && old[start] === own[start]) start++;
  let end = 0;
  while (end < old.length - start && end < own.length - start && old.at(-1 - end) === own.at(-1 - end)) end++;
  /** @type {(lines: string[], kind: Line["kind"]) => Line[]} */
  const as = (lines, kind) => lines.map((text) => ({ kind, text }));
  return [
    ...as(old.slice(0, start), " "),
    ...between(old.slice(start, old.length - end), own.slice(start, own.length - end)),
    ...as(old.slice(old.length - end), " "),
  ];
}

/**
 * @param {string[]} old
 * @param {string[]} own
 * @returns {Line[]}
 */
function between(old, own) {
  if (old.length * own.length > MOST_PAIRS) return [...old.map(minus), ...own.map(plus)];
  /** @type {Line[]} */
  const lines = [];
  let at = 0;
  for (const { buffer1: [from, length], buffer2Content } of diffIndices(old, own)) {
    lines.push(
      ...old.slice(at, from).map(same),
      ...old.slice(from, from + length).map(minus),
      ...buffer2Content.map(plus),
    );
    at = from + length;
  }
  return [...lines, ...old.slice(at).map(same)];
}

/** @type {(text: string) => Line} */
const same = (text) => ({ kind: " ", text });
/** @type {(text: string) => Line} */
const minus = (text) => ({ kind: "-", text });
/** @type {(text: string) => Line} */
const plus = (text) => ({ kind: "+", text });

/**
 * A text of an editor, which knows one kind of line end: each line ends as it did before; a new one, as the one above it.
 * @param {string} before
 * @param {string} after
 */
export function withEndsOf(before, after) {
  if (!before.includes("\r")) return after;
  const ends = before.match(new RegExp(LINE_END, "g")) ?? [];
  if (ends.every((end) => end === "\r\n")) return after.replaceAll("\n", "\r\n");
  let [at, end] = [0, ends[0] ?? "\n"];
  let [whole, between] = ["", ""];
  for (const { kind, text } of diffLines(before, after)) {
    if (kind !== "+") end = ends[at++] ?? end;
    if (kind === "-") continue;
    whole += between + text;
    between = end;
  }
  return whole;
}

/**
 * The lines that differ, with some around them; nothing stands for what is left out.
 * @param {readonly Line[]} lines
 * @param {number} around
 * @returns {(Line | undefined)[]}
 */
export function hunks(lines, around = 3) {
  const isNear = lines.map(() => false);
  lines.forEach(({ kind }, at) => {
    if (kind === " ") return;
    for (let near = Math.max(0, at - around); near <= at + around && near < lines.length; near++) isNear[near] = true;
  });
  /** @type {(Line | undefined)[]} */
  const shown = [];
  lines.forEach((line, at) => {
    if (isNear[at]) shown.push(line);
    else if (shown.length > 0 && shown.at(-1) !== undefined) shown.push(undefined);
  });
  if (shown.at(-1) === undefined) shown.pop();
  return shown;
}
