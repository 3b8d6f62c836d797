// @ts-check
/// <reference lib="dom" />
/** The meaning of a setting, and its place in the file: for whoever has searched for it. */
import { ask, h } from "./dom.js";
import { copied } from "./file_view.js";
import { findSetting } from "./json_place.js";
import { settingInWords } from "./words.js";

/** The path of a setting in the address: names joined by dots, or a list of names as JSON, since names may have dots. @param {string} text */
export function pathIn(text) {
  try {
    const path = JSON.parse(text);
    if (Array.isArray(path)) return path.map(String);
  } catch {
    // It is written with dots.
  }
  return text.split(".").filter(Boolean);
}

/**
 * Shows the setting above the editor, and moves the cursor to it.
 * @param {HTMLElement} place
 * @param {HTMLTextAreaElement} editor
 * @param {readonly string[]} path
 */
export async function showSetting(place, editor, path) {
  const name = path.at(-1) ?? "";
  const at = (/** @type {readonly string[]} */ steps) =>
    ask(`configuration/schema?path=${encodeURIComponent(JSON.stringify(steps.map(stepIn)))}`);
  const [around, own] = await Promise.all([at(path.slice(0, -1)), at(path)]).catch(() => []);
  const known = around?.names.find((/** @type {{ name: string }} */ one) => one.name === name);
  const found = findSetting(editor.value, path);
  const facts = [known?.type, own?.values.length > 0 && `such as ${own.values.slice(0, 5).join(", ")}`].filter(Boolean);
  const go = h(
    "button",
    { type: "button", click: () => select(editor, found) },
    found.isThere ? "Go to it" : "Go to its place",
  );
  const close = h("button", { type: "button", click: () => place.replaceChildren() }, "Close");
  const isFile = editor.value !== "";
  place.replaceChildren(
    h(
      "section",
      { class: "card setting", "aria-label": `Setting ${settingInWords(path)}` },
      h("h2", {}, h("code", {}, settingInWords(path))),
      h("p", {}, known?.description ?? own?.description ?? "This is no setting that the gateway knows."),
      facts.length > 0 ? h("p", { class: "quiet" }, `${facts.join(", ")}.`) : "",
      h(
        "p",
        {},
        found.isThere
          ? `It is in line ${lineOf(editor, found.from)} of the file.`
          : isFile
          ? "The file does not set it. It would be:"
          : "It is written like this:",
      ),
      ...found.isThere ? [] : [copied(snippetFor(path, own?.values[0]), "The setting")],
      h("div", { class: "bar" }, ...isFile ? [go] : [], close),
    ),
  );
  if (found.isThere) select(editor, found);
}

/** The schema has all places of a list in common. @param {string} step */
const stepIn = (step) => step === "#" ? 0 : step;

/** @param {HTMLTextAreaElement} editor @param {number} offset */
function lineOf(editor, offset) {
  return editor.value.slice(0, offset).split("\n").length;
}

/** @param {HTMLTextAreaElement} editor @param {{ from: number, to: number }} found */
function select(editor, { from, to }) {
  editor.focus();
  editor.setSelectionRange(from, to);
  const line = parseFloat(getComputedStyle(editor).lineHeight);
  editor.scrollTop = Math.max(0, (lineOf(editor, from) - 5) * line);
}

/** @param {readonly string[]} path @param {string} [value] as JSON */
function snippetFor(path, value = "…") {
  const inner = path.reduceRight(
    (text, name) => name === "#" ? `[${text}]` : `{ ${JSON.stringify(name === "*" ? "<name>" : name)}: ${text} }`,
    value,
  );
  // Those who put it into a file need no braces around it.
  return inner.slice(2, -2);
}
