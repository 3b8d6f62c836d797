// @ts-check
/// <reference lib="dom" />
/** The step that shows the files, and writes them. */
import { h } from "./dom.js";
import { copied } from "./file_view.js";
import { review } from "./review.js";
import { answersOf, draft, forgetDraft } from "./setup_api.js";
import { commandsOf, fileOf } from "./by_hand.js";

/** @typedef {import("./setup_api.js").Setup} Setup */

/**
 * @param {HTMLElement} place
 * @param {Setup} setup
 * @param {(title?: string) => void} onDone
 */
export function filesStep(place, setup, onDone) {
  const back = h("a", { class: "button", href: "#setup?models" }, "Back");
  const next = h("a", { class: "button primary", href: "#setup?client" }, "Connect a client");
  if (draft.sources.length === 0 && draft.models.length === 0) {
    place.append(
      h("p", {}, "Nothing is waiting to be written."),
      h(
        "div",
        { class: "bar next" },
        h("a", { class: "button primary", href: "#setup?upstream" }, "Add upstream"),
        next,
      ),
    );
    return {};
  }
  const bar = h("div", { class: "bar next" }, back);
  if (!setup.canAct) {
    place.append(...byHand(setup), bar);
    bar.prepend(next);
    return {};
  }
  const body = h("div");
  place.append(body, bar);
  void review(body, setup, answersOf(), {
    bar,
    onWritten() {
      forgetDraft();
      onDone("The files are written");
      bar.replaceChildren(next, h("a", { class: "button", href: "#setup?upstream" }, "Add another upstream"));
      next.focus();
    },
  });
  return {};
}

/** @param {Setup} setup */
function byHand(setup) {
  const answers = answersOf();
  return [
    h("h2", {}, "By a command"),
    h("p", {}, "In the folder where the gateway is started, this asks the same questions, and for the keys:"),
    copied(`${setup.command} init`, "The command that asks"),
    h("p", {}, "Without questions, if the keys are in the variables of their services:"),
    copied(commandsOf(setup.command, answers), "The command"),
    h("h2", {}, "Or by hand"),
    h(
      "p",
      {},
      "Save this as ",
      h("code", {}, "gateway.json"),
      ", set the variables that the page Upstreams names, and restart the gateway:",
    ),
    copied(fileOf(answers), "gateway.json"),
  ];
}
