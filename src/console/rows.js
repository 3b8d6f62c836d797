// @ts-check
/// <reference lib="dom" />
/// <reference lib="dom.iterable" />
/** A table of any length, of which only the rows in sight are in the page. */
import { h } from "./dom.js";

/** Rows beyond the edges, so that the next one can be reached by the keyboard and is there when it is scrolled to. */
const BEYOND = 8;

/**
 * @template Item
 * @typedef {{ heads: { text: string, isNumber?: boolean }[], keyOf(item: Item): string, rowOf(item: Item): HTMLTableRowElement }} Columns
 */

/** @template Item */
export class Rows {
  caption = h("caption");
  #body = h("tbody");
  #before = spacer();
  #after = spacer();
  /** @type {Columns<Item>} */
  #columns;
  /** @type {readonly Item[]} */
  #items = [];
  /** @type {Map<string, { item: Item, row: HTMLTableRowElement }>} */
  #drawn = new Map();
  #height = 30;
  #isDue = false;

  /** @param {Columns<Item>} columns */
  constructor(columns) {
    this.#columns = columns;
    const heads = columns.heads.map(({ text, isNumber }) =>
      h("th", { scope: "col", class: isNumber ? "number" : undefined }, text)
    );
    this.head = h("thead", {}, h("tr", {}, ...heads));
    this.table = h("table", {}, this.caption, this.head, this.#body);
    this.element = h("div", { class: "wide rows", scroll: () => this.#drawSoon() }, this.table);
  }

  /**
   * Shows the items. The scroll position and the focused row stay as they are.
   * @param {readonly Item[]} items
   */
  show(items) {
    const { keyOf } = this.#columns;
    const { element } = this;
    const { scrollTop } = element;
    const first = Math.floor(scrollTop / this.#height);
    const isRead = scrollTop > 0 || this.#body.contains(document.activeElement);
    const held = isRead ? this.#items[first] : undefined;
    this.#items = items;
    if (held !== undefined) {
      const key = keyOf(held);
      const index = items.findIndex((item) => keyOf(item) === key);
      const top = index < 0 ? first : index;
      this.#draw(top);
      // A list that has become shorter may have been scrolled back by the browser.
      if (top !== first) element.scrollTop = scrollTop + (top - first) * this.#height;
    } else {
      this.#draw(first);
    }
  }

  #drawSoon() {
    if (this.#isDue) return;
    this.#isDue = true;
    requestAnimationFrame(() => {
      this.#isDue = false;
      this.#draw(Math.floor(this.element.scrollTop / this.#height));
    });
  }

  /** @param {number} top the row that stands first in sight */
  #draw(top) {
    const { keyOf, rowOf } = this.#columns;
    const items = this.#items;
    const inSight = Math.ceil(this.element.clientHeight / this.#height) || 1;
    const start = Math.max(0, Math.min(top, items.length - inSight) - BEYOND);
    const end = Math.min(items.length, start + inSight + 2 * BEYOND);
    /** @type {Map<string, { item: Item, row: HTMLTableRowElement }>} */
    const drawn = new Map();
    for (let index = start; index < end; index++) {
      const item = /** @type {Item} */ (items[index]);
      const key = keyOf(item);
      const known = this.#drawn.get(key);
      const row = known?.item === item ? known.row : rowOf(item);
      row.setAttribute("aria-rowindex", String(index + 2));
      if (known && known.row !== row) replace(known.row, row);
      drawn.set(key, { item, row });
    }
    for (const [key, { row }] of this.#drawn) if (!drawn.has(key)) row.remove();
    this.#drawn = drawn;
    this.#arrange([...drawn.values()].map(({ row }) => row), start, items.length - end);
    this.table.setAttribute("aria-rowcount", String(items.length + 1));
  }

  /**
   * Moves no row that stands where it belongs: the one with the focus would lose it.
   * @param {readonly HTMLTableRowElement[]} rows
   * @param {number} before
   * @param {number} after
   */
  #arrange(rows, before, after) {
    // Before anything is measured: a list that is too short for a moment forgets how far it was scrolled.
    this.#stretch(before, after);
    const all = [...before > 0 ? [this.#before] : [], ...rows, ...after > 0 ? [this.#after] : []];
    all.forEach((row, index) => {
      const there = this.#body.children[index] ?? null;
      if (there !== row) this.#body.insertBefore(row, there);
    });
    if (before === 0) this.#before.remove();
    if (after === 0) this.#after.remove();
    const height = rows[0]?.getBoundingClientRect().height || this.#height;
    if (height === this.#height) return;
    this.#height = height;
    this.#stretch(before, after);
  }

  /**
   * @param {number} before
   * @param {number} after
   */
  #stretch(before, after) {
    this.#before.style.height = `${before * this.#height}px`;
    this.#after.style.height = `${after * this.#height}px`;
  }
}

/**
 * The focus stays where it was.
 * @param {HTMLTableRowElement} old
 * @param {HTMLTableRowElement} row
 */
function replace(old, row) {
  const hadFocus = old.contains(document.activeElement);
  old.replaceWith(row);
  if (hadFocus) row.querySelector("button")?.focus({ preventScroll: true });
}

function spacer() {
  return h("tr", { "aria-hidden": "true", class: "space" });
}
