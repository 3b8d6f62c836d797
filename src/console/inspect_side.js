// @ts-check
/// <reference lib="dom" />
/** One side of an exchange: a head, a body with the notes at their fields, and how to take it away. */
import { count, h } from "./dom.js";
import { jsonIn, linesOf, notesAt } from "./json_lines.js";

/** More lines, and more characters of a text that is no JSON, are not drawn. */
const [MOST_LINES, MOST_CHARACTERS] = [3_000, 100_000];

/** A changed value is shown in one line, up to so many characters. */
const LONGEST_CHANGE = 10_000;

/**
 * @typedef {{ bytes: number, kept: number, text?: string, isShortened?: boolean, isDescription?: boolean }} Body
 */

/**
 * @param {string} title
 * @param {...(Node | string | undefined)} children
 */
export function side(title, ...children) {
  return h("section", { "aria-label": title }, h("h3", {}, title), ...children);
}

/**
 * @param {readonly (readonly [string, string])[] | undefined} headers
 */
export function headers(headers = []) {
  return h(
    "details",
    {},
    h("summary", {}, headers.length === 1 ? "1 header" : `${headers.length} headers`),
    h("dl", {}, ...headers.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)])),
  );
}

/**
 * @param {Body} body
 * @param {readonly string[]} [notes]
 * @returns {HTMLElement}
 */
export function bodyOf(body, notes = []) {
  const { bytes, kept, text, isDescription } = body;
  const about = isDescription
    ? "a description of the form or file"
    : kept < bytes
    ? `${count(bytes)} bytes; cut after ${count(kept)}; the rest was not kept`
    : `${count(bytes)} bytes`;
  const json = jsonIn(text);
  return h(
    "div",
    {},
    h("p", { class: "quiet" }, about),
    bytes === 0
      ? h("p", { class: "quiet" }, "Nothing.")
      : text === undefined
      ? h("p", { class: "quiet" }, "These bytes are not text.")
      : json
      ? valueOf(json, notes)
      : textOf(text),
  );
}

/** @param {string} text */
export function textOf(text) {
  const shown = text.slice(0, MOST_CHARACTERS);
  return block(
    shown,
    shown.length < text.length ? `… ${count(text.length - shown.length)} more characters` : undefined,
  );
}

/**
 * JSON, with notes at the fields that they are about.
 * @param {unknown} value
 * @param {readonly string[]} [notes]
 */
export function valueOf(value, notes = []) {
  const all = linesOf(value);
  const marks = notesAt(notes, all);
  /** @type {(Node | string)[]} */
  const children = [];
  let plain = "";
  for (const [index, { text }] of all.slice(0, MOST_LINES).entries()) {
    const own = marks.get(index);
    if (!own) {
      plain += `${text}\n`;
      continue;
    }
    children.push(plain, h("mark", {}, text), " ", h("em", {}, `← ${own.join("; ")}`), "\n");
    plain = "";
  }
  children.push(plain);
  return block(children, all.length > MOST_LINES ? `… ${count(all.length - MOST_LINES)} more lines` : undefined);
}

/**
 * @param {string | (Node | string)[]} content
 * @param {string | undefined} more
 */
function block(content, more) {
  // It can be scrolled by keyboard as well.
  const pre = h("pre", { tabindex: 0 }, ...typeof content === "string" ? [content] : content);
  return h("div", {}, pre, more === undefined ? undefined : h("p", { class: "quiet" }, more));
}

/**
 * The changes by one transform.
 * @param {{ step: string, notes: string[], changes: { path: string, before?: unknown, after?: unknown }[] }} step
 */
export function stepOf({ step, notes, changes }) {
  return h(
    "div",
    { class: "step" },
    h("h4", {}, step),
    ...notes.map((note) => h("p", {}, h("em", {}, note))),
    h(
      "dl",
      {},
      ...changes.flatMap(({ path, before, after }) => [
        h("dt", {}, path || "all of it"),
        h(
          "dd",
          {},
          before === undefined ? undefined : h("del", {}, inLine(before)),
          before === undefined || after === undefined ? undefined : " ",
          after === undefined ? undefined : h("ins", {}, inLine(after)),
        ),
      ]),
    ),
  );
}

/** @param {unknown} value */
function inLine(value) {
  const text = linesOf(value).map(({ text }) => text.trim()).join(" ");
  return text.length > LONGEST_CHANGE ? `${text.slice(0, LONGEST_CHANGE)}…` : text;
}

/**
 * A button that shows a text, to be copied.
 * @param {string} name
 * @param {() => string} text
 */
export function copyButton(name, text) {
  return h("button", { type: "button", click: () => showText(name, text()) }, name);
}

/**
 * @param {string} title
 * @param {string} text
 */
export function showText(title, text) {
  const area = h("textarea", { readonly: true, rows: 16, "aria-label": title });
  area.value = text;
  const state = h("span", { role: "status" });
  const copy = async () => {
    area.select();
    const isCopied = await navigator.clipboard?.writeText(text).then(() => true, () => false);
    state.textContent = isCopied ? "Copied" : "Selected: copy it with the keyboard";
  };
  const dialog = h(
    "dialog",
    { class: "text", close: () => dialog.remove() },
    h("h2", {}, title),
    area,
    h(
      "form",
      { method: "dialog", class: "bar" },
      h("button", { type: "button", click: copy }, "Copy"),
      h("button", {}, "Close"),
      state,
    ),
  );
  document.body.append(dialog);
  dialog.showModal();
}
