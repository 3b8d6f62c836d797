// @ts-check
/// <reference lib="dom" />
/** Two texts side by side, or below each other on a phone. Parts that are the same are folded. */
import { html, useEffect, useMemo, useState } from "../ui.js";
import { diffLines } from "../diff.js";
import { Button } from "./parts.js";

/**
 * A line on each side; a side is missing where the other has a line of its own. `pair`: the line that it is compared with, if that
 * stands in another row.
 * @typedef {{ number: number, text: string }} Side
 * @typedef {{ isSame: boolean, left?: Side, right?: Side, pair?: Side }} Row
 * @typedef {{ from: number, rows: Row[], isSame: boolean }} Part
 */

const narrow = globalThis.matchMedia?.("(max-width: 52rem)") ?? { matches: false };
/** Lines that are shown around a difference. */
const AROUND = 3;
/** More rows are drawn on demand. */
const MOST_ROWS = 1_000;
/** Within a line, so many characters around its difference are shown. */
const AROUND_IN_LINE = 120;
const LONGEST = 4_000;
/** Lines of which such a part is the same are one line that was changed. */
const ALIKE = 0.4;

/**
 * @param {string} before
 * @param {string} after
 * @returns {Row[]}
 */
export function rowsOf(before, after) {
  /** @type {Row[]} */
  const rows = [];
  let [left, right] = [0, 0];
  /** The first row of the present difference that still has room on the right. */
  let open = 0;
  for (const { kind, text } of diffLines(before, after)) {
    if (kind === " ") {
      rows.push({ isSame: true, left: { number: ++left, text }, right: { number: ++right, text } });
      open = rows.length;
    } else if (kind === "-") {
      rows.push({ isSame: false, left: { number: ++left, text } });
    } else {
      const side = { number: ++right, text };
      while (open < rows.length && rows[open]?.right) open++;
      const row = rows[open];
      if (row) row.right = side;
      else rows.push({ isSame: false, right: side });
    }
  }
  return rows;
}

/**
 * The rows in parts. Those that are the same and not near a difference are parts of their own, which can be folded.
 * @param {readonly Row[]} rows
 * @returns {Part[]}
 */
export function partsOf(rows) {
  const isNear = rows.map(() => false);
  rows.forEach(({ isSame }, at) => {
    if (!isSame) isNear.fill(true, Math.max(0, at - AROUND), at + AROUND + 1);
  });
  /** @type {Part[]} */
  const parts = [];
  rows.forEach((row, at) => {
    const isSame = isNear[at] === false;
    const last = parts.at(-1);
    if (last?.isSame === isSame) last.rows.push(row);
    else parts.push({ from: at, rows: [row], isSame });
  });
  // To fold a single line would take as much room.
  return parts.map((part) => part.rows.length === 1 ? { ...part, isSame: false } : part);
}

/**
 * The rows for one column: in each difference the lines that are gone, and then those that came.
 * @param {readonly Row[]} rows
 * @returns {Row[]}
 */
export function inOneColumn(rows) {
  /** @type {Row[]} */
  const all = [];
  /** @type {Row[]} */
  let came = [];
  for (const row of rows) {
    const { isSame, left, right } = row;
    if (isSame) {
      all.push(...came, row);
      came = [];
      continue;
    }
    if (left) all.push({ isSame, left, pair: right });
    if (right) came.push({ isSame, right, pair: left });
  }
  return [...all, ...came];
}

/** Whether the window has room for one column only. */
function useNarrow() {
  const [isNarrow, setNarrow] = useState(narrow.matches);
  useEffect(() => {
    const change = () => setNarrow(narrow.matches);
    narrow.addEventListener("change", change);
    return () => narrow.removeEventListener("change", change);
  }, []);
  return isNarrow;
}

/** @param {{ label: string, titles: readonly [string, string], before: string, after: string }} props */
export function DiffView({ label, titles, before, after }) {
  const isNarrow = useNarrow();
  const rows = useMemo(() => {
    const rows = rowsOf(before, after);
    return isNarrow ? inOneColumn(rows) : rows;
  }, [before, after, isNarrow]);
  const parts = useMemo(() => partsOf(rows), [rows]);
  const [opened, setOpened] = useState(/** @type {ReadonlySet<number>} */ (new Set()));
  const [most, setMost] = useState(MOST_ROWS);
  const changes = rows.filter(({ isSame }) => !isSame);
  if (changes.length === 0) return html`<p class="quiet" role="status">Both are the same.</p>`;
  const folded = parts.filter(({ from, isSame }) => isSame && !opened.has(from));
  const foldAll = () => setOpened(new Set(folded.length > 0 ? folded.map(({ from }) => from).concat(...opened) : []));
  let left = most;
  const drawn = parts.map((part) => {
    if (part.isSame && !opened.has(part.from)) {
      return left > 0 && html`
        <${Fold} key=${`${part.from} fold`} count=${part.rows.length} onOpen=${() =>
          setOpened(new Set([...opened, part.from]))} />
      `;
    }
    const shown = part.rows.slice(0, Math.max(0, left));
    left -= part.rows.length;
    return shown.map((row, index) => html`<${OneRow} key=${part.from + index} row=${row} />`);
  });
  const removed = changes.filter(({ left }) => left).length;
  const added = changes.filter(({ right }) => right).length;
  return html`
    <div class="diff-view">
      <div class="toolbar">
        <span role="status">
          <span class="removed">−${removed}</span> <span class="added">+${added}</span> ${removed + added === 1
            ? "line"
            : "lines"}
        </span>
        ${parts.some(({ isSame }) => isSame) &&
          html`<${Button} kind="ghost" icon=${
            folded.length > 0 ? "unfold-vertical" : "fold-vertical"
          } onClick=${foldAll}>${folded.length > 0 ? "Show what is the same" : "Fold what is the same"}<//>`}
      </div>
      <div class="diff-scroll" tabindex="0" role="region" aria-label=${label}>
        <table class="diff-table">
          <colgroup><col class="at" /><col /><col class="at" /><col /></colgroup>
          <thead><tr><th colspan="2" scope="colgroup">${titles[0]}</th><th colspan="2" scope="colgroup">${titles[
            1
          ]}</th></tr></thead>
          <tbody>${drawn}</tbody>
        </table>
        ${left < 0 && html`
          <p>
            <${Button} onClick=${() => setMost(most * 4)}>${-left} more lines<//></p>
        `}
      </div>
    </div>
  `;
}

/** @param {{ count: number, onOpen(): void }} props */
function Fold({ count, onOpen }) {
  return html`
    <tr class="diff-fold">
      <td colspan="4"><button type="button" onClick=${onOpen}>${count} lines are the same</button></td>
    </tr>
  `;
}

/** @param {{ row: Row }} props */
function OneRow({ row: { isSame, left, right, pair } }) {
  const [one, other] = [left ?? pair, right ?? pair];
  const ends = !isSame && one && other ? endsOf(one.text, other.text) : undefined;
  return html`
    <tr data-kind=${isSame ? "same" : left && right ? "changed" : left ? "removed" : "added"}>
      <td class="at left">${left?.number}</td>
      <td class=${isSame ? "left" : left ? "left removed" : "left none"}>${left &&
        html`<${Text} text=${left.text} ends=${ends} tag="del" isSame=${isSame} />`}</td>
      <td class="at right">${right?.number}</td>
      <td class=${isSame ? "right" : right ? "right added" : "right none"}>${right &&
        html`<${Text} text=${right.text} ends=${ends} tag="ins" isSame=${isSame} />`}</td>
    </tr>
  `;
}

/** How much of two lines is the same at their beginnings and ends. Nothing for lines that have little in common. @param {string} one @param {string} other */
function endsOf(one, other) {
  const most = Math.min(one.length, other.length);
  let start = 0;
  while (start < most && one[start] === other[start]) start++;
  let end = 0;
  while (end < most - start && one.at(-1 - end) === other.at(-1 - end)) end++;
  const indent = /^ */.exec(one)?.[0].length ?? 0;
  const isAlike = start - indent + end >= ALIKE * (Math.max(one.length, other.length) - indent);
  return isAlike || most > LONGEST ? { start, end } : undefined;
}

/** @param {{ text: string, ends: { start: number, end: number } | undefined, tag: "del" | "ins", isSame: boolean }} props */
function Text({ text, ends, tag, isSame }) {
  if (isSame) return cut(text);
  if (!ends) return html`<${tag}>${cut(text)}<//>`;
  const before = text.slice(0, ends.start);
  const after = text.slice(text.length - ends.end);
  const own = text.slice(ends.start, text.length - ends.end);
  return html`
    <${tag}>${before.length > AROUND_IN_LINE ? `…${before.slice(-AROUND_IN_LINE)}` : before}<mark>${cut(
      own,
    )}</mark>${after.length > AROUND_IN_LINE ? `${after.slice(0, AROUND_IN_LINE)}…` : after}<//>
  `;
}

/** @param {string} text */
function cut(text) {
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}… (${text.length - LONGEST} more characters)` : text;
}
