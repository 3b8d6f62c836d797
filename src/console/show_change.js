// @ts-check
/// <reference lib="dom" />
/** Shows the change of the file that turns a setting on, and writes it. */
import { h } from "./dom.js";
import { copied } from "./file_view.js";
import { review } from "./review.js";
import { readSetup } from "./setup_api.js";
import { codeForm } from "./setup_code.js";

/**
 * @typedef {import("../canonical/json.ts").JsonObject} JsonObject
 * @typedef {{ words: string, title: string, about: string, settings: JsonObject, isMain?: boolean,
 *   first?(setup: import("./setup_api.js").Setup): Promise<HTMLElement[]> }} Switch
 *
 * `settings` is merged into the configuration file. `first`: what has to be done before.
 */

/**
 * Shows the change that the settings make, and writes it if the user wants it.
 * @param {Switch} options
 */
export async function showChange({ title, about, settings, first }) {
  let isWritten = false;
  const onWritten = () => {
    isWritten = true;
    // It was closed before the file was written.
    if (!dialog.isConnected) dispatchEvent(new HashChangeEvent("hashchange"));
  };
  const body = h("div");
  const close = h("button", {}, "Close");
  const dialog = h(
    "dialog",
    { class: "review", "aria-label": title },
    h("h2", {}, title),
    h("p", {}, about),
    body,
    h("form", { method: "dialog", class: "bar" }, close),
  );
  dialog.addEventListener("close", () => {
    dialog.remove();
    // The page is drawn anew with what is on now.
    if (isWritten) dispatchEvent(new HashChangeEvent("hashchange"));
  });
  document.body.append(dialog);
  dialog.showModal();
  try {
    const setup = await readSetup();
    body.before(...await first?.(setup) ?? []);
    if (!setup.canAct) return body.append(...byHand(setup, settings));
    const show = () => {
      const answers = { sources: [], models: [], settings };
      void review(body, setup, answers, { onWritten });
    };
    if (!setup.needsCode || setup.isOpen) return show();
    const form = codeForm(show);
    body.replaceChildren(form);
    form.querySelector("input")?.focus();
  } catch (error) {
    body.replaceChildren(h("p", { class: "error", role: "alert" }, /** @type {Error} */ (error).message));
  }
}

/**
 * @param {import("./setup_api.js").Setup} setup
 * @param {JsonObject} settings
 */
function byHand({ isFresh, file, why, command }, settings) {
  const text = JSON.stringify(isFresh ? { extends: "default", ...settings } : settings, null, 2);
  return [
    ...why === undefined ? [] : [h("p", { class: "notice" }, why)],
    h("p", {}, isFresh ? "Save this as " : "Add this to ", h("code", {}, file), ":"),
    copied(text, "The setting"),
    h("p", {}, "Then start the gateway again:"),
    copied(command, "The command"),
  ];
}
