// @ts-check
/// <reference lib="dom" />
/** The models that clients can ask for, and whether each can answer. */
import { html, screen, signal } from "./ui.js";
import { ListTable } from "./design/list.js";
import { Badge, ButtonLink, EmptyState, Page } from "./design/parts.js";
import { ColumnChoice } from "./design/table.js";
import { count } from "./dom.js";
import { readSetup } from "./setup_api.js";

const EVERY_MS = 15_000;

/** @typedef {import("./setup_api.js").Model} Model */

const known = signal(/** @type {readonly Model[] | undefined} */ (undefined));

export const models = screen({
  title: "Models",
  everyMs: EVERY_MS,
  open: () => ({
    view: html`<${ModelsPage} />`,
    async refresh() {
      known.value = (await readSetup()).models;
    },
  }),
});

/** @type {import("./design/table.js").Column<Model>[]} */
const COLUMNS = [
  { id: "name", title: "Model", isHead: true, wide: true, sortBy: ({ name }) => name, view: ({ name }) => name },
  { id: "lane", title: "Lane", sortBy: ({ lane }) => lane, view: ({ lane }) => lane },
  { id: "task", title: "Task", roomy: true, sortBy: ({ task }) => task, view: ({ task }) => task },
  {
    id: "state",
    title: "State",
    isTall: true,
    grows: true,
    sortBy: ({ works }) => works ? 0 : 1,
    hint: ({ reason }) => reason,
    view: State,
  },
  {
    id: "requests",
    title: "",
    roomy: true,
    view: ({ name }) => html`<a href=${`#live?${encodeURIComponent(`model:${name}`)}`}>Requests</a>`,
  },
];

const choice = new ColumnChoice("models", COLUMNS);

const ABOUT = "The names that clients ask for, each in its lane. A model works if one of its upstreams can be called.";

function ModelsPage() {
  const { value } = known;
  const add = html`<${ButtonLink} kind="primary" icon="plus" href="#setup?models">Add model<//>`;
  return html`
    <${Page} title="Models" about=${ABOUT} actions=${value && value.length > 0 && add}>
      ${value && html`
        <${ListTable}
          choice=${choice}
          label="Models"
          placeholder="Name, lane, task"
          caption=${(/** @type {readonly Model[]} */ shown) => `Models: ${count(shown.length)}`}
          items=${value}
          keyOf=${(/** @type {Model} */ { lane, task, name }) => `${lane} ${task} ${name}`}
        >
          <${EmptyState} icon="boxes" title="No model yet" action=${add}>
            Clients ask for models by name. The names, and the upstreams that answer for them, will be listed here.
          <//>
        <//>
      `}
    <//>
  `;
}

/** @param {Model} model */
function State({ works, reason }) {
  if (works) return html`<${Badge} tone="good">works<//>`;
  return html`<${Badge} tone="warn">cannot answer<//> <span class="dim">${reason}</span>`;
}
