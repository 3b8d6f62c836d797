// @ts-check
/// <reference lib="dom" />
/** A table of any length, sorted by its heads, of which only the rows in sight are in the page. */
import { html, signal, useLayoutEffect, useRef, useState } from "../ui.js";
import { keepInside } from "./overlays.js";
import { Icon } from "./parts.js";

/** @typedef {import("../ui.js").Children} Children */

/**
 * @template Item
 * @typedef {{ id: string, title: string, isNumber?: boolean, isHead?: boolean, wide?: boolean, isTall?: boolean,
 *   sortBy?(item: Item): number | string | undefined, view(item: Item): Children, hint?(item: Item): string | undefined,
 *   kind?(item: Item): string | undefined, hiddenAtFirst?: boolean, phone?: boolean, grows?: boolean, roomy?: boolean }} Column
 *
 * `isHead`: its cells are the rows' names. `wide`: its texts may be cut off. `grows`: it takes the room that is left. `phone`: it is shown on a phone at first. `roomy`: it is never shown on
 * a phone.
 */

/** Rows beyond the edges, so that the next one can be reached by the keyboard and is there when it is scrolled to. */
const BEYOND = 8;
/** A shorter table is in the page as a whole. */
const FEW = 40;
/** The height from which on a table scrolls below its head. */
const HIGH = "max(22rem, calc(100vh - 12rem))";
/** How near to the end more is asked for, in pixels. */
const NEAR = 400;
const PHONE = "(max-width: 52rem)";

const phone = matchMedia(PHONE);
const isPhone = signal(phone.matches);
phone.addEventListener("change", () => isPhone.value = phone.matches);

/**
 * The columns that a person has chosen for a table, kept in the browser. Until then they are those that fit the window.
 * @template Item
 */
export class ColumnChoice {
  #key;
  /** @type {readonly Column<Item>[]} */
  all;
  /** @type {import("@preact/signals").Signal<ReadonlySet<string> | undefined>} */
  #chosen;

  /**
   * @param {string} name
   * @param {readonly Column<Item>[]} all
   */
  constructor(name, all) {
    this.#key = `laneway.columns.${name}`;
    // A column that a person has chosen is shown on a phone, too.
    const isMarked = all.some(({ phone }) => phone);
    this.all = all.map((column) => ({ ...column, roomy: false, phone: isMarked ? column.phone : !column.roomy }));
    this.#chosen = signal(this.#kept());
  }

  get shown() {
    const { value } = this.#chosen;
    if (value) return this.all.filter(({ id }) => value.has(id));
    return this.all.filter(({ hiddenAtFirst, phone }) => isPhone.value ? phone : !hiddenAtFirst);
  }

  /** @param {string} id */
  turn(id) {
    const shown = new Set(this.shown.map((column) => column.id));
    if (!shown.delete(id)) shown.add(id);
    if (shown.size === 0) return;
    this.#chosen.value = shown;
    try {
      localStorage.setItem(this.#key, JSON.stringify([...shown]));
    } catch {
      // It holds until the page is left.
    }
  }

  /** @returns {ReadonlySet<string> | undefined} */
  #kept() {
    try {
      const kept = JSON.parse(localStorage.getItem(this.#key) ?? "");
      const known = Array.isArray(kept) ? kept.filter((id) => this.all.some((column) => column.id === id)) : [];
      return known.length > 0 ? new Set(known) : undefined;
    } catch {
      return undefined;
    }
  }
}

/** The menu that chooses columns. @param {{ choice: ColumnChoice<any> }} props */
export function Columns({ choice }) {
  const [isOpen, setOpen] = useState(false);
  const place = useRef(/** @type {HTMLElement | null} */ (null));
  useLayoutEffect(() => {
    const list = place.current?.querySelector("fieldset");
    if (!isOpen || !list) return;
    keepInside(list);
    const outside = (/** @type {Event} */ { target }) => {
      if (!place.current?.contains(/** @type {Node} */ (target))) setOpen(false);
    };
    addEventListener("pointerdown", outside);
    return () => removeEventListener("pointerdown", outside);
  }, [isOpen]);
  const press = (/** @type {KeyboardEvent} */ { key }) => {
    if (key !== "Escape") return;
    setOpen(false);
    place.current?.querySelector("button")?.focus();
  };
  return html`
    <div class="menu-place" ref=${place} onKeyDown=${press}>
      <button type="button" class="button plain" aria-expanded=${String(isOpen)} onClick=${() => setOpen(!isOpen)}>
        <${Icon} name="columns-3" />Columns
      </button>
      ${isOpen && html`
        <fieldset class="menu" aria-label="Columns">
          ${choice.all.filter(({ title }) => title).map(({ id, title }) =>
            html`
              <label key=${id}>
                <input
                  type="checkbox"
                  checked=${choice.shown.some((column) => column.id === id)}
                  onChange=${() => choice.turn(id)}
                />${title}
              </label>
            `
          )}
        </fieldset>
      `}
    </div>
  `;
}

/** @typedef {import("./order.js").Order} Order */

/**
 * @template Item
 * @param {readonly Item[]} items
 * @param {readonly Column<Item>[]} columns
 * @param {Order} order
 */
function sorted(items, columns, order) {
  const sortBy = order && columns.find(({ id }) => id === order.by)?.sortBy;
  if (!sortBy) return items;
  const sign = order.isUp ? 1 : -1;
  const valued = items.map((item) => ({ item, value: sortBy(item) }));
  valued.sort(({ value: one }, { value: other }) => {
    // A row without a value comes last in either order.
    if (one === undefined || other === undefined) return Number(one === undefined) - Number(other === undefined);
    return one === other ? 0 : one < other ? -sign : sign;
  });
  return valued.map(({ item }) => item);
}

/**
 * @template Item
 * @param {{ caption: Children, columns: readonly Column<Item>[], items: readonly Item[], keyOf(item: Item): string,
 *   kindOf?(item: Item): string | undefined, height?: string, order?: Order, onOrder?(order: Order): void,
 *   label?: string, className?: string, onEnd?(): void, known?: number }} props
 *
 * `height`: how high it may become, in CSS, until it scrolls; its rows are then of one height. `order`: the order that was chosen, where
 * the page keeps it. `onEnd`: called when its reader comes near its end. `known`: how many there are, whatever is shown.
 */
export function DataTable(props) {
  const { caption, columns, keyOf, kindOf, height, label, className = "" } = props;
  const [own, setOwn] = useState(/** @type {Order} */ (undefined));
  const order = props.onOrder ? props.order : own;
  const items = sorted(props.items, columns, order);
  const { place, body, rows, scroll } = useWindow(items, keyOf, height !== undefined);
  useLayoutEffect(() => {
    const { scrollHeight = 0, clientHeight = 0 } = place.current ?? {};
    // There is nothing to scroll yet.
    if (scrollHeight <= clientHeight) props.onEnd?.();
  }, [props.items.length, props.known]);
  const cell = (/** @type {Item} */ item, /** @type {Column<Item>} */ column) => {
    const { id, isHead, isNumber, wide, grows, roomy, isTall, view, hint, kind } = column;
    const names = [
      isNumber && "number",
      (wide || grows) && "text",
      grows && "grows",
      roomy && "roomy",
      isTall && "tall",
      kind?.(item),
    ]
      .filter(Boolean).join(" ");
    return isHead
      ? html`<th scope="row" class=${names} data-column=${id} title=${hint?.(item)} key=${id}>${view(item)}</th>`
      : html`<td class=${names} data-column=${id} title=${hint?.(item)} key=${id}>${view(item)}</td>`;
  };
  const kept = useRows(columns);
  const draw = (/** @type {Item} */ item, /** @type {number} */ index) =>
    html`
      <tr class=${kindOf?.(item)} aria-rowindex=${rows.isPart ? String(index + 2) : undefined} key=${keyOf(item)}>
        ${columns.map((column) => cell(item, column))}
      </tr>
    `;
  return html`
    <div
      class=${`data ${rows.isPart || height ? "rows" : ""} ${className}`}
      ref=${place}
      onScroll=${(/** @type {any} */ { currentTarget: { scrollHeight, scrollTop, clientHeight } }) => {
        scroll();
        if (scrollHeight - scrollTop - clientHeight < NEAR) props.onEnd?.();
      }}
      style=${{ "--most-height": height ?? HIGH }}
      tabindex="0"
      role="region"
      aria-label=${label ?? "Table"}
    >
      <table aria-rowcount=${rows.isPart ? String(items.length + 1) : undefined}>
        <caption>${caption}</caption>
        <thead>
          <tr>${columns.map((column) =>
            html`<${Head} column=${column} order=${order} onOrder=${props.onOrder ?? setOwn} key=${column.id} />`
          )}</tr>
        </thead>
        <tbody ref=${body}>
          ${rows.before > 0 && html`<${Space} key="before" height=${rows.before} />`}
          ${items.slice(rows.start, rows.end).map((item, index) => kept(item, rows.start + index, draw))}
          ${rows.after > 0 && html`<${Space} key="after" height=${rows.after} />`}
        </tbody>
      </table>
    </div>
  `;
}

/**
 * Draws a row anew only if its item, its place or the columns are others: Preact passes over one that is the same.
 * @template Item
 * @param {readonly Column<Item>[]} columns
 */
function useRows(columns) {
  const kept = useRef({ columns, rows: /** @type {Map<Item, { index: number, row: unknown }>} */ (new Map()) });
  const last = kept.current;
  const isSame = last.columns.length === columns.length && columns.every((column, at) => column === last.columns[at]);
  const before = isSame ? last.rows : new Map();
  /** @type {typeof last} */
  const now = { columns, rows: new Map() };
  kept.current = now;
  return (
    /** @type {Item} */ item,
    /** @type {number} */ index,
    /** @type {(item: Item, index: number) => unknown} */ draw,
  ) => {
    const known = before.get(item);
    const own = known?.index === index ? known : { index, row: draw(item, index) };
    now.rows.set(item, own);
    return own.row;
  };
}

/** @param {{ height: number }} props */
function Space({ height }) {
  return html`<tr aria-hidden="true" class="space" style=${{ height: `${height}px` }}></tr>`;
}

/** The first press sorts from the top down, the next from the bottom up, and the third takes the order back. @param {any} props */
function Head({ column: { id, title, isNumber, grows, roomy, sortBy }, order, onOrder }) {
  const isOwn = order?.by === id;
  const next = !isOwn
    ? { by: id, isUp: !isNumber }
    : order.isUp === !isNumber
    ? { by: id, isUp: !order.isUp }
    : undefined;
  const sort = !isOwn ? undefined : order.isUp ? "ascending" : "descending";
  return html`
    <th scope="col" class=${[isNumber && "number", grows && "grows", roomy && "roomy"].filter(Boolean).join(
      " ",
    )} aria-sort=${sort}>
      ${sortBy
        ? html`<button type="button" onClick=${() => onOrder(next)}>
          ${title}${isOwn && html`<${Icon} name=${order.isUp ? "arrow-up" : "arrow-down"} size=${12} />`}
        </button>`
        : title || html`<span class="visually-hidden">Actions</span>`}
    </th>
  `;
}

/**
 * The rows that are in the page. A reader who has scrolled, or is in a row, stays there while others arrive.
 * @template Item
 * @param {readonly Item[]} items
 * @param {(item: Item) => string} keyOf
 * @param {boolean} scrolls whether the table scrolls in itself
 */
function useWindow(items, keyOf, scrolls) {
  const place = useRef(/** @type {HTMLElement | null} */ (null));
  const body = useRef(/** @type {HTMLElement | null} */ (null));
  const height = useRef(34);
  const shown = useRef(/** @type {readonly Item[]} */ ([]));
  const [, redraw] = useState(0);
  const element = place.current;
  const isPart = scrolls && items.length > FEW;
  const scrollTop = element?.scrollTop ?? 0;
  const first = Math.floor(scrollTop / height.current);
  const isRead = scrollTop > 0 || body.current?.contains(document.activeElement);
  let top = first;
  if (isRead && shown.current !== items) {
    const held = shown.current[first];
    const key = held === undefined ? undefined : keyOf(held);
    const index = key === undefined ? -1 : items.findIndex((item) => keyOf(item) === key);
    if (index >= 0) top = index;
  }
  const inSight = Math.ceil((element?.clientHeight ?? 600) / height.current) || 1;
  const start = isPart ? Math.max(0, Math.min(top, items.length - inSight) - BEYOND) : 0;
  const end = isPart ? Math.min(items.length, start + inSight + 2 * BEYOND) : items.length;
  useLayoutEffect(() => {
    const { current } = place;
    if (current && top !== first) current.scrollTop = scrollTop + (top - first) * height.current;
    shown.current = items;
    const row = body.current?.querySelector("tr:not(.space)");
    const found = row?.getBoundingClientRect().height;
    if (!found || found === height.current) return;
    height.current = found;
    redraw((times) => times + 1);
  });
  const drawn = useRef(0);
  drawn.current = top;
  const scroll = () => {
    const now = Math.floor((place.current?.scrollTop ?? 0) / height.current);
    // The rows beyond the edges are there for the way between.
    if (isPart && Math.abs(now - drawn.current) >= BEYOND / 2) redraw((times) => times + 1);
  };
  const rows = { isPart, start, end, before: start * height.current, after: (items.length - end) * height.current };
  return { place, body, rows, scroll };
}
