// @ts-check
/// <reference lib="dom" />
/** A table with a search, chosen columns and an order. The search and the order stand in the address. */
import { html, useMemo, useState } from "../ui.js";
import { Button, Card, EmptyState, Icon } from "./parts.js";
import { orderIn, textOf } from "./order.js";
import { Columns, DataTable } from "./table.js";

/**
 * The address of the page with other values.
 * @param {Record<string, string | undefined>} values
 */
function setInAddress(values) {
  const [page, query] = location.hash.split("?");
  const search = new URLSearchParams(query);
  for (const [name, value] of Object.entries(values)) {
    if (value) search.set(name, value);
    else search.delete(name);
  }
  history.replaceState(null, "", search.size > 0 ? `${page}?${search}` : page);
}

/** @param {string} name */
const inAddress = (name) => new URLSearchParams(location.hash.split("?")[1] ?? "").get(name) ?? "";

/**
 * @template Item
 * @param {{ choice: import("./table.js").ColumnChoice<Item>, items: readonly Item[], label: string, keyOf(item: Item): string,
 *   caption(items: readonly Item[]): import("../ui.js").Children, placeholder: string, height?: string, onEnd?(): void,
 *   children?: import("../ui.js").Children }} props
 *
 * `children`: shown below the head if there is no item at all.
 */
export function ListTable({ choice, items, caption, placeholder, children, ...rest }) {
  const [words, setWords] = useState(() => inAddress("words"));
  const [sort, setSort] = useState(() => inAddress("sort"));
  const wanted = useMemo(() => items.filter(matcherOf(words, choice.all)), [items, words]);
  const write = (/** @type {string} */ text) => {
    setWords(text);
    setInAddress({ words: text });
  };
  const arrange = (/** @type {import("./table.js").Order} */ order) => {
    setSort(textOf(order) ?? "");
    setInAddress({ sort: textOf(order) });
  };
  return html`
    <div class="toolbar">
      <div class="search">
        <${Icon} name="search" />
        <input type="search" aria-label="Filter" placeholder=${placeholder} value=${words} onInput=${(
          /** @type {any} */ { currentTarget },
        ) => write(currentTarget.value)} />
      </div>
      <${Columns} choice=${choice} />
    </div>
    <${Card} flush>
      <${DataTable}
        ...${rest}
        caption=${caption(wanted)}
        columns=${choice.shown}
        items=${wanted}
        known=${items.length}
        order=${orderIn(sort)}
        onOrder=${arrange}
      />
      ${wanted.length === 0 && (items.length === 0 ? children : html`
        <${EmptyState}
          icon="search"
          title="None fits"
          action=${html`<${Button} onClick=${() => write("")}>Show all<//>`}
        >No row has all of these words.<//>
      `)}
    <//>
  `;
}

/**
 * Whether all words are in the cells of an item, or in what they say to whoever points at them.
 * @template Item
 * @param {string} text
 * @param {readonly import("./table.js").Column<Item>[]} columns
 * @returns {(item: Item) => boolean}
 */
function matcherOf(text, columns) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return (item) => {
    if (words.length === 0) return true;
    const own = columns.map(({ sortBy, hint }) => `${sortBy?.(item) ?? ""} ${hint?.(item) ?? ""}`).join(" ")
      .toLowerCase();
    return words.every((word) => own.includes(word));
  };
}
