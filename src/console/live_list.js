// @ts-check
/// <reference lib="dom" />
/** The list of live requests: its columns, and the details of one request. */
import { html, signal } from "./ui.js";
import { Dialog } from "./design/overlays.js";
import { Badge, ButtonLink } from "./design/parts.js";
import { ColumnChoice } from "./design/table.js";
import { count } from "./dom.js";
import { CLIENT_LEFT } from "./entries.js";
import { factsIn } from "./facts.js";
import { exactly, inDollars, inTime, kindIn, programIn } from "./words.js";

/** @typedef {import("./entries.js").Entry} Entry */

export const isRecorded = signal(false);
/** The request whose details are open. */
export const chosen = signal(/** @type {Entry | undefined} */ (undefined));

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
    view: ({ model, target, path, kind }) => {
      const aside = kindIn(kind);
      if (!model && !target) return html`<span class="dim">${aside ?? path}</span>`;
      return html`
        <bdi>${model}</bdi>${model && target && html`<span class="dim">${" → "}</span>`}<bdi>${target}</bdi>
        ${aside && html`<span class="dim">${` (${aside})`}</span>`}
      `;
    },
  },
  {
    id: "client",
    title: "Client",
    wide: true,
    sortBy: ({ client }) => client,
    hint: ({ client }) => client,
    view: ({ client }) => programIn(client),
  },
  { id: "key", title: "Key", wide: true, sortBy: ({ key }) => key, hint: ({ key }) => key, view: ({ key }) => key },
  {
    id: "session",
    title: "Session",
    hiddenAtFirst: true,
    wide: true,
    sortBy: ({ session }) => session,
    hint: ({ session }) => session,
    view: ({ id, session }) => session && html`<a href=${`#sessions?${encodeURIComponent(id)}`}>${session}</a>`,
  },
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
    hint: ({ cost, usage }) => cost ? `$${cost}` : usage && "Its price is not known",
    view: ({ cost, usage }) => (cost || usage) && inDollars(cost),
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
export const choice = new ColumnChoice("live", COLUMNS);

/** @param {{ entry: Entry }} props */
function Status({ entry: { status, error } }) {
  if (status === undefined) return html`<${Badge} tone="info">running<//>`;
  const tone = status >= 500 ? "bad" : status >= 400 ? "warn" : "good";
  const why = status === CLIENT_LEFT ? "client left" : error;
  return html`<${Badge} tone=${tone}>${[status, why].filter(Boolean).join(" ")}<//>`;
}

/** @param {{ entry: Entry }} props */
export function Details({ entry }) {
  const { id, notes = [], session, model, status } = entry;
  const own = encodeURIComponent(id);
  // A recorded conversation that the client does not name is known by its beginning.
  const isTurn = status !== undefined && model !== undefined && (session !== undefined || isRecorded.value);
  return html`
    <${Dialog} kind="sheet" title=${`Request ${id}`} onClose=${() => chosen.value = undefined}>
      <p class="actions">
        ${isRecorded.value &&
          html`<${ButtonLink} kind="primary" icon="telescope" href=${`#inspect?${own}`}>Inspect<//>`}
        ${isTurn && html`<${ButtonLink} icon="messages-square" href=${`#sessions?${own}`}>Open its session<//>`}
      </p>
      <dl>${factsIn(entry).map(([name, text]) =>
        html`
          <dt key=${`${name} name`}>${name}</dt>
          <dd key=${name}>${text}</dd>
        `
      )}</dl>
      <h3>${notes.length > 0
        ? "What was dropped, clamped or changed"
        : status !== undefined && "Nothing was dropped, clamped or changed"}</h3>
      <ul>${notes.map((note) => html`<li key=${note}>${note}</li>`)}</ul>
      <//>
  `;
}

/** @param {Entry} entry */
function namesOf({ model, target }) {
  return [model, target].filter(Boolean).join(" → ");
}

/** The time of day, with the day if that is not today. @param {string} time */
function clock(time) {
  const date = new Date(time);
  if (date.toDateString() === new Date().toDateString()) return date.toLocaleTimeString("en-GB");
  return date.toLocaleString("en-GB", { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });
}

/** @param {Entry} entry */
function speed({ usage, durationMs = 0, firstEventMs = 0 }) {
  const seconds = (durationMs - firstEventMs) / 1000;
  return usage && usage.outputTokens > 1 && seconds > 0.05 ? usage.outputTokens / seconds : undefined;
}
