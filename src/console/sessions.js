// @ts-check
/// <reference lib="dom" />
/** The sessions of agents, and one of them. */
import { html, screen, signal, useMemo } from "./ui.js";
import { Badge, Card, EmptyState, Icon, Page } from "./design/parts.js";
import { ColumnChoice, Columns, DataTable } from "./design/table.js";
import { ask, count, queryInAddress } from "./dom.js";
import { RECORDING } from "./switches.js";
import { TurnOn } from "./turn_on.js";
import { SessionPage, toolsInWords } from "./session.js";
import { ago, exactly, inDollars, inPercent, inShort, inTime } from "./words.js";

const EVERY_MS = 3_000;

/**
 * @typedef {{ id: string, name?: string, key?: string, team?: string, lane?: string, client?: string, began: string, ended: string,
 *   tools: Record<string, number>, models: string[], targets: string[], context: number, turns: number, errors: number,
 *   inputTokens: number, cachedTokens: number, outputTokens: number, reasoningTokens: number, cacheHits: number, notes: number,
 *   dollars?: string }} Session
 * @typedef {{ now: number, isKept: boolean, isRecorded: boolean, data: Session[] }} List
 */

const list = signal(/** @type {List | undefined} */ (undefined));
const words = signal("");

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
      html`<a href=${`#sessions?${encodeURIComponent(id)}`} aria-label=${`Session of ${exactly(ended)}`}>${
        ago(ended, list.value?.now)
      }</a>`,
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
    view: ({ client }) => client,
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
    id: "output",
    title: "Output",
    isNumber: true,
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
  { id: "lane", title: "Lane", hiddenAtFirst: true, sortBy: ({ lane }) => lane, view: ({ lane }) => lane },
  { id: "team", title: "Team", hiddenAtFirst: true, sortBy: ({ team }) => team, view: ({ team }) => team },
];
const choice = new ColumnChoice("sessions", COLUMNS);

export const sessions = {
  title: "Sessions",
  /** @param {HTMLElement} main */
  open(main) {
    const id = queryInAddress();
    return (id ? one(id) : all).open(main);
  },
};

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

/** @param {string} id */
function one(id) {
  const session = signal(/** @type {any} */ (undefined));
  let latest = "";
  const View = () => html`<${SessionPage} session=${session.value} />`;
  return screen({
    title: "Sessions",
    everyMs: EVERY_MS,
    open: () => ({
      view: html`<${View} />`,
      async refresh() {
        const found = await ask(`session?id=${encodeURIComponent(id)}`);
        const text = JSON.stringify(found);
        if (text !== latest) session.value = found;
        latest = text;
      },
    }),
  });
}

function ListPage() {
  const { value } = list;
  const wanted = useMemo(() => {
    const lower = words.value.toLowerCase().split(/\s+/).filter(Boolean);
    return (value?.data ?? []).filter((session) => {
      const { name, client, key, lane, team, models, targets } = session;
      const text = [name, client, key, lane, team, ...models, ...targets].join(" ").toLowerCase();
      return lower.every((word) => text.includes(word));
    });
  }, [value, words.value]);
  if (!value) return html`<${Page} title="Sessions" />`;
  const about = value.isRecorded ? undefined : "Requests are not recorded, so that sessions have no content.";
  return html`
    <${Page} title="Sessions" about=${about}>
      <div class="toolbar">
        <div class="search">
          <${Icon} name="search" />
          <input type="search" aria-label="Filter" placeholder="Session, client, key, model" value=${words.value}
            onInput=${(
              /** @type {any} */ { currentTarget },
            ) => words.value = currentTarget.value} />
        </div>
        <${Columns} choice=${choice} />
      </div>
      <${Card} flush>
        <${DataTable}
          label="Sessions"
          caption=${`Sessions, latest first: ${count(wanted.length)}`}
          columns=${choice.shown}
          items=${wanted}
          keyOf=${(/** @type {Session} */ { id }) => id}
          height="max(22rem, calc(100vh - 14rem))"
        />
        ${wanted.length === 0 && html`<${Nothing} list=${value} />`}
      <//>
    <//>
  `;
}

/** @param {{ list: List }} props */
function Nothing({ list: { isKept, isRecorded, data } }) {
  if (!isKept) {
    const record = html`<${TurnOn} ...${RECORDING} isMain />`;
    return html`
      <${EmptyState} icon="messages-square" title="Recording is off" action=${record}>
        Sessions are not kept. With recording on, this page shows the conversations of agents as they were read and written.
      <//>
    `;
  }
  if (data.length > 0) {
    return html`<${EmptyState} icon="messages-square" title="No session fits">The words leave none.<//>`;
  }
  return html`
    <${EmptyState} icon="messages-square" title="No session yet">
      The turns of an agent appear here as one row${isRecorded ? "" : ", if the agent names its session"}.
    <//>
  `;
}
