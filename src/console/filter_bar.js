// @ts-check
/// <reference lib="dom" />
/** The filter above a list of requests: words, a menu for each field, and a chip for each condition. */
import { html } from "./ui.js";
import { Menu } from "./design/overlays.js";
import { Chip, Icon } from "./design/parts.js";
import { count } from "./dom.js";
import { FIELDS, filterText, parseFilter, valuesOf } from "./filter.js";

/** How many values of a field are offered. */
const MOST_VALUES = 20;

/** @typedef {import("./filter.js").Field} Field */

/**
 * @param {{ all: readonly import("./entries.js").Entry[], query: string, onQuery(text: string): void, fields: readonly Field[],
 *   children?: import("./ui.js").Children }} props
 *
 * `all`: the requests whose values are offered. `fields`: those that have a menu.
 */
export function FilterBar({ all, query, onQuery, fields, children }) {
  const { words, conditions } = parseFilter(query);
  // A space that was just written is part of the text, though it is not part of the filter.
  const text = conditions.length === 0 ? query : words.join(" ") + (query.endsWith(" ") ? " " : "");
  const write = (/** @type {any} */ { currentTarget: { value } }) => onQuery(filterText(value, conditions));
  const turn = (/** @type {Field} */ field, /** @type {string} */ value) => {
    const others = conditions.filter((one) => one.field !== field || one.value !== value);
    const isAdded = others.length === conditions.length;
    onQuery(filterText(words.join(" "), isAdded ? [...conditions, { field, value }] : others));
  };
  const items = (/** @type {Field} */ field) =>
    valuesOf(all, field, MOST_VALUES).map(([value, times]) => ({
      title: `${value} (${count(times)})`,
      icon: conditions.some((one) => one.field === field && one.value === value) ? "check" : undefined,
      run: () => turn(field, value),
    }));
  return html`
    <div class="toolbar" role="group" aria-label="Conditions and columns">
      <div class="search">
        <${Icon} name="search" />
        <input type="search" aria-label="Filter" placeholder="Words, or model:… key:… status:error" value=${text} onInput=${write} />
      </div>
      ${fields.map((field) =>
        html`
          <${Menu} key=${field} icon="list-filter" label=${FIELDS[field].title} items=${() =>
            items(field)}>${FIELDS[field].title}<//>
        `
      )}
      ${children}
      ${conditions.map(({ field, value }) =>
        html`
          <${Chip} key=${`${field}:${value}`} name=${FIELDS[field].title} value=${value} onRemove=${() =>
            turn(field, value)} />
        `
      )}
    </div>
  `;
}
