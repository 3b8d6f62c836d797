// @ts-check
/// <reference lib="dom" />
/** Requests that were recorded, and one of them on all its way. */
import { batch, html, screen, signal, useMemo } from "./ui.js";
import { Badge, Button, ButtonLink, Card, EmptyState, Page } from "./design/parts.js";
import { ColumnChoice, Columns, DataTable } from "./design/table.js";
import { ask, count, loading, NotThere } from "./dom.js";
import { matcherOf } from "./filter.js";
import { FilterBar } from "./filter_bar.js";
import { keepAddress, readAddress } from "./inspect_address.js";
import { RECORDING } from "./switches.js";
import { TurnOn } from "./turn_on.js";
import { exactly, inTime } from "./words.js";

const EVERY_MS = 2_000;
/** The fields that have a menu. */
const OFFERED = /** @type {const} */ (["status", "model", "target", "key", "client"]);

/** @typedef {import("./entries.js").Entry & { calls: number, bytes: number }} Recorded */
/** @typedef {{ bounds?: any, bytes: number, passed: number, data: Recorded[] }} List */

const list = signal(/** @type {List | undefined} */ (undefined));
const query = signal("");

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
    id: "client",
    title: "Client",
    hiddenAtFirst: true,
    sortBy: ({ client }) => client,
    hint: ({ client }) => client,
    view: ({ client }) => client,
  },
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
    const address = readAddress(location.hash);
    if (address.id !== undefined) return one(address).open(main);
    query.value = address.filter ?? "";
    return all.open(main);
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

/** @param {string} text */
function setQuery(text) {
  query.value = text;
  keepAddress({ filter: text });
}

/** The page of one request is loaded with the first of them. */
const requestPage = signal(/** @type {{ View: import("./inspect_request.js").RequestPage } | undefined} */ (undefined));

/** @param {{ id: string, view: import("./inspect_address.js").View, other?: string }} address */
function one(address) {
  const query = `?id=${encodeURIComponent(address.id)}`;
  const record = signal(/** @type {any} */ (undefined));
  const understood = signal(/** @type {any} */ (undefined));
  const isForgotten = signal(false);
  let isWhole = false;
  return screen({
    title: "Inspect",
    everyMs: EVERY_MS,
    open: () => ({
      view: html`
        <${OnePage} address=${address} record=${record} understood=${understood} isForgotten=${isForgotten} />
      `,
      async refresh() {
        if (isWhole) return;
        try {
          const [found, read] = await Promise.all([ask(`record${query}`), ask(`record/understood${query}`)]);
          requestPage.value ??= { View: (await loading(() => import("./inspect_request.js"))).RequestPage };
          batch(() => {
            record.value = found;
            understood.value = read;
            isForgotten.value = false;
          });
          isWhole = found.entry !== undefined;
        } catch (error) {
          if (!(error instanceof NotThere)) throw error;
          list.value = await ask("records");
          isForgotten.value = true;
          // A request that was forgotten while it ran stays as it was last seen.
          isWhole = record.value !== undefined;
        }
      },
    }),
  });
}

/**
 * @param {{ address: import("./inspect_address.js").Address & { id: string }, isForgotten: { value: boolean } } & Record<string, any>} props
 */
function OnePage({ address, record, understood, isForgotten }) {
  if (!isForgotten.value || record.value) {
    if (!requestPage.value) return html`<${Page} title=${`Request ${address.id}`} />`;
    return html`<${requestPage.value.View} address=${address} record=${record} understood=${understood} />`;
  }
  if (!list.value?.bounds) return html`<${NotRecorded} title=${`Request ${address.id}`} />`;
  const { requests, megabytes } = list.value.bounds;
  const action = html`<${ButtonLink} kind="primary" href="#inspect">Requests that are kept<//>`;
  return html`
    <${Page} title=${`Request ${address.id}`}>
      <${Card}>
        <${EmptyState} icon="telescope" title="This request is no longer kept" action=${action}>
          The gateway keeps the latest ${count(requests)} requests, up to ${count(
            megabytes,
          )} MB, in memory. Newer ones took
          the place of this one, the gateway has started anew since then, or another of its processes has it. Its figures may still be in the log.
        <//>
      <//>
    <//>
  `;
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
  const wanted = useMemo(() => value?.data.filter(matcherOf(query.value)) ?? [], [value, query.value]);
  if (!value) return html`<${Page} title="Inspect" />`;
  if (!value.bounds) return html`<${NotRecorded} title="Inspect" />`;
  if (value.data.length === 0) {
    return html`
      <${Page} title="Inspect" about=${aboutOf(value)}>
        <${NoneYet} />
        <//>
    `;
  }
  const showAll = html`<${Button} onClick=${() => setQuery("")}>Show all<//>`;
  return html`
    <${Page} title="Inspect" about=${aboutOf(value)}>
      <${FilterBar} all=${value.data} query=${query.value} onQuery=${setQuery} fields=${OFFERED}>
        <${Columns} choice=${choice} />
        <//>
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
          html`<${EmptyState} icon="list-filter" title="No request fits" action=${showAll}>The conditions leave none.<//>`}
      <//>
    <//>
  `;
}

/** @param {{ title: string }} props */
function NotRecorded({ title }) {
  const record = html`<${TurnOn} ...${RECORDING} isMain />`;
  return html`
    <${Page} title=${title}>
      <${Card}>
        <${EmptyState} icon="telescope" title="Recording is off" action=${record}>
          Nothing is recorded. With recording on, this page shows each request as the client sent it, as the gateway
          understood it, and as the upstream received it.
        <//>
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
