// @ts-check
/// <reference lib="dom" />
/** A dialog that shows a text, to be copied. */
import { h } from "./dom.js";

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
