// @ts-check
/// <reference lib="dom" />
/** One side of an exchange: a head, a body with the notes at their fields, and how to take it away. */
import { html, useLayoutEffect, useMemo, useRef } from "./ui.js";
import { AsCode } from "./code_button.js";
import { CodeBlock } from "./design/code.js";
import { Button, Icon } from "./design/parts.js";
import { count } from "./dom.js";
import { showText } from "./show_text.js";
import { jsonIn, lineOf, linesOf } from "./json_lines.js";

/** @typedef {{ bytes: number, kept: number, text?: string, isShortened?: boolean, isDescription?: boolean }} RecordedBody */
/** @typedef {import("./ui.js").Children} Children */

/** More characters of a text that is no JSON are not drawn. */
const MOST_CHARACTERS = 100_000;
/** A changed value is shown in one line, up to so many characters. */
const LONGEST_CHANGE = 10_000;

/** @param {{ title: string, children?: Children }} props */
export function Side({ title, children }) {
  return html`
    <section class="card"
      aria-label=${title}><header class="card-head"><h3>${title}</h3></header>${children}</section>
  `;
}

/** @param {{ list?: readonly (readonly [string, string])[] }} props */
export function Headers({ list = [] }) {
  return html`
    <details>
      <summary>${list.length === 1 ? "1 header" : `${list.length} headers`}</summary>
      <dl class="narrow">${list.map(([name, value], index) =>
        html`
          <dt key=${`${index} name`}>${name}</dt>
          <dd key=${index}>${value}</dd>
        `
      )}</dl>
    </details>
  `;
}

/** @param {{ body: RecordedBody, notes?: readonly string[] }} props */
export function Body({ body: { bytes, kept, text, isDescription }, notes = [] }) {
  const about = isDescription
    ? "a description of the form or file"
    : kept < bytes
    ? `${count(bytes)} bytes; cut after ${count(kept)}; the rest was not kept`
    : `${count(bytes)} bytes`;
  const json = useMemo(() => jsonIn(text), [text]);
  if (bytes === 0) return html`<p class="quiet">Nothing.</p>`;
  if (text === undefined) return html`<p class="quiet">${about}. These bytes are not text.</p>`;
  if (json) return html`<${Value} title=${about} value=${json} notes=${notes} />`;
  return html`
    <p class="quiet">${about}</p>
    <${LiveText} text=${text} />
  `;
}

/** JSON, with notes at the fields that they are about. @param {{ title: string, value: unknown, notes?: readonly string[] }} props */
export function Value({ title, value, notes = [] }) {
  const marks = useMemo(() => {
    /** @type {Map<number, string[]>} */
    const found = new Map();
    const lines = notes.length > 0 ? linesOf(value) : [];
    for (const note of notes) {
      const line = lineOf(note, lines);
      if (line !== undefined) found.set(line, [...found.get(line) ?? [], note]);
    }
    return found;
  }, [value, notes]);
  return html`<${CodeBlock} title=${title} value=${value} marks=${marks} />`;
}

/** A text that grows. Its beginning stays as it is, and so does what a reader has selected there. @param {{ text: string }} props */
export function LiveText({ text }) {
  const place = useRef(/** @type {HTMLElement | null} */ (null));
  const shown = text.slice(0, MOST_CHARACTERS);
  useLayoutEffect(() => {
    const element = /** @type {HTMLElement} */ (place.current);
    const node = element.firstChild;
    if (!(node instanceof Text)) return element.replaceChildren(shown);
    const { data } = node;
    let same = 0;
    while (same < data.length && data[same] === shown[same]) same++;
    if (same < data.length || same < shown.length) node.replaceData(same, data.length - same, shown.slice(same));
  }, [shown]);
  return html`
    <pre class="raw" tabindex="0" ref=${place}></pre>
    ${text.length > MOST_CHARACTERS &&
      html`<p class="quiet">… ${count(text.length - MOST_CHARACTERS)} more characters</p>`}
  `;
}

/**
 * How to take a body away. `request`: the request that it belongs to, where that can be sent again.
 * @param {{ id: string, part: string, body: RecordedBody, request?: import("./request_code.js").Request }} props
 */
export function Taking({ id, part, body: { text, bytes }, request }) {
  const hasText = text !== undefined && bytes > 0;
  if (!hasText && !request) return undefined;
  const href = `api/record/text?id=${encodeURIComponent(id)}&part=${part}`;
  return html`
    <p class="toolbar taking">
      ${hasText && html`<${Button} onClick=${() => showText("Raw", text)}>Raw<//>`}
      ${hasText && html`<a class="button ghost" href=${href} download><${Icon} name="download" />Save</a>`}
      ${request && html`<${AsCode} request=${request} variable="UPSTREAM_KEY" id=${id} part=${part} />`}
    </p>
  `;
}

/**
 * The changes by one transform.
 * @param {{ step: string, notes: string[], changes: { path: string, before?: unknown, after?: unknown }[] }} props
 */
export function Transform({ step, notes, changes }) {
  return html`
    <div class="step">
      <h4>${step}</h4>
      ${notes.map((note) => html`<p key=${note}><em>${note}</em></p>`)}
      <dl>
        ${changes.map(({ path, before, after }, index) =>
          html`
            <dt key=${`${index} name`}>${path || "all of it"}</dt>
            <dd key=${index}>${before !== undefined && html`<del>${inLine(before)}</del>`}${" "}${after !== undefined &&
              html`<ins>${inLine(after)}</ins>`}</dd>
          `
        )}
      </dl>
    </div>
  `;
}

/** @param {unknown} value */
function inLine(value) {
  const text = linesOf(value).map(({ text }) => text.trim()).join(" ");
  return text.length > LONGEST_CHANGE ? `${text.slice(0, LONGEST_CHANGE)}…` : text;
}
