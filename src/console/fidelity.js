// @ts-check
/// <reference lib="dom" />
/** The fields that each wire keeps on the way to a model, and those of the answers that come back. */
import { html, screen, signal } from "./ui.js";
import { chatModels } from "./chat_models.js";
import { Badge, ButtonLink, Card, EmptyState, Page } from "./design/parts.js";
import { DataTable } from "./design/table.js";
import { ask, Away, count } from "./dom.js";

const EVERY_MS = 60_000;

/** @typedef {{ field: string, is: string, words: string }} Row */
/** @typedef {{ target: string, wire: string, requests: Row[], answers: Row[] }} Found */

/** The words for each kind of row, and how bad it is. @type {readonly [kind: string, words: string, tone: string][]} */
const KINDS = [
  ["carried", "Carried unchanged", "good"],
  ["mapped", "Carried in another form", "good"],
  ["answered", "Done by the gateway", "info"],
  ["idle", "Left out, nothing is lost", "plain"],
  ["dropped", "Dropped, with a note", "warn"],
  ["refused", "Refused", "warn"],
  ["failed", "Failed", "bad"],
  ["silent", "Lost", "bad"],
];
const TONES = new Map(KINDS.map(([kind, , tone]) => [kind, tone]));

const models = signal(/** @type {readonly string[] | undefined} */ (undefined));
const clients = signal(/** @type {readonly string[]} */ ([]));
/** The choices are kept while other pages are shown. */
const model = signal("");
const client = signal("");
const kind = signal("");
const state = signal("");
const found = signal(/** @type {Found | undefined} */ (undefined));
/** Raised with each question: an answer to an earlier one is not shown. */
let turn = 0;
/** Whether the gateway has neither shown nor refused the table that was asked for last. */
let isAsking = false;

export const fidelity = screen({
  title: "Fidelity",
  everyMs: EVERY_MS,
  open() {
    models.value = undefined;
    return { view: html`<${FidelityPage} />`, refresh };
  },
});

async function refresh() {
  if (models.value && models.value.length > 0) return isAsking ? await look() : undefined;
  const [{ all }, known] = await Promise.all([chatModels(), ask("fidelity")]);
  // The sandbox has a wire of its own, and so no table.
  const isSandbox = (/** @type {string} */ name) => /sandbox/.test(name);
  models.value = [...all.filter((name) => !isSandbox(name)), ...all.filter(isSandbox)];
  clients.value = known.clients;
  if (!all.includes(model.value)) model.value = models.value[0] ?? "";
  if (!clients.value.includes(client.value)) client.value = clients.value[0] ?? "";
  await look();
}

async function look() {
  if (!model.value || !client.value) return;
  const mine = ++turn;
  isAsking = true;
  state.value = "Sending each field through the gateway …";
  const [lane, ...rest] = model.value.split("/");
  const query = new URLSearchParams({ lane: lane ?? "", model: rest.join("/"), client: client.value });
  try {
    const answer = await ask(`fidelity?${query}`);
    if (mine !== turn) return;
    isAsking = false;
    found.value = answer;
    state.value = `${answer.target} speaks ${answer.wire}. No model was called.`;
  } catch (error) {
    if (mine !== turn) return;
    found.value = undefined;
    state.value = /** @type {Error} */ (error).message;
    isAsking = error instanceof Away;
    if (isAsking) throw error;
  }
}

const ABOUT =
  "What happens to each field that clients are known to send. The running gateway finds it out with its own " +
  "configuration.";

function FidelityPage() {
  const choose = (/** @type {import("@preact/signals").Signal<string>} */ place) => (/** @type {any} */ event) => {
    place.value = event.currentTarget.value;
    look().catch(() => {}); // the page asks again
  };
  const option = (/** @type {string} */ name) => html`<option key=${name} value=${name}>${name}</option>`;
  if (models.value?.length === 0) return html`<${NoModel} />`;
  return html`
    <${Page} title="Fidelity" about=${ABOUT}>
      <div class="bar">
        <label>Model<select value=${model.value} onChange=${choose(model)}>${models.value?.map(option)}</select></label>
        <label>Client's wire<select value=${client.value} onChange=${choose(client)}>${clients.value.map(
          option,
        )}</select></label>
        <label>
          Show
          <select value=${kind.value} onChange=${(/** @type {any} */ { currentTarget }) =>
            kind.value = currentTarget.value}>
            <option value="">All fields</option>
            ${KINDS.map(([value, words]) => html`<option key=${value} value=${value}>${words}</option>`)}
          </select>
        </label>
      </div>
      <p class="quiet" role="status">${state.value}</p>
      ${found.value && html`<${Tables} ...${found.value} />`}
    <//>
  `;
}

function NoModel() {
  const action = html`<${ButtonLink} kind="primary" icon="plus" href="#setup?models">Add model<//>`;
  return html`
    <${Page} title="Fidelity" about=${ABOUT}>
      <${Card}>
        <${EmptyState} icon="scale" title="No model yet" action=${action}>
          No lane has a model. The fields that each wire keeps on the way to a model will be listed here.
        <//>
      <//>
    <//>
  `;
}

/** @param {Found} props */
function Tables({ requests, answers }) {
  const all = [...requests, ...answers];
  const counts = KINDS.map(([name, words, tone]) => ({
    name,
    words,
    tone,
    times: all.filter(({ is }) => is === name).length,
  }))
    .filter(({ times }) => times > 0);
  return html`
    <ul class="stats" aria-label="Fields">
      ${counts.map(({ name, words, tone, times }) =>
        html`
          <li class="stat" key=${name} data-tone=${tone}><span class="stat-name">${words}</span><b>${count(
            times,
          )}</b></li>
        `
      )}
    </ul>
    <div class="grid">
      <${Fields} title="What the client sends" where="At the upstream" rows=${requests} />
      <${Fields} title="What the upstream answers" where="At the client" rows=${answers} />
    </div>
  `;
}

/** @param {{ title: string, where: string, rows: readonly Row[] }} props */
function Fields({ title, where, rows }) {
  const wanted = rows.filter(({ is }) => kind.value === "" || is === kind.value);
  /** @type {import("./design/table.js").Column<Row>[]} */
  const columns = [
    {
      id: "field",
      title: "Field",
      isHead: true,
      isTall: true,
      sortBy: ({ field }) => field,
      view: ({ field }) => html`<code>${field}</code>`,
    },
    { id: "words", title: where, isTall: true, view: Words },
  ];
  return html`
    <${Card} flush>
      <${DataTable}
        label=${title}
        caption=${`${title}: ${count(wanted.length)} fields`}
        columns=${columns}
        items=${wanted}
        keyOf=${(/** @type {Row} */ { field, words }) => `${field} ${words}`}
      />
      <//>
  `;
}

/** @param {Row} row */
function Words({ is, words }) {
  const text = words.replaceAll("**", "");
  const tone = TONES.get(is);
  const parts = text.split("`").map((part, index) => index % 2 ? html`<code>${part}</code>` : part);
  if (text.length < 40) return html`<${Badge} tone=${tone}>${parts}<//>`;
  return html`<span class=${tone === "warn" || tone === "bad" ? `tone-${tone}` : ""}>${parts}</span>`;
}
