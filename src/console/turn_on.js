// @ts-check
/// <reference lib="dom" />
/** Buttons that turn a setting on. What shows the change is loaded when somebody wants it. */
import { attempt } from "./actions.js";
import { Button } from "./design/parts.js";
import { h, loading } from "./dom.js";
import { html } from "./ui.js";

/** @typedef {import("./show_change.js").Switch} Switch */

/**
 * @param {Switch} options
 * @returns {HTMLElement}
 */
export function turnOn(options) {
  const { words, isMain } = options;
  const button = h("button", { type: "button", class: isMain ? "button primary" : undefined }, `${words} …`);
  button.addEventListener("click", () => void showChange(options));
  return button;
}

/** The same button for pages that are drawn by Preact. @param {Switch} options */
export function TurnOn(options) {
  const { words, isMain } = options;
  return html`
    <${Button} kind=${isMain ? "primary" : "plain"} onClick=${() => void showChange(options)}>${words} …<//>
  `;
}

/** Shows the change, and writes it if the user wants it. @param {Switch} options */
export async function showChange(options) {
  await attempt(async () => await (await loading(() => import("./show_change.js"))).showChange(options));
}
