// @ts-check
/// <reference lib="dom" />
/** The one-time code, which shows that the person at this page is the one at the terminal. */
import { h } from "./dom.js";
import { CodeNeeded, openWith } from "./setup_api.js";

/**
 * @param {() => void} onOpen
 * @param {string} [reason] why a code that was given is no good
 */
export function codeForm(onOpen, reason = "") {
  const input = h("input", {
    name: "code",
    required: true,
    autocomplete: "one-time-code",
    autocapitalize: "characters",
    spellcheck: "false",
    size: 16,
    "aria-describedby": "code-help",
  });
  const problem = h("p", { class: "error", role: "alert" }, reason);
  const button = h("button", { type: "submit", class: "button primary" }, "Continue");
  const submit = async (/** @type {Event} */ event) => {
    event.preventDefault();
    problem.textContent = "";
    button.disabled = true;
    try {
      await openWith(input.value.trim());
      onOpen();
    } catch (error) {
      problem.textContent = /** @type {Error} */ (error).message;
      button.disabled = false;
      input.select();
    }
  };
  return h(
    "form",
    { class: "card code-form", submit },
    h("h2", {}, "Enter the code from your terminal"),
    h(
      "p",
      { id: "code-help" },
      "These pages write files and start programs on this machine, so they open only for the person who started the " +
        "gateway. The code is in the terminal where it runs, in a line such as:",
    ),
    h("pre", { class: "code" }, "Laneway: set up with the one-time code ABCD-1234 …"),
    h("div", { class: "bar" }, h("label", {}, "One-time code", input), button),
    problem,
    h(
      "p",
      { class: "quiet" },
      "Each code opens one tab. For another tab, use the newest code in the terminal.",
    ),
  );
}

/** The form that is shown. Actions that run at once wait for one code. */
let shown = /** @type {{ form: HTMLElement, given: Promise<void> } | undefined} */ (undefined);

/**
 * Runs an action. If the gateway wants a new code, the page asks for one and runs it again.
 * @template T
 * @param {HTMLElement} place where the form is shown
 * @param {() => Promise<T>} action
 * @returns {Promise<T>}
 */
export async function withCode(place, action) {
  try {
    return await action();
  } catch (error) {
    if (!(error instanceof CodeNeeded)) throw error;
    if (!shown?.form.isConnected) {
      const { promise, resolve } = /** @type {PromiseWithResolvers<void>} */ (Promise.withResolvers());
      const form = codeForm(resolve, error.message);
      place.prepend(form);
      form.querySelector("input")?.focus();
      shown = { form, given: promise.then(() => form.remove()) };
    }
    await shown.given;
    return await withCode(place, action);
  }
}
