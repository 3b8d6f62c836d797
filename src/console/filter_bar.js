// @ts-check
/// <reference lib="dom" />
/** The filter above a list of requests: words, a menu for each field, and a chip for each condition. */
import { html, useState } from "./ui.js";
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
  const [draft, setDraft] = useState("");
  // Somebody else may have changed the filter: the address, or a button that shows all.
  const isOwn = draft !== "" && query.endsWith(draft);
  const text = isOwn ? draft : parseFilter(query).words.join(" ");
  const { conditions } = parseFilter(isOwn ? query.slice(0, query.length - draft.length) : query);
  const change = (
    /** @type {string} */ draft,
    /** @type {readonly import("./filter.js").Condition[]} */ conditions,
  ) => {
    setDraft(draft);
    onQuery(filterText(draft, conditions));
  };
  const write = (/** @type {any} */ { currentTarget: { value } }) => {
    // Until its end is written, a condition stays in the field.
    const isQuoted = value.split('"').length % 2 === 0;
    const end = isQuoted ? 0 : value.lastIndexOf(" ") + 1;
    const done = parseFilter(value.slice(0, end));
    if (done.conditions.length === 0) return change(value, conditions);
    change([...done.words, value.slice(end)].join(" "), [...conditions, ...done.conditions]);
  };
  const finish = () => {
    const written = parseFilter(text);
    if (written.conditions.length > 0) change(written.words.join(" "), [...conditions, ...written.conditions]);
  };
  const turn = (/** @type {Field} */ field, /** @type {string} */ value) => {
    const others = conditions.filter((one) => one.field !== field || one.value !== value);
    const isAdded = others.length === conditions.length;
    change(text, isAdded ? [...conditions, { field, value }] : others);
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
        <input type="search" aria-label="Filter" placeholder="Words, or model:… key:… status:error" value=${text} onInput=${write} onChange=${finish} />
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
