// @ts-check
/// <reference lib="dom" />
/** The clients of the last day: what they have asked for, and with which keys. Below are the tools that connect more. */
import { html, render, signal } from "./ui.js";
import { Badge, Card } from "./design/parts.js";
import { DataTable } from "./design/table.js";
import { ask, count } from "./dom.js";
import { clientTools } from "./setup.js";
import { ago, exactly, inPercent, inShort } from "./words.js";

/**
 * @typedef {{ client: string, title?: string, running: number, requests: number, errors: number, inputTokens: number, outputTokens: number,
 *   lastSeen: number, keys: string[], lanes: string[], models: string[] }} Client
 * @typedef {{ now: number, isKept: boolean, data: Client[] }} Answer
 */

const answer = signal(/** @type {Answer | undefined} */ (undefined));

export const clients = {
  /** @param {HTMLElement} main */
  open(main) {
    answer.value = undefined;
    const tools = clientTools.open(main);
    const place = document.createElement("div");
    main.querySelector(".page-head")?.after(place);
    render(html`<${Connected} />`, place);
    return {
      get everyMs() {
        return tools.everyMs;
      },
      async refresh() {
        const found = ask("clients");
        await tools.refresh();
        answer.value = await found;
      },
      close: () => render(null, place),
    };
  },
};

/** @type {(id: "keys" | "lanes" | "models", title: string, more?: Partial<import("./design/table.js").Column<Client>>) => import("./design/table.js").Column<Client>} */
const names = (id, title, more = {}) => ({
  id,
  title,
  wide: true,
  sortBy: (client) => client[id][0],
  hint: (client) => client[id].join("\n"),
  view: (client) => client[id].join(", ") || html`<span class="dim">none</span>`,
  ...more,
});

/** @type {import("./design/table.js").Column<Client>[]} */
const COLUMNS = [
  {
    id: "client",
    title: "Client",
    isHead: true,
    wide: true,
    sortBy: ({ client, title = client }) => title.toLowerCase(),
    hint: ({ client }) => client,
    view: ({ client, title }) =>
      client === ""
        ? html`<span class="dim">no name</span>`
        : html`<a href=${placeOf(client)}>${title ?? client}</a>${
          title && title !== client && html`<small class="dim">${` ${client}`}</small>`
        }`,
  },
  {
    id: "seen",
    title: "Last seen",
    sortBy: ({ lastSeen }) => lastSeen,
    hint: ({ lastSeen }) => exactly(lastSeen),
    view: ({ running, lastSeen }) =>
      running > 0 ? html`<${Badge} tone="good">${count(running)} running<//>` : ago(lastSeen, answer.value?.now),
  },
  {
    id: "requests",
    title: "Requests",
    isNumber: true,
    sortBy: ({ requests }) => requests,
    view: ({ requests }) => count(requests),
  },
  {
    id: "errors",
    title: "Errors",
    isNumber: true,
    sortBy: ({ errors }) => errors,
    hint: ({ errors, requests }) => inPercent(errors, requests),
    kind: ({ errors }) => errors > 0 ? "tone-bad" : undefined,
    view: ({ errors }) => count(errors),
  },
  {
    id: "tokens",
    title: "Tokens",
    roomy: true,
    isNumber: true,
    sortBy: ({ inputTokens, outputTokens }) => inputTokens + outputTokens,
    hint: ({ inputTokens, outputTokens }) => `${count(inputTokens)} in, ${count(outputTokens)} out`,
    view: ({ inputTokens, outputTokens }) => inShort(inputTokens + outputTokens),
  },
  names("keys", "Keys", { roomy: true }),
  names("lanes", "Lanes", { roomy: true }),
  names("models", "Models", { roomy: true }),
];

/** @param {string} client */
function placeOf(client) {
  return answer.value?.isKept
    ? `#usage?${new URLSearchParams({ range: "24h", by: "model", client })}`
    : `#live?${encodeURIComponent(client)}`;
}

function Connected() {
  const { value } = answer;
  if (!value) return undefined;
  const { data, isKept } = value;
  const when = isKept ? "in the last day" : "among the latest requests of the last day";
  return html`
    <${Card} flush>
      ${data.length > 0
        ? html`
          <${DataTable}
            label="Connected clients"
            caption=${`Clients that were seen ${when}: ${count(data.length)}`}
            columns=${COLUMNS}
            items=${data}
            keyOf=${(/** @type {Client} */ { client }) => client}
          />
        `
        : html`
          <p class="nothing quiet">
            No client has asked for anything yet. Each will be listed here by the name that it gives itself, with its keys,
            lanes, models and errors. Connect the first one below.
          </p>
        `}
      <//>
      <h2 class="before">Connect a client</h2>
  `;
}
