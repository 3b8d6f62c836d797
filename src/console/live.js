// @ts-check
/// <reference lib="dom" />
/** Requests as they run and end. */
import { batch, html, screen, signal, useMemo } from "./ui.js";
import { attempt } from "./actions.js";
import { Menu } from "./design/overlays.js";
import { Button, ButtonLink, Card, Chip, EmptyState, Icon, Page, Segments } from "./design/parts.js";
import { textOf } from "./design/order.js";
import { Columns, DataTable } from "./design/table.js";
import { ask, count, loading, queryInAddress } from "./dom.js";
import { Entries, latestFirst } from "./entries.js";
import { FIELDS, filterText, matcherOf, parseFilter, spanIn, valuesOf } from "./filter.js";
import { LiveCharts } from "./live_charts.js";
import { choice, chosen, Details, isRecorded } from "./live_list.js";
import { columnsIn, HOW, RANGES, wantedIn } from "./live_query.js";
import { exactly } from "./words.js";

const EVERY_MS = 1_000;
/** How many values of a field are offered as filters. */
const MOST_VALUES = 20;
/** The fields that have a menu. */
const OFFERED = /** @type {const} */ (["status", "model", "key", "client"]);

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
/** How often those who do not see the list hear what has arrived, in milliseconds. */
const ANNOUNCE_MS = 15_000;

const query = signal("");
const isPaused = signal(false);
/** The charts of a longer time, whose code is loaded when somebody wants them. */
const long = signal(/** @type {typeof import("./live_history.js") | undefined} */ (undefined));

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

/** Loads what draws the charts of a longer time, if the address asks for one. */
async function loadLonger() {
  const isHere = columnsIn(wantedIn(query.value), [], shown.value.now, entries) !== undefined;
  if (!isHere) long.value ??= await loading(() => import("./live_history.js"));
}

async function refresh() {
  await loadLonger();
  asked ??= ask(`live?${entries.query}`).finally(() => asked = undefined);
  const answer = await asked;
  entries.take(answer);
  announce(answer.ended, answer.now);
  const { feed, now } = answer;
  if (isPaused.value) return;
  const running = latestFirst(answer.running.toReversed()).map((/** @type {Entry} */ entry) => ({ ...entry, feed }));
  batch(() => {
    isRecorded.value = answer.isRecorded === true;
    shown.value = { running, ended: entries.ended, now, isAsked: true };
  });
}

const announced = signal("");
let [arrived, failed, announcedAt] = [0, 0, 0];

/** Says now and then what has arrived, and nothing while nothing does. @param {readonly Entry[]} ended @param {number} now */
function announce(ended, now) {
  // The first answer has the requests of before.
  if (announcedAt === 0) announcedAt = now;
  else {
    arrived += ended.length;
    failed += ended.filter(({ status = 0 }) => status >= 400).length;
  }
  if (arrived === 0 || isPaused.value || Math.abs(now - announcedAt) < ANNOUNCE_MS) return;
  announced.value = `${count(arrived)} new ${arrived === 1 ? "request" : "requests"}, ${count(failed)} failed`;
  [arrived, failed, announcedAt] = [0, 0, now];
}

/** @param {string} text */
function setQuery(text) {
  query.value = text;
  history.replaceState(null, "", text ? `#live?${encodeURIComponent(text)}` : "#live");
}

/** Sets a condition that there can be one of. @param {import("./filter.js").Field} field @param {string | undefined} value */
function setOne(field, value) {
  const { words, conditions } = parseFilter(query.value);
  const others = conditions.filter((one) => one.field !== field && (field !== "range" || one.field !== "time"));
  setQuery(filterText(words.join(" "), value === undefined ? others : [...others, { field, value }]));
  void attempt(loadLonger);
}

const setSpan = (/** @type {number} */ from, /** @type {number} */ to) => setOne("time", `${from}-${to}`);
const setOrder = (/** @type {import("./design/table.js").Order} */ order) => setOne("sort", textOf(order));

function LivePage() {
  const { running, ended, now, isAsked } = shown.value;
  const all = useMemo(() => [...running, ...ended], [running, ended]);
  const asked = useMemo(() => wantedIn(query.value), [query.value]);
  const wanted = useMemo(() => all.filter(matcherOf(query.value)), [all, query.value]);
  const drawn = useMemo(() => columnsIn(asked, wanted, now, entries), [asked, wanted, now]);
  if (isAsked && all.length === 0 && asked.isAll && drawn) return html`<${NoRequests} />`;
  const actions = html`
    <${Segments} label="Time that is shown" options=${RANGES} value=${asked.span ? "" : asked.range.value} onChoose=${(
      /** @type {string} */ value,
    ) => setOne("range", value === "5m" ? undefined : value)} />
    <${Button}
      icon=${isPaused.value ? "play" : "pause"}
      aria-pressed=${String(isPaused.value)}
      onClick=${() => isPaused.value = !isPaused.value}
    >${isPaused.value ? "Resume" : "Pause"}<//>
  `;
  return html`
    <${Page} title="Live" actions=${actions}>
      ${drawn
        ? html`
          <${LiveCharts} ...${drawn} onRange=${setSpan} running=${wanted.filter(({ status }) => status === undefined)
            .length} />
        `
        : html`<${Longer} asked=${asked} />`}
      <p class="visually-hidden" aria-live="polite">${announced.value}</p>
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
          order=${asked.order}
          onOrder=${setOrder}
          height="max(22rem, calc(100vh - 12rem))"
        />
        ${wanted.length === 0 && html`<${NothingFits} />`}
      <//>
      ${chosen.value && html`<${Details} entry=${chosen.value} />`}
    <//>
  `;
}

/** @param {{ asked: import("./live_query.js").Wanted }} props */
function Longer({ asked: { range, span, words, conditions } }) {
  const { value } = long;
  if (!value) return html`<p class="quiet">…</p>`;
  return html`<${value.History} ...${
    value.asked({ range: range.value, span, words, conditions })
  } onRange=${setSpan} />`;
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
  return html`
    <${EmptyState} icon="list-filter" title="No request fits" action=${action}>
      The conditions leave none of the requests that this page knows: the latest 1,000 of the gateway, and those that have
      ended since the page was opened.
    <//>
  `;
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
      ${conditions.filter(({ field }) => !HOW.has(field)).map(({ field, value }) =>
        html`
          <${Chip}
            key=${`${field}:${value}`}
            name=${FIELDS[field].title}
            value=${field === "time" ? spanInWords(value) : value}
            onRemove=${() => turn(field, value)}
          />
        `
      )}
    </div>
  `;
}

/** @param {string} value */
function spanInWords(value) {
  const span = spanIn(value);
  return span ? `${exactly(span.from)} to ${exactly(span.to)}` : value;
}
