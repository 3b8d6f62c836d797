// @ts-check
/// <reference lib="dom" />
/** The figures and charts above the list of requests. */
import { html, useState } from "./ui.js";
import { Chart } from "./design/chart.js";
import { Card, Segments, Stat } from "./design/parts.js";
import { COLUMN_MS, quantile } from "./entries.js";
import { inDollars, inPercent, inShort, inTime } from "./words.js";

/** @typedef {import("./entries.js").Sums} Sums */
/** @typedef {readonly (Sums | undefined)[]} Columns */

const ERRORS = [{ value: "all", title: "All" }, { value: "kinds", title: "Errors by kind" }];
const TIMES = [{ value: "durations", title: "Whole" }, { value: "firstEvents", title: "First event" }];
/** The most kinds of errors that have a line of their own. */
const MOST_KINDS = 4;

const perSecond = (/** @type {number} */ value) => `${Number((value * 1_000 / COLUMN_MS).toFixed(2))}/s`;

/** @param {readonly number[]} values */
const sum = (values) => values.reduce((all, value) => all + value, 0);

/** @param {Columns} columns @param {(sums: Sums) => number} of */
const each = (columns, of) => columns.map((sums) => sums ? of(sums) : 0);

/** The choices of the third chart. @type {readonly { id: string, title: string, inWords(value: number): string, lines: Record<string, (sums: Sums) => number> }[]} */
const AMOUNTS = [
  {
    id: "tokens",
    title: "Tokens",
    inWords: inShort,
    lines: {
      "Cached input": ({ cached }) => cached,
      "Other input": ({ input, cached }) => Math.max(0, input - cached),
      "Output": ({ output, reasoning }) => Math.max(0, output - reasoning),
      "Reasoning": ({ reasoning }) => reasoning,
    },
  },
  { id: "dollars", title: "Cost", inWords: inDollars, lines: { "Dollars": ({ dollars }) => dollars } },
  {
    id: "hits",
    title: "Cache hits",
    inWords: inShort,
    lines: { "Read from the cache": ({ hits }) => hits, "All requests": ({ requests }) => requests },
  },
  {
    id: "notes",
    title: "Notes",
    inWords: inShort,
    lines: { "Notes": ({ notes }) => notes, "Relaxations": ({ relaxations }) => relaxations },
  },
];

/**
 * @param {{ columns: Columns, last: number, isOver: boolean, running: number, onRange(from: number, to: number): void }} props
 *
 * `last`: when the last column begins. `isOver`: whether nothing can be added to it.
 */
export function LiveCharts({ columns, last, isOver, running, onRange }) {
  const [errors, setErrors] = useState("all");
  const [kind, setKind] = useState("durations");
  const [amount, setAmount] = useState("tokens");
  // A column that is not over yet would always look like a fall.
  const past = isOver ? columns : columns.slice(0, -1);
  const times = past.map((_, index) => last - (columns.length - 1 - index) * COLUMN_MS);
  const durations = /** @type {"durations" | "firstEvents"} */ (kind);
  const share = (/** @type {number} */ part) => past.map((sums) => quantile(sums?.[durations] ?? [], part) ?? null);
  const chosen = AMOUNTS.find(({ id }) => id === amount) ?? /** @type {typeof AMOUNTS[number]} */ (AMOUNTS[0]);
  const amounts = Object.entries(chosen.lines).map(([name, of]) => ({ name, values: each(past, of) }));
  const options = AMOUNTS.map(({ id, title }) => html`<option key=${id} value=${id}>${title}</option>`);
  const show = html`
    <label class="choice">Show
      <select value=${amount} onChange=${(/** @type {any} */ { currentTarget }) => setAmount(currentTarget.value)}>
        ${options}
      </select>
    </label>
  `;
  const requests = errors === "all"
    ? [
      { name: "All", values: each(past, (sums) => sums.requests) },
      { name: "Errors", values: each(past, (sums) => sums.errors), isBad: true },
    ]
    : kindsIn(past);
  const shared = { times, onRange };
  return html`
    <${Figures} columns=${columns} running=${running} />
    <div class="charts">
      <${Card}
        title="Requests"
        about="per second"
        actions=${html`<${Segments} label="Requests" options=${ERRORS} value=${errors} onChoose=${setErrors} />`}
      >
        <${Chart} ...${shared} title="Requests" inWords=${perSecond} series=${requests} />
        <//>
        <${Card}
          title="Latency"
          actions=${html`<${Segments} label="Durations" options=${TIMES} value=${kind} onChoose=${setKind} />`}
        >
          <${Chart}
            ...${shared}
            title="Latency"
            inWords=${inTime}
            series=${[
              { name: "Median", values: share(0.5) },
              { name: "95 %", values: share(0.95) },
              { name: "99 %", values: share(0.99) },
            ]}
          />
          <//>
          <${Card} title=${chosen.title} about="per ten seconds" actions=${show}>
            <${Chart} ...${shared} title=${chosen.title} inWords=${chosen.inWords} series=${amounts} />
            <//>
            </div>
            <${Numbers} times=${times} columns=${past} onRange=${onRange} />
  `;
}

/** @param {{ columns: Columns, running: number }} props */
function Figures({ columns, running }) {
  const total = (/** @type {(sums: Sums) => number} */ of) => sum(each(columns, of));
  const times = (/** @type {"durations" | "firstEvents"} */ of) => columns.flatMap((sums) => sums?.[of] ?? []);
  const [requests, wrong] = [total((sums) => sums.requests), total((sums) => sums.errors)];
  const [input, cached] = [total((sums) => sums.input), total((sums) => sums.cached)];
  const [firsts, wholes] = [times("firstEvents"), times("durations")];
  const notes = total((sums) => sums.notes);
  return html`
    <ul class="stats" aria-label="Figures of the time that is shown">
      <${Stat} name="Running" value=${inShort(running)} more="now" />
      <${Stat} name="Requests" value=${inShort(requests)} more=${perSecond(requests / Math.max(1, columns.length))} />
      <${Stat} name="Errors" value=${inShort(wrong)} more=${inPercent(wrong, requests)} tone=${wrong > 0
        ? "bad"
        : "plain"} />
      <${Stat} name="First event" value=${inTime(quantile(firsts, 0.5))} more=${`95 %: ${
        inTime(quantile(firsts, 0.95))
      }`} />
      <${Stat} name="Duration" value=${inTime(quantile(wholes, 0.5))} more=${`95 %: ${
        inTime(quantile(wholes, 0.95))
      }`} />
      <${Stat} name="Tokens" value=${inShort(input + total((sums) => sums.output))} more=${`${
        inPercent(cached, input)
      } cached`} />
      <${Stat} name="Cost" value=${inDollars(
        requests > 0 && total((sums) => sums.priced) === 0 ? undefined : total((sums) => sums.dollars),
      )} more="estimated" />
      <${Stat} name="Notes" value=${inShort(notes)} more=${`${
        inShort(total((sums) => sums.relaxations))
      } relaxations`} />
    </ul>
  `;
}

/** A line for each kind of error, the most frequent first; the others together. @param {Columns} columns */
function kindsIn(columns) {
  /** @type {Map<string, number[]>} */
  const kinds = new Map();
  for (const [index, sums] of columns.entries()) {
    for (const [kind, times] of Object.entries(sums?.kinds ?? {})) {
      const values = kinds.get(kind) ?? columns.map(() => 0);
      values[index] = times;
      kinds.set(kind, values);
    }
  }
  const sorted = [...kinds].sort(([, one], [, other]) => sum(other) - sum(one));
  const own = sorted.slice(0, MOST_KINDS).map(([name, values]) => ({ name, values }));
  const rest = sorted.slice(MOST_KINDS).map(([, values]) => values);
  if (own.length === 0) return [{ name: "No errors", values: columns.map(() => 0) }];
  if (rest.length === 0) return own;
  return [...own, { name: "other", values: columns.map((_, index) => sum(rest.map((values) => values[index] ?? 0))) }];
}

/** The columns of the table of numbers. @type {Record<string, (sums: Sums | undefined) => string>} */
const NUMBERS = {
  "Requests/s": (sums) => perSecond(sums?.requests ?? 0),
  "Errors": (sums) => String(sums?.errors ?? 0),
  "Median": (sums) => inTime(quantile(sums?.durations ?? [], 0.5)),
  "95 %": (sums) => inTime(quantile(sums?.durations ?? [], 0.95)),
  "99 %": (sums) => inTime(quantile(sums?.durations ?? [], 0.99)),
  "First event": (sums) => inTime(quantile(sums?.firstEvents ?? [], 0.5)),
  "Tokens": (sums) => inShort((sums?.input ?? 0) + (sums?.output ?? 0)),
  "Cache hits": (sums) => inShort(sums?.hits ?? 0),
  "Cost": (sums) => inDollars(sums?.priced === 0 ? undefined : sums?.dollars ?? 0),
  "Notes": (sums) => inShort(sums?.notes ?? 0),
};

/** The charts for whoever reads numbers. @param {{ times: readonly number[], columns: Columns, onRange(from: number, to: number): void }} props */
function Numbers({ times, columns, onRange }) {
  const [isOpen, setOpen] = useState(false);
  const heads = Object.keys(NUMBERS).map((name) => html`<th scope="col" class="number" key=${name}>${name}</th>`);
  const row = (/** @type {number} */ time, /** @type {number} */ index) =>
    html`
      <tr key=${time}>
        <th scope="row">
          <button type="button" class="link" title="Show the requests of this time" onClick=${() =>
            onRange(time, time + COLUMN_MS - 1)}>${new Date(time).toLocaleTimeString("en-GB")}</button>
        </th>
        ${Object.entries(NUMBERS).map(([name, of]) => html`<td class="number" key=${name}>${of(columns[index])}</td>`)}
      </tr>
    `;
  const table = () =>
    html`
      <div class="card flush">
        <div class="data" tabindex="0" role="region" aria-label="The charts' numbers">
          <table>
            <caption>In ten-second steps</caption>
            <thead>
              <tr><th scope="col">From</th>${heads}</tr>
            </thead>
            <tbody>${times.map(row).reverse()}</tbody>
          </table>
        </div>
      </div>
    `;
  return html`
    <details open=${isOpen} onToggle=${(/** @type {any} */ { currentTarget }) => setOpen(currentTarget.open)}>
      <summary>Charts as a table</summary>
      ${isOpen && table()}
    </details>
  `;
}
