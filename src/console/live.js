// @ts-check
/// <reference lib="dom" />
/** Requests as they run and end. */
import { batch, html, screen, signal, useMemo } from "./ui.js";
import { Dialog, Menu } from "./design/overlays.js";
import { Badge, Button, ButtonLink, Card, Chip, EmptyState, Icon, Page, Segments } from "./design/parts.js";
import { ColumnChoice, Columns, DataTable } from "./design/table.js";
import { ask, count, queryInAddress } from "./dom.js";
import { columnsOf, Entries, latestFirst } from "./entries.js";
import { factsIn } from "./facts.js";
import { FIELDS, filterText, matcherOf, parseFilter, valuesOf } from "./filter.js";
import { LiveCharts } from "./live_charts.js";
import { exactly, inDollars, inTime } from "./words.js";

const EVERY_MS = 1_000;
/** How many values of a field are offered as filters. */
const MOST_VALUES = 20;
/** The fields that have a menu. */
const OFFERED = /** @type {const} */ (["status", "model", "key", "client"]);

const RANGES = [{ value: "30", title: "5 min" }, { value: "90", title: "15 min" }];

/** @typedef {import("./entries.js").Entry} Entry */

const entries = new Entries();
/** @type {Promise<any> | undefined} */
let asked;

/** The requests as they are shown. A paused page keeps them. */
const shown = signal({
  running: /** @type {Entry[]} */ ([]),
  ended: /** @type {Entry[]} */ ([]),
  now: Date.now(),
  isAsked: false,
});
const range = signal("30");
const query = signal("");
const isPaused = signal(false);
const isRecorded = signal(false);
const chosen = signal(/** @type {Entry | undefined} */ (undefined));

/** @type {import("./design/table.js").Column<Entry>[]} */
const COLUMNS = [
  {
    id: "time",
    title: "Time",
    phone: true,
    sortBy: ({ time }) => time,
    hint: ({ time }) => exactly(time),
    view: (entry) =>
      html`
        <button
          type="button"
          class="open"
          aria-label=${`Request at ${clock(entry.time)}: details`}
          onClick=${() => chosen.value = entry}
        >${clock(entry.time)}</button>
      `,
  },
  {
    id: "status",
    title: "Status",
    phone: true,
    kind: () => "status",
    sortBy: ({ status }) => status ?? 0,
    view: (entry) => html`<${Status} entry=${entry} />`,
  },
  {
    id: "model",
    title: "Model → target",
    phone: true,
    grows: true,
    sortBy: ({ model }) => model,
    hint: namesOf,
    view: ({ model, target }) => html`${model}${model && target && html`<span class="dim">${" → "}</span>`}${target}`,
  },
  {
    id: "client",
    title: "Client",
    wide: true,
    sortBy: ({ client }) => client,
    hint: ({ client }) => client,
    view: ({ client }) => client,
  },
  { id: "key", title: "Key", wide: true, sortBy: ({ key }) => key, view: ({ key }) => key },
  { id: "lane", title: "Lane", hiddenAtFirst: true, sortBy: ({ lane }) => lane, view: ({ lane }) => lane },
  {
    id: "protocol",
    title: "Protocol",
    hiddenAtFirst: true,
    sortBy: ({ protocol }) => protocol,
    view: ({ protocol }) => protocol,
  },
  {
    id: "first",
    title: "First event",
    isNumber: true,
    sortBy: ({ firstEventMs }) => firstEventMs,
    view: ({ firstEventMs }) => firstEventMs !== undefined && inTime(firstEventMs),
  },
  {
    id: "duration",
    title: "Duration",
    phone: true,
    isNumber: true,
    sortBy: ({ durationMs, elapsedMs }) => durationMs ?? elapsedMs,
    view: ({ durationMs, elapsedMs }) => inTime(durationMs ?? elapsedMs),
  },
  {
    id: "input",
    title: "Input",
    isNumber: true,
    sortBy: ({ usage }) => usage?.inputTokens,
    hint: ({ usage }) => usage?.cachedInputTokens ? `${count(usage.cachedInputTokens)} cached` : undefined,
    view: ({ usage }) => usage && count(usage.inputTokens),
  },
  {
    id: "output",
    title: "Output",
    isNumber: true,
    sortBy: ({ usage }) => usage?.outputTokens,
    view: ({ usage }) => usage && count(usage.outputTokens),
  },
  {
    id: "speed",
    title: "Tokens/s",
    isNumber: true,
    hiddenAtFirst: true,
    sortBy: speed,
    view: (entry) => speed(entry)?.toFixed(0),
  },
  {
    id: "cost",
    title: "Cost",
    isNumber: true,
    sortBy: ({ cost }) => cost === undefined ? undefined : Number(cost),
    hint: ({ cost }) => cost && `$${cost}`,
    view: ({ cost }) => cost && inDollars(cost),
  },
  {
    id: "notes",
    title: "Notes",
    isNumber: true,
    sortBy: ({ notes }) => notes?.length,
    hint: ({ notes }) => notes?.join("\n"),
    view: ({ notes }) => notes && notes.length > 0 && html`<${Badge} tone="warn">${notes.length}<//>`,
  },
];
const choice = new ColumnChoice("live", COLUMNS);

export const live = screen({
  title: "Live",
  everyMs: EVERY_MS,
  open() {
    batch(() => {
      query.value = queryInAddress();
      isPaused.value = false;
      chosen.value = undefined;
    });
    return { view: html`<${LivePage} />`, refresh };
  },
});

async function refresh() {
  asked ??= ask(`live?${entries.query}`).finally(() => asked = undefined);
  const answer = await asked;
  entries.take(answer);
  const { feed, now } = answer;
  if (isPaused.value) return;
  const running = latestFirst(answer.running.toReversed()).map((/** @type {Entry} */ entry) => ({ ...entry, feed }));
  batch(() => {
    isRecorded.value = answer.isRecorded === true;
    shown.value = { running, ended: entries.ended, now, isAsked: true };
  });
}

/** @param {string} text */
function setQuery(text) {
  query.value = text;
  history.replaceState(null, "", text ? `#live?${encodeURIComponent(text)}` : "#live");
}

function LivePage() {
  const { running, ended, now, isAsked } = shown.value;
  const all = useMemo(() => [...running, ...ended], [running, ended]);
  const wanted = useMemo(() => all.filter(matcherOf(query.value)), [all, query.value]);
  const length = Number(range.value);
  const columns = useMemo(
    () => query.value ? columnsOf(wanted, now, length) : entries.columns(now, length),
    [wanted, now, length],
  );
  if (isAsked && all.length === 0) return html`<${NoRequests} />`;
  const actions = html`
    <${Segments} label="Time that is shown" options=${RANGES} value=${range.value} onChoose=${(
      /** @type {string} */ value,
    ) => range.value = value} />
    <${Button}
      icon=${isPaused.value ? "play" : "pause"}
      aria-pressed=${String(isPaused.value)}
      onClick=${() => isPaused.value = !isPaused.value}
    >${isPaused.value ? "Resume" : "Pause"}<//>
  `;
  return html`
    <${Page} title="Live" actions=${actions}>
      <${LiveCharts} columns=${columns} now=${now} running=${wanted.filter(({ status }) => status === undefined)
        .length} />
      <${Filter} all=${all} />
      <${Card} flush>
        <${DataTable}
          label="Requests"
          caption=${`Requests, latest first: ${count(wanted.length)}`}
          columns=${choice.shown}
          items=${wanted}
          keyOf=${(/** @type {Entry} */ { feed, id }) => `${feed} ${id}`}
          kindOf=${(/** @type {Entry} */ { status }) =>
            status === undefined ? "runs" : status >= 400 ? "bad" : undefined}
          height="max(22rem, calc(100vh - 12rem))"
        />
        ${wanted.length === 0 && all.length > 0 && html`<${NothingFits} />`}
      <//>
      ${chosen.value && html`<${Details} entry=${chosen.value} />`}
    <//>
  `;
}

function NoRequests() {
  const actions = html`
    <${ButtonLink} kind="primary" icon="plug" href="#setup?client">Connect a client<//>
    <${ButtonLink} href="#playground">Try a prompt<//>
  `;
  return html`
    <${Page} title="Live">
      <${Card}>
        <${EmptyState} icon="activity" title="No request yet" action=${actions}>
          No request has arrived since the gateway started. Each will be listed here while it runs, with its model, tokens,
          duration and cost.
        <//>
      <//>
    <//>
  `;
}

function NothingFits() {
  const action = html`<${Button} onClick=${() => setQuery("")}>Show all<//>`;
  return html`<${EmptyState} icon="list-filter" title="No request fits" action=${action}>The conditions leave none.<//>`;
}

/** @param {{ all: readonly Entry[] }} props */
function Filter({ all }) {
  const { words, conditions } = parseFilter(query.value);
  // A space that was just written is part of the text, though it is not part of the filter.
  const text = conditions.length === 0 ? query.value : words.join(" ") + (query.value.endsWith(" ") ? " " : "");
  const write = (/** @type {any} */ { currentTarget: { value } }) => setQuery(filterText(value, conditions));
  const turn = (/** @type {import("./filter.js").Field} */ field, /** @type {string} */ value) => {
    const others = conditions.filter((one) => one.field !== field || one.value !== value);
    const isAdded = others.length === conditions.length;
    setQuery(filterText(words.join(" "), isAdded ? [...conditions, { field, value }] : others));
  };
  return html`
    <div class="toolbar" role="group" aria-label="Conditions and columns">
      <div class="search">
        <${Icon} name="search" />
        <input type="search" aria-label="Filter" placeholder="Words, or model:… key:… status:error" value=${text} onInput=${write} />
      </div>
      ${OFFERED.map((field) =>
        html`
          <${Menu}
            key=${field}
            icon="list-filter"
            label=${FIELDS[field].title}
            items=${() =>
              valuesOf(all, field, MOST_VALUES).map(([value, times]) => ({
                title: `${value} (${count(times)})`,
                icon: conditions.some((one) => one.field === field && one.value === value) ? "check" : undefined,
                run: () => turn(field, value),
              }))}
          >${FIELDS[field].title}<//>
        `
      )}
      <${Columns} choice=${choice} />
      ${conditions.map(({ field, value }) =>
        html`
          <${Chip} key=${`${field}:${value}`} name=${FIELDS[field].title} value=${value} onRemove=${() =>
            turn(field, value)} />
        `
      )}
    </div>
  `;
}

/** @param {{ entry: Entry }} props */
function Status({ entry: { status, error } }) {
  if (status === undefined) return html`<${Badge} tone="info">running<//>`;
  const tone = status >= 500 ? "bad" : status >= 400 ? "warn" : "good";
  return html`<${Badge} tone=${tone}>${[status, error].filter(Boolean).join(" ")}<//>`;
}

/** @param {{ entry: Entry }} props */
function Details({ entry }) {
  const { id, notes = [] } = entry;
  return html`
    <${Dialog} kind="sheet" title=${`Request ${id}`} onClose=${() => chosen.value = undefined}>
      ${isRecorded.value &&
        html`<p><a class="button primary" href=${`#inspect?${encodeURIComponent(id)}`}>Inspect</a></p>`}
      <dl>${factsIn(entry).map(([name, text]) =>
        html`
          <dt key=${`${name} name`}>${name}</dt>
          <dd key=${name}>${text}</dd>
        `
      )}</dl>
      <h3>${notes.length > 0 ? "What was dropped, clamped or changed" : "Nothing was dropped, clamped or changed"}</h3>
      <ul>${notes.map((note) => html`<li key=${note}>${note}</li>`)}</ul>
    <//>
  `;
}

/** @param {Entry} entry */
function namesOf({ model, target }) {
  return [model, target].filter(Boolean).join(" → ");
}

/** @param {string} time */
function clock(time) {
  return new Date(time).toLocaleTimeString("en-GB");
}

/** @param {Entry} entry */
function speed({ usage, durationMs = 0, firstEventMs = 0 }) {
  const seconds = (durationMs - firstEventMs) / 1000;
  return usage && usage.outputTokens > 1 && seconds > 0.05 ? usage.outputTokens / seconds : undefined;
}
