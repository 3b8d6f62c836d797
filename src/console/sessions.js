// @ts-check
/// <reference lib="dom" />
/** The sessions of agents, and one of them. */
import { html, screen, signal } from "./ui.js";
import { ListTable } from "./design/list.js";
import { Badge, EmptyState, Page } from "./design/parts.js";
import { ColumnChoice } from "./design/table.js";
import { ask, count, loading, queryInAddress } from "./dom.js";
import { RECORDING } from "./switches.js";
import { TurnOn } from "./turn_on.js";
import { toolsInWords } from "./session_words.js";
import { ago, exactly, inDollars, inPercent, inShort, inTime, programIn } from "./words.js";

const EVERY_MS = 3_000;

/**
 * @typedef {{ id: string, name?: string, key?: string, team?: string, lane?: string, client?: string, began: string, ended: string,
 *   tools: Record<string, number>, models: string[], targets: string[], context: number, turns: number, errors: number,
 *   inputTokens: number, cachedTokens: number, outputTokens: number, reasoningTokens: number, cacheHits: number, notes: number,
 *   dollars?: string }} Session
 * @typedef {{ now: number, isKept: boolean, isRecorded: boolean, data: Session[] }} List
 */

const list = signal(/** @type {List | undefined} */ (undefined));

const callsOf = (/** @type {Session} */ { tools }) => Object.values(tools).reduce((all, times) => all + times, 0);
const lengthOf = (/** @type {Session} */ { began, ended }) => Date.parse(ended) - Date.parse(began);

/** @type {import("./design/table.js").Column<Session>[]} */
const COLUMNS = [
  {
    id: "ended",
    title: "Latest turn",
    phone: true,
    sortBy: ({ ended }) => ended,
    hint: ({ ended }) => exactly(ended),
    view: ({ id, ended }) =>
      html`<a href=${`#sessions?${encodeURIComponent(id)}`} aria-label=${`Session of ${exactly(ended)}, ${
        ago(ended, list.value?.now)
      }`}>${ago(ended, list.value?.now)}</a>`,
  },
  {
    id: "name",
    title: "Session",
    isHead: true,
    phone: true,
    grows: true,
    sortBy: ({ name }) => name,
    hint: ({ name }) => name ?? "The client names no session: it is known by the beginning of its conversation",
    view: ({ name }) => name ?? html`<span class="dim">no name</span>`,
  },
  {
    id: "client",
    title: "Client",
    wide: true,
    sortBy: ({ client }) => client,
    hint: ({ client }) => client,
    view: ({ client }) => programIn(client),
  },
  { id: "key", title: "Key", wide: true, sortBy: ({ key }) => key, view: ({ key }) => key },
  {
    id: "models",
    title: "Models",
    wide: true,
    sortBy: ({ models }) => models[0],
    hint: ({ models, targets }) => [...models, ...targets].join("\n"),
    view: ({ models }) => models.join(", "),
  },
  {
    id: "turns",
    title: "Turns",
    phone: true,
    isNumber: true,
    sortBy: ({ turns }) => turns,
    view: ({ turns }) => count(turns),
  },
  {
    id: "errors",
    title: "Errors",
    isNumber: true,
    sortBy: ({ errors }) => errors,
    view: ({ errors }) => errors > 0 && html`<${Badge} tone="bad">${count(errors)}<//>`,
  },
  {
    id: "tools",
    title: "Tool calls",
    isNumber: true,
    sortBy: callsOf,
    hint: ({ tools }) => toolsInWords(tools),
    view: (session) => count(callsOf(session)),
  },
  {
    id: "context",
    title: "Context",
    isNumber: true,
    sortBy: ({ context }) => context,
    hint: ({ context }) => `${count(context)} tokens`,
    view: ({ context }) => inShort(context),
  },
  {
    id: "input",
    title: "Input",
    isNumber: true,
    hiddenAtFirst: true,
    sortBy: ({ inputTokens }) => inputTokens,
    hint: ({ inputTokens }) => `${count(inputTokens)} tokens`,
    view: ({ inputTokens }) => inShort(inputTokens),
  },
  {
    id: "cached",
    title: "Cached",
    isNumber: true,
    sortBy: ({ cachedTokens, inputTokens }) => cachedTokens / (inputTokens || 1),
    view: ({ cachedTokens, inputTokens }) => inPercent(cachedTokens, inputTokens),
  },
  {
    id: "hits",
    title: "Cache hits",
    isNumber: true,
    hiddenAtFirst: true,
    sortBy: ({ cacheHits }) => cacheHits,
    hint: ({ cacheHits, turns }) => `${count(cacheHits)} of ${count(turns)} turns read from the cache`,
    view: ({ cacheHits }) => count(cacheHits),
  },
  {
    id: "output",
    title: "Output",
    isNumber: true,
    hiddenAtFirst: true,
    sortBy: ({ outputTokens }) => outputTokens,
    view: ({ outputTokens }) => inShort(outputTokens),
  },
  {
    id: "cost",
    title: "Cost",
    phone: true,
    isNumber: true,
    sortBy: ({ dollars }) => dollars === undefined ? undefined : Number(dollars),
    hint: ({ dollars }) => dollars && `$${dollars}`,
    view: ({ dollars }) => inDollars(dollars),
  },
  {
    id: "length",
    title: "Length",
    isNumber: true,
    hiddenAtFirst: true,
    sortBy: lengthOf,
    view: (session) => inTime(lengthOf(session)),
  },
  {
    id: "targets",
    title: "Targets",
    wide: true,
    hiddenAtFirst: true,
    sortBy: ({ targets }) => targets[0],
    hint: ({ targets }) => targets.join("\n"),
    view: ({ targets }) => targets.join(", "),
  },
  {
    id: "notes",
    title: "Notes",
    isNumber: true,
    hiddenAtFirst: true,
    sortBy: ({ notes }) => notes,
    view: ({ notes }) => count(notes),
  },
  { id: "lane", title: "Lane", hiddenAtFirst: true, sortBy: ({ lane }) => lane, view: ({ lane }) => lane },
  { id: "team", title: "Team", hiddenAtFirst: true, sortBy: ({ team }) => team, view: ({ team }) => team },
];
const choice = new ColumnChoice("sessions", COLUMNS);

export const sessions = {
  title: "Sessions",
  /** @param {HTMLElement} main */
  open(main) {
    const asked = queryInAddress();
    return (!asked || SEARCH.test(asked) ? all : one(asked)).open(main);
  },
};

/** A search in the list, as the address has it. Any other text is the id of a session, or that of one of its requests. */
const SEARCH = /^(?:words|sort)=/;

const all = screen({
  title: "Sessions",
  everyMs: EVERY_MS,
  open: () => ({
    view: html`<${ListPage} />`,
    async refresh() {
      list.value = await ask("sessions");
    },
  }),
});

const Loading = () => html`<${Page} title="Session" />`;

/** @param {string} id */
function one(id) {
  const session = signal(/** @type {any} */ (undefined));
  let latest = "";
  /** The page of one session is loaded with the first of them. @type {import("./session.js").SessionPage | undefined} */
  let SessionPage;
  const View = () => html`<${SessionPage ?? Loading} session=${session.value} asked=${id} />`;
  return screen({
    title: "Sessions",
    everyMs: EVERY_MS,
    open: () => ({
      view: html`<${View} />`,
      async refresh() {
        const found = await ask(`session?id=${encodeURIComponent(id)}`);
        SessionPage ??= (await loading(() => import("./session.js"))).SessionPage;
        const text = JSON.stringify(found);
        if (text !== latest) session.value = found;
        latest = text;
      },
    }),
  });
}

function ListPage() {
  const { value } = list;
  if (!value) return html`<${Page} title="Sessions" />`;
  const about = value.isRecorded ? undefined : "Requests are not recorded, so that sessions have no content.";
  return html`
    <${Page} title="Sessions" about=${about}>
      <${ListTable}
        choice=${choice}
        label="Sessions"
        placeholder="Session, client, key, model"
        caption=${(/** @type {readonly Session[]} */ shown) => `Sessions, latest first: ${count(shown.length)}`}
        items=${value.data}
        keyOf=${(/** @type {Session} */ { id }) => id}
        height="max(22rem, calc(100vh - 14rem))"
      >
        <${Nothing} list=${value} />
        <//>
        <//>
  `;
}

/** @param {{ list: List }} props */
function Nothing({ list: { isKept, isRecorded } }) {
  if (!isKept) {
    const record = html`<${TurnOn} ...${RECORDING} isMain />`;
    return html`
      <${EmptyState} icon="messages-square" title="Recording is off" action=${record}>
        Sessions are not kept. With recording on, this page shows the conversations of agents as they were read and written.
      <//>
    `;
  }
  return html`
    <${EmptyState} icon="messages-square" title="No session yet">
      The turns of an agent appear here as one row${isRecorded ? "" : ", if the agent names its session"}.
    <//>
  `;
}
