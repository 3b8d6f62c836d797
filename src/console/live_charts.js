// @ts-check
/// <reference lib="dom" />
/** The figures and charts above the list of requests. */
import { html, useState } from "./ui.js";
import { Chart } from "./design/chart.js";
import { Card, Segments, Stat } from "./design/parts.js";
import { COLUMN_MS, quantile } from "./entries.js";
import { inDollars, inPercent, inShort, inTime } from "./words.js";

/** @typedef {import("./entries.js").Sums} Sums */

const AMOUNTS = [{ value: "tokens", title: "Tokens" }, { value: "dollars", title: "Dollars" }];

const perSecond = (/** @type {number} */ value) => `${Number((value * 1_000 / COLUMN_MS).toFixed(1))}/s`;

/** @param {readonly number[]} values */
const sum = (values) => values.reduce((all, value) => all + value, 0);

/** @param {{ columns: readonly (Sums | undefined)[], now: number, running: number }} props */
export function LiveCharts({ columns, now, running }) {
  const [amount, setAmount] = useState("tokens");
  const all = (/** @type {(sums: Sums) => number} */ of) => columns.map((sums) => sums ? of(sums) : 0);
  const [requests, errors] = [all((sums) => sums.requests), all((sums) => sums.errors)];
  const [input, cached, output] = [all((sums) => sums.input), all((sums) => sums.cached), all((sums) => sums.output)];
  const dollars = all((sums) => sums.dollars);
  const durations = columns.flatMap((sums) => sums?.durations ?? []);
  const firsts = columns.flatMap((sums) => sums?.firstEvents ?? []);
  const share = (/** @type {"durations" | "firstEvents"} */ of, /** @type {number} */ part) =>
    columns.map((sums) => quantile(sums?.[of] ?? [], part) ?? null);
  // The last column is not over yet, and would always look like a fall.
  const past = (/** @type {readonly (number | null)[]} */ values) => values.slice(0, -1);
  const last = Math.floor(now / COLUMN_MS) * COLUMN_MS;
  const times = columns.slice(0, -1).map((_, index) => last - (columns.length - 1 - index) * COLUMN_MS);
  const amounts = amount === "tokens"
    ? [{ name: "Input", values: past(input) }, { name: "Output", values: past(output) }]
    : [{ name: "Dollars", values: past(dollars) }];
  const choice = html`<${Segments} label="Amounts" options=${AMOUNTS} value=${amount} onChoose=${setAmount} />`;
  const [wrong, total] = [sum(errors), sum(requests)];
  const table = {
    "Requests/s": past(requests).map((value) => perSecond(value ?? 0)),
    "Errors": past(errors).map(String),
    "Median": past(share("durations", 0.5)).map((value) => inTime(value ?? undefined)),
    "95 %": past(share("durations", 0.95)).map((value) => inTime(value ?? undefined)),
    "First event": past(share("firstEvents", 0.5)).map((value) => inTime(value ?? undefined)),
    "Tokens": past(input).map((value, index) => inShort((value ?? 0) + (output[index] ?? 0))),
    "Cost": past(dollars).map((value) => inDollars(value ?? 0)),
  };
  return html`
    <ul class="stats" aria-label="Figures of the time that is shown">
      <${Stat} name="Running" value=${inShort(running)} more="now" />
      <${Stat} name="Requests" value=${inShort(total)} more=${perSecond(total / columns.length)} />
      <${Stat} name="Errors" value=${inShort(wrong)} more=${inPercent(wrong, total)} tone=${wrong > 0
        ? "bad"
        : "plain"} />
      <${Stat} name="First event" value=${inTime(quantile(firsts, 0.5))} more=${`95 %: ${
        inTime(quantile(firsts, 0.95))
      }`} />
      <${Stat} name="Duration" value=${inTime(quantile(durations, 0.5))} more=${`95 %: ${
        inTime(quantile(durations, 0.95))
      }`} />
      <${Stat} name="Tokens" value=${inShort(sum(input) + sum(output))} more=${`${
        inPercent(sum(cached), sum(input))
      } cached`} />
      <${Stat} name="Cost" value=${inDollars(sum(dollars))} more="estimated by prices" />
    </ul>
    <div class="charts">
      <${Card} title="Requests" about="per second">
        <${Chart}
          title="Requests"
          times=${times}
          inWords=${perSecond}
          series=${[{ name: "All", values: past(requests) }, { name: "Errors", values: past(errors), isBad: true }]}
        />
        <//>
        <${Card} title="Latency">
          <${Chart}
            title="Latency"
            times=${times}
            inWords=${inTime}
            series=${[
              { name: "Median", values: past(share("durations", 0.5)) },
              { name: "95 %", values: past(share("durations", 0.95)) },
              { name: "First event", values: past(share("firstEvents", 0.5)) },
            ]}
          />
          <//>
          <${Card} title=${amount === "tokens" ? "Tokens" : "Cost"} about="per ten seconds" actions=${choice}>
            <${Chart} title=${amount === "tokens" ? "Tokens" : "Cost"} times=${times} inWords=${amount === "tokens"
              ? inShort
              : inDollars} series=${amounts} />
            <//>
            </div>
            <${Numbers} times=${times} columns=${table} />
  `;
}

/** The charts for whoever reads numbers. @param {{ times: readonly number[], columns: Record<string, readonly string[]> }} props */
function Numbers({ times, columns }) {
  const [isOpen, setOpen] = useState(false);
  const heads = Object.keys(columns).map((name) => html`<th scope="col" class="number" key=${name}>${name}</th>`);
  const row = (/** @type {number} */ time, /** @type {number} */ index) =>
    html`
      <tr key=${time}>
        <th scope="row">${new Date(time).toLocaleTimeString("en-GB")}</th>
        ${Object.entries(columns).map(([name, values]) => html`<td class="number" key=${name}>${values[index]}</td>`)}
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
