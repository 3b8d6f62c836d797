// @ts-check
/// <reference lib="dom" />
/** A file as a page shows it: its text with colours, or what changes in it. */
import { diffLines, hunks } from "./diff.js";
import { h } from "./dom.js";

/** A comment, a string, a number or a word. */
const TOKEN = /\/\/.*|\/\*[\s\S]*?\*\/|"(?:\\.|[^"\\\n])*"|-?\d[\d.eE+-]*|\b(?:true|false|null)\b/g;

/**
 * @param {string} before
 * @param {string} after
 */
export function diffOf(before, after) {
  const shown = hunks(diffLines(before, after));
  return h(
    "pre",
    { class: "diff", tabindex: 0, "aria-label": "Changes, line by line" },
    ...shown.map((line) =>
      line === undefined
        ? h("span", { class: "quiet" }, "…\n")
        : h(line.kind === "+" ? "ins" : line.kind === "-" ? "del" : "span", {}, `${line.kind} ${line.text}\n`)
    ),
  );
}

/**
 * JSON with comments, in colours. Other texts stay plain, except for what looks the same there.
 * @param {string} text
 * @returns {(Node | string)[]}
 */
export function coloured(text) {
  /** @type {(Node | string)[]} */
  const parts = [];
  let end = 0;
  for (const { 0: token, index } of text.matchAll(TOKEN)) {
    parts.push(text.slice(end, index));
    end = index + token.length;
    parts.push(h("span", { class: kindOf(token, text.slice(end)) }, token));
  }
  return [...parts, text.slice(end)];
}

/** @type {(token: string, after: string) => string} */
function kindOf(token, after) {
  if (token.startsWith("/")) return "comment";
  if (!token.startsWith('"')) return "literal";
  return /^\s*:/.test(after) ? "name" : "string";
}

/**
 * The whole path if the folder in which the gateway was started is known.
 * @param {string} path
 * @param {string} [folder]
 */
export function wholePath(path, folder) {
  if (folder === undefined || /^(?:[\\/]|[A-Za-z]:)/.test(path)) return path;
  const separator = /^[A-Za-z]:|\\/.test(folder) ? "\\" : "/";
  return `${folder.replace(/[\\/]$/, "")}${separator}${path}`;
}

/**
 * @param {import("./setup_api.js").PlannedFile} file
 * @param {string} [folder] in which the gateway was started
 */
export function fileView({ path, text, before, isSecret }, folder) {
  const name = path.split(/[\\/]/).at(-1) ?? path;
  const tags = [
    before === undefined ? "new" : "changed",
    ...isSecret ? ["secret, only you can read it (mode 0600)"] : [],
  ];
  return h(
    "section",
    { class: "file", "aria-label": name },
    h(
      "h2",
      {},
      h("code", {}, name),
      " ",
      ...tags.map((tag) => h("span", { class: "badge", "data-tone": tag === "new" ? "good" : undefined }, tag)),
    ),
    h(
      "p",
      { class: "quiet" },
      name === path && folder === undefined ? "In the folder where the gateway was started." : wholePath(path, folder),
    ),
    isSecret
      ? h("p", {}, "Your key or token. It is not shown here.")
      : before === undefined
      ? h("pre", { class: "code", tabindex: 0, "aria-label": `Text of ${name}` }, ...coloured(text))
      : diffOf(before, text),
  );
}

/**
 * A text to copy, and the button that does.
 * @param {string} text
 * @param {string} label
 */
export function copied(text, label) {
  const state = h("span", { role: "status", class: "quiet" });
  const pre = h("pre", { class: "code", tabindex: 0, "aria-label": label }, text);
  const copy = async () => {
    const isCopied = await navigator.clipboard?.writeText(text).then(() => true, () => false);
    if (!isCopied) getSelection()?.selectAllChildren(pre);
    state.textContent = isCopied ? "Copied" : "Selected: copy it with the keyboard";
  };
  const button = h("button", { type: "button", "aria-label": `Copy: ${label}`, click: copy }, "Copy");
  return h("div", { class: "copied" }, pre, button, state);
}
