// @ts-check
/// <reference lib="dom" />
/** Requests, durations, tokens and dollars over time, and what is left of budgets. */
import { batch, html, screen, signal, useMemo } from "./ui.js";
import { attempt } from "./actions.js";
import { Budgets } from "./budgets.js";
import { Menu } from "./design/overlays.js";
import { Button, ButtonLink, Card, Chip, EmptyState, Page, Segments } from "./design/parts.js";
import { orderIn, textOf } from "./design/order.js";
import { ColumnChoice, Columns, DataTable } from "./design/table.js";
import { ask, count, LoginNeeded, messageIn, NotThere, send } from "./dom.js";
import { USAGE } from "./switches.js";
import { TurnOn } from "./turn_on.js";
import { Figures, UsageCharts } from "./usage_charts.js";
import { changeOf, choiceIn, DIMENSIONS, nameOf, OTHER, queryOf, RANGES, requestsOf } from "./usage_view.js";
import { exactly, inDollars, inPercent, inShort, inTime } from "./words.js";

const EVERY_MS = 10_000;
/** How many names of one kind are offered as filters. */
const MOST_NAMES = 30;

/** @typedef {import("./usage_view.js").Answer} Answer */
/** @typedef {import("./usage_view.js").Choice} Choice */
/** @typedef {import("./usage_view.js").Group & { before?: import("./usage_view.js").Group }} Row */

const choice = signal(choiceIn(""));
const answer = signal(/** @type {Answer | undefined} */ (undefined));
const isOff = signal(false);
const budgets = signal(/** @type {readonly import("./budgets.js").Budget[]} */ ([]));

export const usage = screen({
  title: "Usage",
  everyMs: EVERY_MS,
  open() {
    batch(() => {
      choice.value = choiceIn(location.hash.split("?")[1] ?? "");
      answer.value = undefined;
    });
    return { view: html`<${UsagePage} />`, refresh };
  },
});

async function refresh() {
  const wanted = queryOf(choice.value);
  const [found, used] = await Promise.allSettled([ask(`series?${wanted}`), ask("usage?days=1")]);
  // Another choice was made meanwhile, whose answer may have come first.
  if (wanted !== queryOf(choice.value)) return;
  const isMissing = found.status === "rejected" && found.reason instanceof NotThere;
  batch(() => {
    isOff.value = isMissing;
    if (found.status === "fulfilled") answer.value = found.value;
    // There may be budgets though usage is not kept.
    if (used.status === "fulfilled") budgets.value = used.value.budgets ?? [];
  });
  if (found.status === "rejected" && !isMissing) throw found.reason;
}

/** @param {"csv" | "json"} format */
async function save(format) {
  const response = await send(`api/series?${queryOf(choice.value)}&format=${format}`, {});
  if (response.status === 401) throw new LoginNeeded(await messageIn(response));
  if (!response.ok) throw new Error(await messageIn(response));
  const href = URL.createObjectURL(await response.blob());
  const link = document.createElement("a");
  link.href = href;
  link.download = `usage.${format}`;
  link.click();
  URL.revokeObjectURL(href);
}

/** @param {Partial<Choice>} change */
function choose(change) {
  const before = queryOf(choice.value);
  choice.value = { ...choice.value, ...change };
  history.replaceState(null, "", `#usage?${queryOf(choice.value, { isAddress: true })}`);
  if (before !== queryOf(choice.value)) void attempt(refresh);
}

/** @param {string} dimension @param {string} value */
function turn(dimension, value) {
  const { filter } = choice.value;
  const others = filter.filter((one) => one.dimension !== dimension || one.value !== value);
  choose({ filter: others.length === filter.length ? [...filter, { dimension, value }] : others });
}

/** @type {(id: string, title: string, more: Partial<import("./design/table.js").Column<Row>>) => import("./design/table.js").Column<Row>} */
const numbers = (id, title, more) => ({ id, title, isNumber: true, view: () => undefined, ...more });

/** @type {import("./design/table.js").Column<Row>[]} */
const COLUMNS = [
  {
    id: "name",
    title: "Name",
    isHead: true,
    grows: true,
    phone: true,
    sortBy: ({ name }) => name,
    hint: ({ name }) => name,
    view: ({ name }) =>
      html`<button type="button" class="open" onClick=${() => turn(choice.value.by, name)}>${nameOf(name)}</button>`,
  },
  numbers("requests", "Requests", { phone: true, sortBy: (row) => row.requests, view: (row) => count(row.requests) }),
  numbers("change", "Change", {
    sortBy: ({ requests, before }) => before?.requests ? requests / before.requests : undefined,
    hint: ({ before }) => before && `${count(before.requests)} before`,
    view: ({ requests, before }) => changeOf(requests, before?.requests) ?? "–",
  }),
  numbers("errors", "Errors", {
    sortBy: (row) => row.errors,
    hint: ({ errors, requests }) => inPercent(errors, requests),
    view: (row) => count(row.errors),
  }),
  numbers("input", "Input", {
    sortBy: (row) => row.inputTokens,
    hint: (row) => `${count(row.inputTokens)} tokens`,
    view: (row) => inShort(row.inputTokens),
  }),
  numbers("cached", "Cached", {
    sortBy: (row) => row.cachedTokens / (row.inputTokens || 1),
    hint: (row) => `${count(row.cachedTokens)} tokens`,
    view: (row) => inPercent(row.cachedTokens, row.inputTokens),
  }),
  numbers("output", "Output", {
    sortBy: (row) => row.outputTokens,
    hint: (row) => `${count(row.outputTokens)} tokens`,
    view: (row) => inShort(row.outputTokens),
  }),
  numbers("reasoning", "Reasoning", {
    hiddenAtFirst: true,
    sortBy: (row) => row.reasoningTokens,
    view: (row) => inShort(row.reasoningTokens),
  }),
  numbers("dollars", "Cost", {
    phone: true,
    sortBy: ({ dollars }) => dollars === undefined ? undefined : Number(dollars),
    hint: ({ dollars }) => dollars === undefined ? "These models have no price" : `$${dollars}`,
    view: ({ dollars }) => inDollars(dollars),
  }),
  numbers("p50", "Median", {
    sortBy: (row) => row.durationMs.p50 ?? undefined,
    view: (row) => inTime(row.durationMs.p50 ?? undefined),
  }),
  numbers("p95", "95 %", {
    sortBy: (row) => row.durationMs.p95 ?? undefined,
    view: (row) => inTime(row.durationMs.p95 ?? undefined),
  }),
  numbers("first", "First event", {
    sortBy: (row) => row.firstEventMs.p50 ?? undefined,
    hint: (row) => `95 %: ${inTime(row.firstEventMs.p95 ?? undefined)}`,
    view: (row) => inTime(row.firstEventMs.p50 ?? undefined),
  }),
  numbers("hits", "Cache hits", {
    hiddenAtFirst: true,
    sortBy: (row) => row.cacheHits,
    view: (row) => count(row.cacheHits),
  }),
  numbers("kinds", "Failed", {
    hiddenAtFirst: true,
    sortBy: (row) => row.failed,
    hint: ({ failed = 0, rateLimited = 0, rejected = 0, closed = 0 }) =>
      `${count(failed)} failed, ${count(rateLimited)} over a limit, ${count(rejected)} rejected, ${
        count(closed)
      } left by the client`,
    view: (row) => count(row.failed ?? 0),
  }),
  numbers("notes", "Notes", { hiddenAtFirst: true, sortBy: (row) => row.notes, view: (row) => count(row.notes) }),
  numbers("relaxations", "Relaxations", {
    hiddenAtFirst: true,
    sortBy: (row) => row.relaxations,
    view: (row) => count(row.relaxations),
  }),
  {
    id: "requests-of",
    title: "",
    roomy: true,
    view: ({ name }) =>
      name !== "" && name !== OTHER && html`
        <a href=${requestsOf(choice.value, name)} aria-label=${`Requests of ${name} in Live`}>Live</a>
      `,
  },
];
const columns = new ColumnChoice("usage", COLUMNS);

function UsagePage() {
  const { range, from, by, isCompared, measure } = choice.value;
  const found = answer.value;
  if (isOff.value) return html`<${NotRecorded} />`;
  const items = [
    { title: "As CSV", icon: "download", run: () => attempt(() => save("csv")) },
    { title: "As JSON", icon: "download", run: () => attempt(() => save("json")) },
  ];
  const options = RANGES.map((value) => ({ value, title: IN_WORDS[value] }));
  const actions = html`
    <${Segments} label="Range" options=${options} value=${from === undefined ? range : ""} onChoose=${(
      /** @type {string} */ value,
    ) => choose({ range: value, from: undefined, to: undefined })} />
    <${Button} aria-pressed=${String(isCompared)} icon=${isCompared ? "check" : undefined} onClick=${() =>
      choose({ isCompared: !isCompared })}>Compare<//>
    <${Menu} label="Export" icon="download" items=${items}>Export<//>
  `;
  return html`
    <${Page} title="Usage" actions=${actions}>
      <${Conditions} />
      ${found && isUnused(found) && html`<${NothingUsed} />`}
      ${found && !isUnused(found) && html`
        <${Figures} answer=${found} />
        <${UsageCharts}
          answer=${found}
          measure=${measure}
          onMeasure=${(/** @type {string} */ id) => choose({ measure: id })}
          onRange=${(/** @type {number} */ start, /** @type {number} */ end) => choose({ from: start, to: end })}
        />
        <${Groups} answer=${found} by=${by} />
      `}
      <${Budgets} budgets=${budgets.value} />
    <//>
  `;
}

/** Whether no request of this time was counted, whatever the conditions. @param {Answer} answer */
function isUnused({ total, before, names }) {
  return total.requests === 0 && !before?.total.requests && Object.values(names).every(({ length }) => length === 0);
}

/** @type {Record<string, string>} */
const IN_WORDS = {
  "15m": "15 min",
  "1h": "1 h",
  "6h": "6 h",
  "24h": "24 h",
  "7d": "7 days",
  "30d": "30 days",
  "90d": "90 days",
};

function NotRecorded() {
  return html`
    <${Page} title="Usage">
      <${Card}>
        <${EmptyState}
          icon="chart-column"
          title="Recording is off"
          action=${html`<${TurnOn} ...${USAGE} isMain />`}
        >
          Usage is not recorded. With it on, this page shows requests, durations, tokens and dollars over time, by model,
          key, client and more.
        <//>
      <//>
      <${Budgets} budgets=${budgets.value} />
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

function Conditions() {
  const { by, filter, from, to } = choice.value;
  const names = answer.value?.names ?? {};
  const items = (/** @type {string} */ dimension) => () =>
    (names[dimension] ?? []).slice(0, MOST_NAMES).map((value) => ({
      title: value,
      icon: filter.some((one) => one.dimension === dimension && one.value === value) ? "check" : undefined,
      run: () => turn(dimension, value),
    }));
  const offered = Object.entries(DIMENSIONS).filter(([dimension]) => (names[dimension]?.length ?? 0) > 1);
  return html`
    <div class="toolbar" role="group" aria-label="Groups and conditions">
      <label class="choice">Group by
        <select value=${by} onChange=${(/** @type {any} */ { currentTarget }) => choose({ by: currentTarget.value })}>
          ${Object.entries(DIMENSIONS).map(([value, title]) =>
            html`<option key=${value} value=${value}>${title}</option>`
          )}
        </select>
      </label>
      ${offered.map(([dimension, title]) =>
        html`<${Menu} key=${dimension} icon="list-filter" label=${title} items=${items(dimension)}>${title}<//>`
      )}
      <${Columns} choice=${columns} />
      ${from !== undefined && html`
        <${Chip} name="From" value=${`${exactly(from)} to ${exactly(to ?? 0)}`} onRemove=${() =>
          choose({ from: undefined, to: undefined })} />
      `}
      ${filter.map(({ dimension, value }) =>
        html`
          <${Chip}
            key=${`${dimension}:${value}`}
            name=${/** @type {Record<string, string>} */ (DIMENSIONS)[dimension]}
            value=${nameOf(value)}
            onRemove=${() => turn(dimension, value)}
          />
        `
      )}
    </div>
  `;
}

/** @param {{ answer: Answer, by: string }} props */
function Groups({ answer: { totals = [], before }, by }) {
  const rows = useMemo(() => {
    const earlier = new Map(before?.totals?.map((group) => [group.name, group]));
    return totals.toSorted((one, other) => other.requests - one.requests)
      .map((group) => ({ ...group, before: earlier.get(group.name) }));
  }, [totals, before]);
  const title = /** @type {Record<string, string>} */ (DIMENSIONS)[by];
  const shown = useMemo(
    () =>
      columns.shown.filter(({ id }) => before || id !== "change")
        .map((column) => column.id === "name" ? { ...column, title: title ?? "" } : column),
    [columns.shown, before === undefined, title],
  );
  return html`
    <${Card} flush>
      <${DataTable}
        label="Usage"
        caption=${`${count(rows.length)} ${title?.toLowerCase()}${rows.length === 1 ? "" : "s"}`}
        columns=${shown}
        items=${rows}
        keyOf=${(/** @type {Row} */ { name }) => name}
        order=${orderIn(choice.value.sort)}
        onOrder=${(/** @type {import("./design/table.js").Order} */ order) => choose({ sort: textOf(order) })}
        height="36rem"
      />
      ${rows.length === 0 && html`
        <${EmptyState} icon="chart-column" title="Nothing was used">No request of this time fits.<//>
      `}
    <//>
  `;
}
