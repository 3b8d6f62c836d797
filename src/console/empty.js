// @ts-check
/// <reference lib="dom" />
/** A page, or a part of one, that has nothing yet: what would be here, and what brings it. */
import { h } from "./dom.js";

/**
 * @param {string} words
 * @param {...(Node | undefined)} actions the first is the one that most people want
 */
export function empty(words, ...actions) {
  return h("div", { class: "card empty" }, h("p", {}, words), h("div", { class: "bar" }, ...actions));
}

/**
 * A link that looks like the button that it is.
 * @param {string} href
 * @param {string} words
 * @param {boolean} isMain
 */
export function go(href, words, isMain = false) {
  return h("a", { class: isMain ? "button primary" : "button", href }, words);
}
