// @ts-check
/// <reference lib="dom" />
/** JSON in a monospaced font: colored, folded, searched and copied. */
import { html, useMemo, useState } from "../ui.js";
import { Icon, IconButton } from "./parts.js";

/**
 * A line of the text. `depth`: how far it is indented. `end`: the last line of the value that begins here, if it is a
 * list or an object with content.
 * @typedef {{ depth: number, key?: string, text: string, kind: "string" | "other" | "mark", after: string, end?: number }} JsonLine
 */

/** Texts are cut within a line, in characters: a picture is one of a megabyte. */
const LONGEST = 2_000;
/** Values nested deeper than this are not written out. */
const DEEPEST = 100;
/** How many lines are in the page at once. */
const MOST_LINES = 2_000;

/**
 * @param {unknown} value
 * @returns {JsonLine[]}
 */
export function jsonLines(value) {
  /** @type {JsonLine[]} */
  const lines = [];
  write(value, { depth: 0, after: "" }, lines);
  return lines;
}

/**
 * @param {unknown} value
 * @param {{ depth: number, key?: string, after: string }} place
 * @param {JsonLine[]} lines
 */
function write(value, place, lines) {
  if (typeof value !== "object" || value === null || place.depth >= DEEPEST) {
    const kind = typeof value === "string" ? "string" : "other";
    lines.push({ ...place, text: textOf(value), kind });
    return;
  }
  const [open, close] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  const items = Array.isArray(value) ? value.map((item) => [undefined, item]) : Object.entries(value);
  if (items.length === 0) {
    lines.push({ ...place, text: open + close, kind: "mark" });
    return;
  }
  /** @type {JsonLine} */
  const first = { ...place, text: open, kind: "mark", after: "" };
  lines.push(first);
  for (const [index, [key, item]] of items.entries()) {
    write(item, { depth: place.depth + 1, key, after: index < items.length - 1 ? "," : "" }, lines);
  }
  lines.push({ depth: place.depth, text: close, kind: "mark", after: place.after });
  first.end = lines.length - 1;
}

/** @param {unknown} value */
function textOf(value) {
  if (typeof value === "object" && value !== null) return "…";
  if (typeof value === "string" && value.length > LONGEST) {
    return `${JSON.stringify(value.slice(0, LONGEST))}… (${value.length} characters)`;
  }
  return JSON.stringify(value) ?? "undefined";
}

/**
 * @param {string} text
 * @param {string} wanted in lower case
 */
function marked(text, wanted) {
  if (wanted === "") return text;
  const parts = [];
  const lower = text.toLowerCase();
  let from = 0;
  for (let at = lower.indexOf(wanted); at >= 0; at = lower.indexOf(wanted, from)) {
    parts.push(text.slice(from, at), html`<mark>${text.slice(at, at + wanted.length)}</mark>`);
    from = at + wanted.length;
  }
  return [...parts, text.slice(from)];
}

/** @param {JsonLine} line */
const wholeText = ({ key, text }) => (key === undefined ? text : `${JSON.stringify(key)}: ${text}`).toLowerCase();

/**
 * The lines that are to be seen, by their numbers.
 * @param {readonly JsonLine[]} lines
 * @param {ReadonlySet<number>} folded
 * @param {string} wanted in lower case; while somebody searches, nothing is folded away that was found
 */
function visible(lines, folded, wanted) {
  const found = [];
  for (let index = 0; index < lines.length; index++) {
    found.push(index);
    const end = lines[index]?.end;
    if (end === undefined || !folded.has(index)) continue;
    const hides = wanted === "" || !lines.slice(index, end).some((line) => wholeText(line).includes(wanted));
    if (hides) index = end;
  }
  return found;
}

/** @type {ReadonlyMap<number, readonly string[]>} */
const NO_MARKS = new Map();

/**
 * @param {{ title: string, value: unknown, marks?: ReadonlyMap<number, readonly string[]> }} props
 *
 * `marks`: what is said about lines, by their numbers.
 */
export function CodeBlock({ title, value, marks = NO_MARKS }) {
  const [folded, setFolded] = useState(/** @type {ReadonlySet<number>} */ (new Set()));
  const [wanted, setWanted] = useState("");
  const [isCopied, setCopied] = useState(false);
  const lines = useMemo(() => jsonLines(value), [value]);
  const shown = visible(lines, folded, wanted);
  const turn = (/** @type {number} */ index) => {
    const next = new Set(folded);
    if (!next.delete(index)) next.add(index);
    setFolded(next);
  };
  const inner = lines.flatMap(({ end, depth }, index) => end !== undefined && depth === 1 ? [index] : []);
  const copy = () =>
    navigator.clipboard?.writeText(JSON.stringify(value, null, 2)).then(() => setCopied(true), () => {});
  const search = html`
    <input
      type="search"
      aria-label=${`Search in ${title}`}
      placeholder="Search"
      value=${wanted}
      onInput=${(/** @type {any} */ { currentTarget }) => setWanted(currentTarget.value.toLowerCase())}
    />
  `;
  return html`
    <div class="code-block">
      <header>
        <span>${title}</span>${search}
        ${inner.length > 0 && html`
          <${IconButton}
            icon=${folded.size > 0 ? "unfold-vertical" : "fold-vertical"}
            label=${folded.size > 0 ? "Unfold all" : "Fold all"}
            onClick=${() => setFolded(new Set(folded.size > 0 ? [] : inner))}
          />
        `}
        <${IconButton} icon=${isCopied ? "check" : "copy"} label="Copy" onClick=${copy} />
      </header>
      <div class="code-lines" tabindex="0" role="group" aria-label=${title}>
        ${shown.slice(0, MOST_LINES).map((index) =>
          html`
            <${Line}
              key=${index}
              line=${/** @type {JsonLine} */ (lines[index])}
              last=${lines[lines[index]?.end ?? 0]}
              isFolded=${folded.has(index) && !shown.includes(index + 1)}
              wanted=${wanted}
              said=${marks.get(index)}
              onTurn=${() => turn(index)}
            />
          `
        )}
        ${shown.length > MOST_LINES && html`<p class="quiet">${shown.length - MOST_LINES} more lines</p>`}
      </div>
    </div>
  `;
}

/**
 * @param {{ line: JsonLine, last: JsonLine | undefined, isFolded: boolean, wanted: string, said?: readonly string[],
 *   onTurn(): void }} props
 */
function Line({ line: { depth, key, text, kind, after, end }, last, isFolded, wanted, said, onTurn }) {
  const name = key !== undefined && html`<span class="key">${marked(JSON.stringify(key), wanted)}</span>${": "}`;
  const rest = isFolded ? html`<span class="folded">${" … "}</span>${last?.text}${last?.after}` : after;
  const whole = html`${name}<span class=${kind}>${marked(text, wanted)}</span>${rest}`;
  const label = `${isFolded ? "Unfold" : "Fold"} ${key ?? "the value"}`;
  const fold = html`
    <button type="button" class="fold" aria-expanded=${String(!isFolded)} aria-label=${label} onClick=${onTurn}>
      <${Icon} name=${isFolded ? "chevron-right" : "chevron-down"} size=${12} />
    </button>
  `;
  return html`
    <div>
      ${end === undefined ? html`<span class="fold"></span>` : fold}
      <span class="line" style=${{ "--depth": depth }}>${said
        ? html`<mark class="said">${whole}</mark> <em>← ${said.join("; ")}</em>`
        : whole}</span>
    </div>
  `;
}
