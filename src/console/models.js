// @ts-check
/// <reference lib="dom" />
/** The models that clients can ask for, and whether each can answer. */
import { html, screen, signal } from "./ui.js";
import { known as file, LastChange, readKnown } from "./change.js";
import { Badge, Button, ButtonLink, EmptyState, Page } from "./design/parts.js";
import { ListTable } from "./design/list.js";
import { ColumnChoice } from "./design/table.js";
import { count } from "./dom.js";
import { asked, ModelDialogs, open } from "./model_dialogs.js";
import { readSetup } from "./setup_api.js";
import { inDollars } from "./words.js";

const EVERY_MS = 15_000;

/**
 * @typedef {import("./setup_api.js").Model} Model
 * @typedef {import("../canonical/price.ts").Price} Price
 */

const known = signal(/** @type {readonly Model[] | undefined} */ (undefined));

export const models = screen({
  title: "Models",
  everyMs: EVERY_MS,
  open() {
    asked.value = undefined;
    return { view: html`<${ModelsPage} />`, refresh };
  },
});

async function refresh() {
  const [{ models }] = await Promise.all([readSetup(), readKnown()]);
  known.value = models;
}

/** The models that the gateway serves, and the names for all others. */
function rowsOf(/** @type {readonly Model[]} */ served) {
  const lanes = Object.entries(file.value?.whole.lanes ?? {});
  const listed = lanes.flatMap(([lane, { models = {} }]) =>
    Object.entries(models).map(([name, { task = "", targets = [], price }]) => ({
      lane,
      name,
      task: String(task),
      // A file that the gateway does not use may have anything there.
      targets: [targets].flat().map((/** @type {Model["targets"][number]} */ one) => ({ price, ...one })),
    }))
  );
  const isServed = (/** @type {{ lane: string, name: string }} */ one) =>
    served.some(({ lane, name }) => lane === one.lane && name === one.name);
  const others = listed.filter((one) => !isServed(one)).map((one) => ({ ...one, works: false, isBuiltIn: false }));
  return [...served, ...others];
}

/** @param {Model} model */
const targetsOf = ({ targets }) => targets.map(({ upstream, model }) => `${upstream}/${model}`);

/** @param {Model} model */
const priceOf = ({ targets: [first] }) => first?.price ?? {};

/** @param {Price} price */
function inWords({ input, output, request, audioMinute, image }) {
  if (image !== undefined) return `${inDollars(image)} a picture`;
  if (input !== undefined || output !== undefined) return `${inDollars(input)} / ${inDollars(output)}`;
  if (request !== undefined) return `${inDollars(request)} a request`;
  return audioMinute === undefined ? "–" : `${inDollars(audioMinute)} a minute`;
}

/** @type {import("./design/table.js").Column<Model>[]} */
const COLUMNS = [
  { id: "name", title: "Model", isHead: true, wide: true, sortBy: ({ name }) => name, view: ({ name }) => name },
  { id: "lane", title: "Lane", sortBy: ({ lane }) => lane, view: ({ lane }) => lane },
  { id: "task", title: "Task", roomy: true, hiddenAtFirst: true, sortBy: ({ task }) => task, view: ({ task }) => task },
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
    id: "targets",
    title: "Targets",
    roomy: true,
    sortBy: (model) => targetsOf(model)[0],
    hint: (model) => targetsOf(model).join(", then "),
    view: (model) => targetsOf(model).map((target, at) => html`<div class="line" key=${at}>${target}</div>`),
  },
  {
    id: "price",
    title: "Price, $/M",
    isNumber: true,
    roomy: true,
    sortBy: (model) => priceOf(model).input,
    hint: () => "Input / output at the first target, in US dollars per million tokens, at most",
    view: (model) => inWords(priceOf(model)),
  },
  {
    id: "requests",
    title: "",
    roomy: true,
    view: ({ name }) =>
      !name.includes("*") && html`<a href=${`#live?${encodeURIComponent(`model:${name}`)}`}>Requests</a>`,
  },
  { id: "actions", title: "", view: Actions },
];

const choice = new ColumnChoice("models", COLUMNS);

const ABOUT = "The names that clients ask for, each in its lane. A model works if one of its upstreams can be called.";

function ModelsPage() {
  const { value } = known;
  const add = file.value
    ? html`<${Button} kind="primary" icon="plus" onClick=${() => open({ kind: "add" })}>Add model<//>`
    : html`<${ButtonLink} kind="primary" icon="plus" href="#setup?models">Add model<//>`;
  const rows = value && rowsOf(value);
  return html`
    <${Page} title="Models" about=${ABOUT} actions=${rows && rows.length > 0 && add}>
      <${LastChange} onDone=${refresh} />
      <${ModelDialogs} onDone=${refresh} />
      ${rows && html`
        <${ListTable}
          choice=${choice}
          label="Models"
          placeholder="Name, lane, target"
          caption=${(/** @type {readonly Model[]} */ shown) => `Models: ${count(shown.length)}`}
          items=${rows}
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
function Actions({ lane, name }) {
  if (file.value?.whole.lanes[lane]?.models?.[name] === undefined) return undefined;
  const button = (/** @type {"edit" | "remove"} */ kind, /** @type {string} */ words) =>
    html`<${Button} roomy=${kind !== "edit"} aria-label=${`${words} model “${name}”`} onClick=${() =>
      open({ kind, lane, name })}>${words}<//>`;
  return html`<span class="row-actions">${button("edit", "Edit")} ${button("remove", "Remove")}</span>`;
}

/** @param {Model} model */
function State({ name, works, reason }) {
  if (name.includes("*")) return html`<span class="dim">answers for all names that match and are not listed</span>`;
  if (!works && reason === undefined) return html`<${Badge}>not used yet<//>`;
  if (works) return html`<${Badge} tone="good">works<//>`;
  return html`<${Badge} tone="warn">cannot answer<//> <span class="dim">${reason}</span>`;
}
