// @ts-check
/// <reference lib="dom" />
/** Suggestions for the position of the cursor in the configuration. */
import { ask, h } from "./dom.js";
import { placeAt } from "./json_place.js";

const SETTLE_MS = 150;

/**
 * A list of buttons beside the editor. Control and space goes there, Escape back.
 * @param {HTMLTextAreaElement} editor
 * @returns {HTMLElement}
 */
export function suggestions(editor) {
  const title = h("h2", { id: "suggestions" }, "Suggestions");
  const about = h(
    "p",
    { class: "quiet", role: "status" },
    "Click into the file: the settings and values that fit there will be listed here.",
  );
  const list = h("ul", { class: "suggestions", "aria-labelledby": "suggestions" });
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  let turn = 0;
  /** Whether it was shown: what another look has overtaken is not. */
  const show = async () => {
    clearTimeout(timer);
    const mine = ++turn;
    const place = placeAt(editor.value, editor.selectionStart);
    const found = await ask(`configuration/schema?path=${encodeURIComponent(JSON.stringify(place.path))}`).catch(() =>
      undefined
    );
    // Nobody loses the button that they are on.
    if (mine !== turn || !found || list.contains(document.activeElement)) return false;
    const typed = editor.value.slice(place.from, editor.selectionStart).replace(/^"/, "").toLowerCase();
    const fits = (/** @type {string} */ text) => text.replace(/^"/, "").toLowerCase().includes(typed);
    const items = place.kind === "name"
      ? found.names.filter((/** @type {{ name: string }} */ { name }) =>
        fits(name) && !place.taken.includes(name) || name.toLowerCase() === typed
      )
        .map((
          /** @type {any} */ { name, type, description },
        ) => [name, `${JSON.stringify(name)}: `, [type, description].filter(Boolean).join(". ")])
      : found.values.filter(fits).map((/** @type {string} */ value) => [value, value, ""]);
    about.textContent = [place.path.join(" › ") || "The configuration", found.description].filter(Boolean).join(": ");
    list.replaceChildren(
      ...items.map((/** @type {[string, string, string]} */ [name, text, words]) =>
        h(
          "li",
          {},
          h("button", { type: "button", click: () => put(text, place) }, name),
          words && h("span", { class: "quiet" }, ` ${words}`),
        )
      ),
    );
    return true;
  };
  /** @type {(text: string, place: { from: number, to: number }) => void} */
  const put = (text, { from, to }) => {
    // What is behind the name is there already.
    const rest = /^\s*:/.test(editor.value.slice(to)) ? text.replace(/: $/, "") : text;
    editor.focus();
    editor.setRangeText(rest, from, to, "end");
    editor.dispatchEvent(new Event("input"));
  };
  const later = () => {
    clearTimeout(timer);
    timer = setTimeout(show, SETTLE_MS);
  };
  for (const name of ["input", "click", "keyup", "focus"]) editor.addEventListener(name, later);
  // What was listed is for another place now.
  editor.addEventListener("input", () => list.replaceChildren());
  editor.addEventListener("keydown", async (event) => {
    if (!event.ctrlKey || event.code !== "Space") return;
    event.preventDefault();
    for (let tries = 0; tries < 3 && !await show(); tries++);
    list.querySelector("button")?.focus();
  });
  list.addEventListener("keydown", (event) => {
    const buttons = [...list.querySelectorAll("button")];
    const at = buttons.indexOf(/** @type {HTMLButtonElement} */ (document.activeElement));
    const next = event.key === "ArrowDown" ? at + 1 : event.key === "ArrowUp" ? at - 1 : undefined;
    if (event.key === "Escape") editor.focus();
    if (next === undefined) return;
    event.preventDefault();
    buttons.at(next % buttons.length)?.focus();
  });
  return h("section", { class: "beside" }, title, about, list);
}
