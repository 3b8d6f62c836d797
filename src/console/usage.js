// @ts-check
/// <reference lib="dom" />
/** The usage of keys, and what is left of their budgets. */
import { batch, html, screen, signal, useMemo } from "./ui.js";
import { attempt } from "./actions.js";
import { Chart } from "./design/chart.js";
import { Menu } from "./design/overlays.js";
import { Badge, ButtonLink, Card, EmptyState, Page, Segments, Stat } from "./design/parts.js";
import { DataTable } from "./design/table.js";
import { ask, count, NotThere } from "./dom.js";
import { USAGE } from "./switches.js";
import { TurnOn } from "./turn_on.js";
import { csvOf, linesOf, sumsBy } from "./usage_sums.js";
import { inDollars, inPercent, inShort } from "./words.js";

const EVERY_MS = 10_000;
const DAY_MS = 86_400_000;

const PERIODS = [[1, "day"], [7, "7 days"], [30, "30 days"], [90, "90 days"]];
const MEASURES = [{ value: "dollars", title: "Cost" }, { value: "tokens", title: "Tokens" }, {
  value: "requests",
  title: "Requests",
}];

/** @typedef {import("./usage_sums.js").Row} Row */
/** @typedef {import("./usage_sums.js").Sum} Sum */
/** @typedef {{ budget: string, period: string, dollars: string, spent: string, left: string, resets?: string }} Budget */

const days = signal("7");
const by = signal(/** @type {"key" | "model" | "day"} */ ("key"));
const measure = signal("dollars");
const answer = signal(/** @type {{ data: Row[], budgets?: Budget[] } | undefined} */ (undefined));
const isOff = signal(false);

export const usage = screen({
  title: "Usage",
  everyMs: EVERY_MS,
  open() {
    batch(() => {
      days.value = "7";
      by.value = "key";
    });
    return { view: html`<${UsagePage} />`, refresh };
  },
});

async function refresh() {
  const wanted = days.value;
  const found = await ask(`usage?days=${wanted}`).catch((error) => {
    if (!(error instanceof NotThere)) throw error;
  });
  // Another choice was made meanwhile, whose answer may have come first.
  if (wanted !== days.value) return;
  batch(() => {
    isOff.value = found === undefined;
    answer.value = found;
  });
}

/** @type {import("./design/table.js").Column<Sum>[]} */
const COLUMNS = [
  { id: "name", title: "", isHead: true, grows: true, sortBy: ({ name }) => name, view: ({ name }) => name },
  {
    id: "requests",
    roomy: true,
    title: "Requests",
    isNumber: true,
    sortBy: ({ requests }) => requests,
    view: ({ requests }) => count(requests),
  },
  {
    id: "input",
    title: "Input tokens",
    isNumber: true,
    sortBy: ({ input }) => input,
    view: ({ input }) => count(input),
  },
  {
    id: "output",
    title: "Output tokens",
    isNumber: true,
    sortBy: ({ output }) => output,
    view: ({ output }) => count(output),
  },
  {
    id: "dollars",
    title: "Cost",
    isNumber: true,
    sortBy: ({ dollars }) => dollars,
    hint: ({ dollars, isPriced }) => isPriced ? `$${dollars.toFixed(6)}` : "These models have no price",
    view: ({ dollars, isPriced }) => isPriced ? inDollars(dollars) : "–",
  },
];

function UsagePage() {
  const rows = answer.value?.data ?? [];
  const sums = useMemo(() => sumsBy(rows, by.value), [rows, by.value]);
  if (isOff.value) return html`<${NotRecorded} />`;
  const choose = (/** @type {any} */ { currentTarget: { value } }) => {
    days.value = value;
    void attempt(refresh);
  };
  const items = [
    { title: "As CSV", icon: "download", run: () => save("usage.csv", "text/csv", csvOf(rows)) },
    {
      title: "As JSON",
      icon: "download",
      run: () => save("usage.json", "application/json", JSON.stringify(rows, null, 2)),
    },
  ];
  const actions = html`
    <label class="choice">Group by
      <select value=${by.value} onChange=${(/** @type {any} */ { currentTarget }) => by.value = currentTarget.value}>
        ${["key", "model", "day"].map((value) => html`<option key=${value} value=${value}>${value}</option>`)}
      </select>
    </label>
    <label class="choice">Period
      <select value=${days.value} onChange=${choose}>
        ${PERIODS.map(([value, title]) => html`<option key=${value} value=${String(value)}>${title}</option>`)}
      </select>
    </label>
    <${Menu} label="Export" icon="download" items=${items}>Export<//>
  `;
  const columns = COLUMNS.map((column) => column.id === "name" ? { ...column, title: TITLES[by.value] } : column);
  return html`
    <${Page} title="Usage" actions=${actions}>
      ${answer.value && rows.length === 0 ? html`<${NothingUsed} />` : html`
        <${Figures} rows=${rows} />
        <${Days} rows=${rows} />
        <${Card} flush>
          <${DataTable}
            label="Usage"
            caption="Requests, tokens and dollars"
            columns=${columns}
            items=${sums}
            keyOf=${(/** @type {Sum} */ { name }) => name}
          />
          <//>
      `}
      <${Budgets} budgets=${answer.value?.budgets ?? []} />
    <//>
  `;
}

function NotRecorded() {
  return html`
    <${Page} title="Usage">
      <${Card}>
        <${EmptyState}
          icon="chart-column"
          title="Recording is off"
          action=${html`<${TurnOn} ...${USAGE} isMain />`}
        >
          Usage is not recorded. With it on, this page sums up requests, tokens and dollars by key, model and day.
        <//>
      <//>
    <//>
  `;
}

function NothingUsed() {
  const actions = html`
    <${ButtonLink} kind="primary" icon="plug" href="#setup?client">Connect a client<//>
    <${ButtonLink} href="#playground">Try a prompt<//>
  `;
  return html`
    <${Card}>
      <${EmptyState} icon="chart-column" title="No use yet" action=${actions}>
        Nothing was used in this period. Requests, tokens and dollars will be summed up here.
      <//>
    <//>
  `;
}

const TITLES = { key: "Key", model: "Model", day: "Day" };

/** @param {{ rows: readonly Row[] }} props */
function Figures({ rows }) {
  const total = (/** @type {(row: Row) => number} */ of) => rows.reduce((all, row) => all + of(row), 0);
  return html`
    <ul class="stats" aria-label="Figures of these days">
      <${Stat} name="Requests" value=${inShort(total(({ requests }) => requests))} />
      <${Stat} name="Input tokens" value=${inShort(total(({ inputTokens }) => inputTokens))} />
      <${Stat} name="Output tokens" value=${inShort(total(({ outputTokens }) => outputTokens))} />
      <${Stat} name="Cost" value=${inDollars(total(({ dollars }) => Number(dollars ?? 0)))} />
      <${Stat} name="Keys" value=${count(new Set(rows.map(({ key }) => key)).size)} />
      <${Stat} name="Models" value=${count(new Set(rows.map(({ model }) => model)).size)} />
    </ul>
  `;
}

/** @param {{ rows: readonly Row[] }} props */
function Days({ rows }) {
  const length = Number(days.value);
  const times = useMemo(() => {
    const today = Math.floor(Date.now() / DAY_MS) * DAY_MS;
    return Array.from(
      { length: Math.max(2, length) },
      (_, index) => today - (Math.max(2, length) - 1 - index) * DAY_MS,
    );
  }, [length]);
  const series = useMemo(
    () => linesOf(rows, by.value, measure.value, times.map((time) => new Date(time).toISOString().slice(0, 10))),
    [rows, by.value, measure.value, times],
  );
  const choice = html`<${Segments} label="Amounts" options=${MEASURES} value=${measure.value} onChoose=${(
    /** @type {string} */ value,
  ) => measure.value = value} />`;
  const title = MEASURES.find(({ value }) => value === measure.value)?.title ?? "";
  return html`
    <${Card} title=${`${title} by day`} actions=${choice}>
      <${Chart}
        title=${title}
        times=${times}
        series=${series.length > 0 ? series : [{ name: "All", values: times.map(() => 0) }]}
        inWords=${measure.value === "dollars" ? inDollars : inShort}
        daily
      />
      <//>
  `;
}

/** @param {{ budgets: readonly Budget[] }} props */
function Budgets({ budgets }) {
  if (budgets.length === 0) return undefined;
  return html`
    <${Card} title="Budgets" about="what is left in each period">
      <ul class="budgets">
        ${budgets.map(({ budget, period, dollars, spent, left }) => {
          const share = Math.min(1, Number(spent) / (Number(dollars) || 1));
          const tone = share >= 1 ? "bad" : share >= 0.8 ? "warn" : "good";
          return html`
            <li key=${budget}>
              <b>${budget}</b> <${Badge} tone=${tone}>${inPercent(Number(spent), Number(dollars))} spent<//>
              <span class="quiet">${inDollars(left)} of ${inDollars(dollars)} left (${period})</span>
              <meter min="0" max="1" value=${share} data-tone=${tone} aria-label=${`Spent of ${budget}`}></meter>
            </li>
          `;
        })}
      </ul>
      <//>
  `;
}

/** @type {(name: string, type: string, text: string) => void} */
function save(name, type, text) {
  const href = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement("a");
  link.href = href;
  link.download = name;
  link.click();
  URL.revokeObjectURL(href);
}
