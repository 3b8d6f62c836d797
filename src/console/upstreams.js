// @ts-check
/// <reference lib="dom" />
/** How each upstream is. */
import { html, screen, signal } from "./ui.js";
import { Badge, ButtonLink, Card, EmptyState, Page, Stat } from "./design/parts.js";
import { DataTable } from "./design/table.js";
import { ask, count } from "./dom.js";
import { UpstreamHealth } from "./upstream_health.js";
import { ago, exactly, inTime } from "./words.js";

const EVERY_MS = 2_000;

/**
 * @typedef {{ model: string, kind: string, part: string, holdsFor: string, until: string }} Part
 * @typedef {{ name: string, driver: string, missingSecret?: string, missingFile?: string, resting: string[],
 *   latencyMs?: number, running?: number, waiting?: number, lastError?: { code: string, time: string },
 *   refused?: Part[] }} Upstream
 * @typedef {{ status: string, requestsRunning: number, streamsOpen: number, webSocketsOpen: number, memoryBytes: number,
 *   upstreams: Upstream[], past?: import("./upstream_health.js").Past }} Status
 */

/** @type {import("@preact/signals").Signal<Status | undefined>} */
const status = signal(/** @type {Status | undefined} */ (undefined));

export const upstreams = screen({
  title: "Upstreams",
  everyMs: EVERY_MS,
  open: () => ({ view: html`<${UpstreamsPage} />`, refresh }),
});

async function refresh() {
  status.value = await ask("status");
}

/** @type {import("./design/table.js").Column<Upstream>[]} */
const COLUMNS = [
  { id: "name", title: "Upstream", isHead: true, sortBy: ({ name }) => name, view: ({ name }) => name },
  { id: "driver", roomy: true, title: "Speaks", sortBy: ({ driver }) => driver, view: ({ driver }) => driver },
  { id: "state", title: "State", isTall: true, sortBy: (upstream) => stateOf(upstream).words, view: State },
  {
    id: "latency",
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
    hint: ({ lastError }) => lastError && exactly(lastError.time),
    view: ({ lastError }) => lastError && html`${lastError.code} <span class="dim">${ago(lastError.time)}</span>`,
  },
];

function UpstreamsPage() {
  const { value } = status;
  const add = html`<${ButtonLink} kind="primary" icon="plus" href="#setup?upstream">Add upstream<//>`;
  const actions = html`
    <${ButtonLink} href="#setup?models">Add model<//>
    ${add}
  `;
  return html`
    <${Page}
      title="Upstreams"
      about="The services behind the models, as this process sees them."
      actions=${value && value.upstreams.length > 0 && actions}
    >
      ${value && html`
        <ul class="stats" aria-label="This process">
          <${Stat} name="State" value=${value.status} />
          <${Stat} name="Running requests" value=${count(value.requestsRunning)} />
          <${Stat} name="Open streams" value=${count(value.streamsOpen)} />
          <${Stat} name="WebSockets" value=${count(value.webSocketsOpen)} />
          <${Stat} name="Memory" value=${`${count(Math.round(value.memoryBytes / 1e6))} MB`} />
        </ul>
        <${Card} flush>
          <${DataTable}
            label="Upstreams"
            caption=${`Upstreams: ${count(value.upstreams.length)}`}
            columns=${COLUMNS}
            items=${value.upstreams}
            keyOf=${(/** @type {Upstream} */ { name }) => name}
          />
          ${value.upstreams.length === 0 &&
            html`
              <${EmptyState} icon="server" title="No upstream" action=${add}>
                An upstream is a service or a server that runs models. The state of each will be shown here.
              <//>
            `}
        <//>
      `}
      ${value && html`<${UpstreamHealth} upstreams=${value.upstreams} past=${value.past} onForgotten=${refresh} />`}
    <//>
  `;
}

/** @param {Upstream} upstream */
function stateOf({ missingSecret, missingFile, resting }) {
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
