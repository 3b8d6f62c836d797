// @ts-check
/// <reference lib="dom" />
/** Requests that were recorded, and one of them on all its way. */
import { batch, html, screen, signal, useMemo } from "./ui.js";
import { Badge, ButtonLink, Card, EmptyState, Icon, Page } from "./design/parts.js";
import { ColumnChoice, Columns, DataTable } from "./design/table.js";
import { ask, count, queryInAddress } from "./dom.js";
import { matcherOf } from "./filter.js";
import { RequestPage } from "./inspect_request.js";
import { RECORDING } from "./switches.js";
import { TurnOn } from "./turn_on.js";
import { exactly, inTime } from "./words.js";

const EVERY_MS = 2_000;

/** @typedef {import("./entries.js").Entry & { calls: number, bytes: number }} Recorded */
/** @typedef {{ bounds?: any, bytes: number, passed: number, data: Recorded[] }} List */

const list = signal(/** @type {List | undefined} */ (undefined));
const words = signal("");

/** @type {import("./design/table.js").Column<Recorded>[]} */
const COLUMNS = [
  {
    id: "time",
    title: "Time",
    phone: true,
    sortBy: ({ time }) => time,
    hint: ({ time }) => exactly(time),
    view({ id, time }) {
      const clock = new Date(time).toLocaleTimeString("en-GB");
      return html`<a href=${`#inspect?${encodeURIComponent(id)}`} aria-label=${`Request at ${clock}`}>${clock}</a>`;
    },
  },
  {
    id: "status",
    title: "Status",
    phone: true,
    kind: () => "status",
    sortBy: ({ status }) => status ?? 0,
    view: ({ status, error, durationMs }) =>
      html`<${Status} status=${durationMs === undefined ? undefined : status} error=${error} />`,
  },
  {
    id: "model",
    title: "Model → target",
    phone: true,
    grows: true,
    sortBy: ({ model }) => model,
    hint: ({ model, target }) => [model, target].filter(Boolean).join(" → "),
    view: ({ model, target }) => [model, target].filter(Boolean).join(" → "),
  },
  {
    id: "path",
    title: "Path",
    wide: true,
    sortBy: ({ path }) => path,
    hint: ({ path }) => path,
    view: ({ path }) => path,
  },
  { id: "key", title: "Key", wide: true, sortBy: ({ key }) => key, view: ({ key }) => key },
  {
    id: "duration",
    title: "Duration",
    phone: true,
    isNumber: true,
    sortBy: ({ durationMs }) => durationMs,
    view: ({ durationMs }) => durationMs !== undefined && inTime(durationMs),
  },
  { id: "calls", title: "Calls", isNumber: true, sortBy: ({ calls }) => calls, view: ({ calls }) => count(calls) },
  {
    id: "bytes",
    title: "Size",
    isNumber: true,
    sortBy: ({ bytes }) => bytes,
    view: ({ bytes }) => `${(bytes / 1_000).toFixed(1)} kB`,
  },
];
const choice = new ColumnChoice("inspect", COLUMNS);

export const inspect = {
  title: "Inspect",
  /** @param {HTMLElement} main */
  open(main) {
    const id = queryInAddress();
    return (id ? one(id) : all).open(main);
  },
};

const all = screen({
  title: "Inspect",
  everyMs: EVERY_MS,
  open: () => ({
    view: html`<${ListPage} />`,
    async refresh() {
      list.value = await ask("records");
    },
  }),
});

/** @param {string} id */
function one(id) {
  const record = signal(/** @type {any} */ (undefined));
  const understood = signal(/** @type {any} */ (undefined));
  let isWhole = false;
  return screen({
    title: "Inspect",
    everyMs: EVERY_MS,
    open: () => ({
      view: html`<${RequestPage} id=${id} record=${record} understood=${understood} />`,
      async refresh() {
        if (isWhole) return;
        const query = `?id=${encodeURIComponent(id)}`;
        const [found, read] = await Promise.all([ask(`record${query}`), ask(`record/understood${query}`)]);
        batch(() => {
          record.value = found;
          understood.value = read;
        });
        isWhole = found.entry !== undefined;
      },
    }),
  });
}

/** @param {List} list */
function aboutOf({ bounds, bytes, passed }) {
  const kept =
    `The latest ${count(bounds.requests)} requests are kept in memory, including what clients and models write: ` +
    `${(bytes / 1e6).toFixed(1)} of ${count(bounds.megabytes)} MB.`;
  if (passed === 0) return kept;
  return `${kept} ${count(passed)} were not recorded: more than ${count(bounds.perMinute)} a minute arrived.`;
}

function ListPage() {
  const { value } = list;
  const wanted = useMemo(() => value?.data.filter(matcherOf(words.value)) ?? [], [value, words.value]);
  if (!value) return html`<${Page} title="Inspect" />`;
  if (!value.bounds) {
    const record = html`<${TurnOn} ...${RECORDING} isMain />`;
    return html`
      <${Page} title="Inspect">
        <${Card}>
          <${EmptyState} icon="telescope" title="Recording is off" action=${record}>
            Nothing is recorded. With recording on, this page shows each request as the client sent it, as the gateway
            understood it, and as the upstream received it.
          <//>
        <//>
      <//>
    `;
  }
  if (value.data.length === 0) {
    return html`
      <${Page} title="Inspect" about=${aboutOf(value)}>
        <${NoneYet} />
        <//>
    `;
  }
  const write = (/** @type {any} */ { currentTarget }) => words.value = currentTarget.value;
  return html`
    <${Page} title="Inspect" about=${aboutOf(value)}>
      <div class="toolbar">
        <div class="search">
          <${Icon} name="search" />
          <input type="search" aria-label="Filter" placeholder="Words, or model:… key:… status:error" value=${words
            .value}
            onInput=${write} />
        </div>
        <${Columns} choice=${choice} />
      </div>
      <${Card} flush>
        <${DataTable}
          label="Recorded requests"
          caption=${`Recorded requests, latest first: ${count(wanted.length)}`}
          columns=${choice.shown}
          items=${wanted}
          keyOf=${(/** @type {Recorded} */ { id }) => id}
          height="max(22rem, calc(100vh - 14rem))"
        />
        ${wanted.length === 0 &&
          html`<${EmptyState} icon="list-filter" title="No request fits">The words leave none.<//>`}
      <//>
    <//>
  `;
}

function NoneYet() {
  const actions = html`
    <${ButtonLink} kind="primary" href="#playground">Try a prompt<//>
    <${ButtonLink} icon="plug" href="#setup?client">Connect a client<//>
  `;
  return html`
    <${Card}>
      <${EmptyState} icon="telescope" title="No request yet" action=${actions}>
        Requests are recorded from now on. Each will be listed here.
      <//>
    <//>
  `;
}

/** @param {{ status?: number, error?: string }} props */
export function Status({ status, error }) {
  if (status === undefined) return html`<${Badge} tone="info">running<//>`;
  const tone = status >= 500 ? "bad" : status >= 400 ? "warn" : "good";
  return html`<${Badge} tone=${tone}>${[status, error].filter(Boolean).join(" ")}<//>`;
}
