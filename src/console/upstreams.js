// @ts-check
/// <reference lib="dom" />
/** How each upstream is. */
import { html, screen, signal } from "./ui.js";
import { known, LastChange, readKnown } from "./change.js";
import { ListTable } from "./design/list.js";
import { Badge, Button, ButtonLink, EmptyState, Page, Stat } from "./design/parts.js";
import { ColumnChoice } from "./design/table.js";
import { ask, count, queryInAddress } from "./dom.js";
import { Actions, asked, open, UpstreamDialogs } from "./upstream_dialogs.js";
import { UpstreamHealth } from "./upstream_health.js";
import { ago, exactly, inTime } from "./words.js";

const EVERY_MS = 2_000;
/** The file rarely changes. */
const FILE_EVERY_MS = 15_000;

/**
 * @typedef {{ model: string, kind: string, part: string, holdsFor: string, until: string }} Part
 * @typedef {{ name: string, driver: string, missingSecret?: string, missingFile?: string, resting: string[],
 *   latencyMs?: number, running?: number, waiting?: number, lastError?: { code: string, time: string },
 *   refused?: Part[], isPending?: boolean }} Upstream
 * @typedef {{ status: string, requestsRunning: number, streamsOpen: number, webSocketsOpen: number, memoryBytes: number,
 *   upstreams: Upstream[], past?: import("./upstream_health.js").Past }} Status
 */

/** @type {import("@preact/signals").Signal<Status | undefined>} */
const status = signal(/** @type {Status | undefined} */ (undefined));

export const upstreams = screen({
  title: "Upstreams",
  everyMs: EVERY_MS,
  open() {
    asked.value = undefined;
    wanted = queryInAddress();
    readAt = 0;
    return { view: html`<${UpstreamsPage} />`, refresh };
  },
});

async function readAll() {
  await readFile();
  await refresh();
}

async function refresh() {
  const isDue = Date.now() - readAt > FILE_EVERY_MS;
  // Rows have their buttons as soon as they are shown.
  const [now] = await Promise.all([ask("status"), isDue ? readFile() : undefined]);
  status.value = now;
  const name = wanted;
  wanted = "";
  if (Object.hasOwn(known.value?.whole.upstreams ?? {}, name)) void open({ kind: "edit", name });
}

/** The upstream that the address names, until its form was opened. */
let wanted = "";

/** When the file was read. */
let readAt = 0;

async function readFile() {
  readAt = Date.now();
  await readKnown();
}

/** @type {import("./design/table.js").Column<Upstream>[]} */
const COLUMNS = [
  { id: "name", title: "Upstream", isHead: true, sortBy: ({ name }) => name, view: ({ name }) => name },
  { id: "driver", roomy: true, title: "Speaks", sortBy: ({ driver }) => driver, view: ({ driver }) => driver },
  { id: "state", title: "State", isTall: true, sortBy: (upstream) => stateOf(upstream).words, view: State },
  {
    id: "latency",
    roomy: true,
    title: "Latency",
    isNumber: true,
    sortBy: ({ latencyMs }) => latencyMs,
    view: ({ latencyMs }) => inTime(latencyMs),
  },
  {
    id: "running",
    roomy: true,
    title: "Running",
    isNumber: true,
    sortBy: ({ running }) => running ?? 0,
    view: ({ running }) => count(running ?? 0),
  },
  {
    id: "waiting",
    roomy: true,
    title: "Waiting",
    isNumber: true,
    sortBy: ({ waiting }) => waiting ?? 0,
    view: ({ waiting }) => count(waiting ?? 0),
  },
  {
    id: "error",
    title: "Last error",
    grows: true,
    sortBy: ({ lastError }) => lastError?.time,
    hint: ({ lastError }) => lastError && `${lastError.code}, ${exactly(lastError.time)}`,
    view: ({ lastError }) => lastError && html`${lastError.code} <span class="dim">${ago(lastError.time)}</span>`,
  },
  { id: "actions", title: "", view: Actions },
];

const choice = new ColumnChoice("upstreams", COLUMNS);

/** The upstreams of the file that the gateway does not use yet. @param {Upstream[]} [served] @returns {Upstream[]} */
function pending(served = []) {
  const names = new Set(served.map(({ name }) => name));
  return Object.entries(known.value?.whole.upstreams ?? {}).filter(([name]) => !names.has(name))
    .map(([name, { driver = "" }]) => ({ name, driver: String(driver), resting: [], isPending: true }));
}

function UpstreamsPage() {
  const { value } = status;
  const rows = [...value?.upstreams ?? [], ...pending(value?.upstreams)];
  const guide = html`<${ButtonLink} href="#setup?upstream">Step by step<//>`;
  const add = known.value
    ? html`<${Button} kind="primary" icon="plus" onClick=${() => open({ kind: "add" })}>Add upstream<//>`
    : html`<${ButtonLink} kind="primary" icon="plus" href="#setup?upstream">Add upstream<//>`;
  const actions = html`${known.value && guide} ${add}`;
  return html`
    <${Page}
      title="Upstreams"
      about="The services behind the models, as this process sees them."
      actions=${value && rows.length > 0 && actions}
    >
      <${LastChange} onDone=${readAll} />
      <${UpstreamDialogs} onDone=${readAll} />
      ${value && html`
        <ul class="stats" aria-label="This process">
          <${Stat} name="State" value=${value.status} />
          <${Stat} name="Running requests" value=${count(value.requestsRunning)} />
          <${Stat} name="Open streams" value=${count(value.streamsOpen)} />
          <${Stat} name="WebSockets" value=${count(value.webSocketsOpen)} />
          <${Stat} name="Memory" value=${`${count(Math.round(value.memoryBytes / 1e6))} MB`} />
        </ul>
        <${ListTable}
          choice=${choice}
          label="Upstreams"
          placeholder="Name, state, error"
          caption=${(/** @type {readonly Upstream[]} */ shown) => `Upstreams: ${count(shown.length)}`}
          items=${rows}
          keyOf=${(/** @type {Upstream} */ { name }) => name}
        >
          <${EmptyState} icon="server" title="No upstream" action=${add}>
            An upstream is a service or a server that runs models. The state of each will be shown here.
          <//>
        <//>
      `}
      ${value && html`<${UpstreamHealth} upstreams=${value.upstreams} past=${value.past} onForgotten=${refresh} />`}
    <//>
  `;
}

/** @param {Upstream} upstream */
function stateOf({ missingSecret, missingFile, resting, isPending }) {
  if (isPending) return { tone: "plain", words: "not used yet" };
  if (missingSecret !== undefined) return { tone: "warn", words: `needs the variable ${missingSecret}` };
  if (missingFile !== undefined) return { tone: "warn", words: `needs a secret in the file ${missingFile}` };
  if (resting.length > 0) return { tone: "bad", words: `circuit open: ${resting.join(", ")}` };
  return { tone: "good", words: "ready" };
}

/** @param {Upstream} upstream */
function State(upstream) {
  const { tone, words } = stateOf(upstream);
  const isLocked = upstream.missingSecret !== undefined || upstream.missingFile !== undefined;
  return html`<${Badge} tone=${tone}>${words}<//>${
    isLocked && html`
      <a href="#setup?upstream">Enter it</a>
    `
  }`;
}
