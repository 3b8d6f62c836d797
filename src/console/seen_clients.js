// @ts-check
/// <reference lib="dom" />
/** The programs that called the gateway lately: with which key, for which models. */
import { html, render } from "./ui.js";
import { Badge, Card } from "./design/parts.js";
import { DataTable } from "./design/table.js";
import { ask, count } from "./dom.js";
import { seenIn } from "./entries.js";
import { ago, exactly } from "./words.js";

/** @typedef {import("./entries.js").Seen} Seen */

/** @type {import("./design/table.js").Column<Seen>[]} */
const COLUMNS = [
  {
    id: "program",
    title: "Client",
    isHead: true,
    sortBy: ({ program }) => program,
    view: ({ program, key }) =>
      html`<a href=${`#live?${encodeURIComponent(key ? `key:"${key}" ${program}` : program)}`}>${program}</a>`,
  },
  { id: "key", title: "Key", sortBy: ({ key }) => key, view: ({ key }) => key },
  {
    id: "models",
    title: "Models",
    grows: true,
    roomy: true,
    hint: ({ models }) => [...models].join("\n"),
    view: ({ models }) => [...models].join(", "),
  },
  {
    id: "requests",
    title: "Requests",
    isNumber: true,
    roomy: true,
    sortBy: ({ requests }) => requests,
    view: ({ requests }) => count(requests),
  },
  {
    id: "errors",
    title: "Errors",
    isNumber: true,
    roomy: true,
    sortBy: ({ errors }) => errors,
    view: ({ errors }) => errors > 0 && html`<${Badge} tone="bad">${count(errors)}<//>`,
  },
  {
    id: "latest",
    title: "Latest",
    isNumber: true,
    sortBy: ({ latest }) => latest,
    hint: ({ latest }) => exactly(latest),
    view: ({ latest }) => ago(latest),
  },
];

/** Shows them in a place, if there are any. @param {HTMLElement} place */
export async function showSeen(place) {
  const { ended } = await ask("live?feed=&since=0");
  const items = seenIn(ended);
  if (items.length === 0) return;
  const view = html`
    <${Card} title="Seen lately" about=${`in the latest ${count(ended.length)} requests`} flush>
      <${DataTable}
        label="Clients that called lately"
        caption=${`${count(items.length)} clients, each with its key`}
        columns=${COLUMNS}
        items=${items}
        keyOf=${(/** @type {Seen} */ { program, key }) => `${key} ${program}`}
      />
      <//>
  `;
  render(view, place);
}
