// @ts-check
/// <reference lib="dom" />
/** How each upstream was in the last hours, and what its models were found to refuse. */
import { html, signal } from "./ui.js";
import { attempt } from "./actions.js";
import { toast } from "./design/overlays.js";
import { Badge, Button, Card } from "./design/parts.js";
import { DataTable } from "./design/table.js";
import { ask, count, order } from "./dom.js";
import { ago, exactly, inPercent } from "./words.js";

/**
 * @typedef {import("./upstreams.js").Upstream} Upstream
 * @typedef {import("./upstreams.js").Part & { upstream: string, isFirst: boolean }} Refused
 * @typedef {{ served: number, failed: number }} Stretch
 * @typedef {{ now: number, stretchMs: number, stretches: number, isKept: boolean,
 *   upstreams: Record<string, [at: number, served: number, failed: number][]> }} Past
 */

/** How often the past from before the start is read, in milliseconds. */
const EARLIER_MS = 60_000;

/** The requests of each upstream by the number of the stretch, as usage has counted them. */
const earlier = signal(/** @type {ReadonlyMap<string, ReadonlyMap<number, Stretch>>} */ (new Map()));
let readAt = 0;

/** Reads what usage has kept from before the gateway was started. Without usage there is nothing. @param {Past} past */
async function readEarlier({ stretchMs, stretches, now, isKept }) {
  if (!isKept || Date.now() - readAt < EARLIER_MS) return;
  readAt = Date.now();
  const from = (Math.floor(now / stretchMs) - stretches + 1) * stretchMs;
  const found = await ask(`series?by=target&from=${from}&to=${now + 1}`).catch(() => undefined);
  // Other steps would stand for other stretches.
  if (found?.stepMs !== stretchMs) return;
  /** @type {Map<string, Map<number, Stretch>>} */
  const sums = new Map();
  for (const { name, values } of found.groups) {
    const upstream = name.split("/")[0];
    const own = sums.get(upstream) ?? new Map();
    sums.set(upstream, own);
    found.times.forEach((/** @type {number} */ time, /** @type {number} */ index) => {
      const [requests, failed] = [values.requests[index], values.errors[index]];
      if (!requests) return;
      const { served, failed: before } = own.get(time / stretchMs) ?? { served: 0, failed: 0 };
      own.set(time / stretchMs, { served: served + requests - failed, failed: before + failed });
    });
  }
  earlier.value = sums;
}

/** The stretches up to now, the latest last. @param {string} name @param {Past} past @returns {(Stretch | undefined)[]} */
function stretchesOf(name, { now, stretchMs, stretches, upstreams }) {
  const last = Math.floor(now / stretchMs);
  const own = new Map((upstreams[name] ?? []).map(([at, served, failed]) => [at, { served, failed }]));
  return Array.from({ length: stretches }, (_, index) => {
    const at = last - stretches + 1 + index;
    return own.get(at) ?? earlier.value.get(name)?.get(at);
  });
}

/** @param {{ upstreams: readonly Upstream[], past?: Past, onForgotten(): Promise<unknown> }} props */
export function UpstreamHealth({ upstreams, past, onForgotten }) {
  if (past) void readEarlier(past);
  const called = past ? upstreams.filter(({ name }) => stretchesOf(name, past).some(Boolean)) : [];
  return html`
    ${past && upstreams.length > 0 && html`
      <${Card} title="The last hours" about="calls that were answered, and those that failed">
        <ul class="strips" aria-label="The last hours">
          ${called.length > 0 && html`
            <li class="axis quiet" aria-hidden="true">
              <span></span><span><span>6 hours ago</span><span>now</span></span>
            </li>
          `}
          ${called.map((upstream) => html`<${Row} key=${upstream.name} upstream=${upstream} past=${past} />`)}
        </ul>
        ${called.length === 0 && html`
          <p class="quiet">No upstream was called yet. The calls of each will be a strip of six hours here.</p>
        `}
        <//>
    `}
    <${Refusals} upstreams=${upstreams} onForgotten=${onForgotten} />
  `;
}

/** @param {{ upstream: Upstream, past: Past }} props */
function Row({ upstream: { name, resting, running, waiting }, past }) {
  const stretches = stretchesOf(name, past);
  const sum = (/** @type {"served" | "failed"} */ what) => stretches.reduce((all, one) => all + (one?.[what] ?? 0), 0);
  const [served, failed] = [sum("served"), sum("failed")];
  const words = `${count(served + failed)} ${served + failed === 1 ? "call" : "calls"}, ${
    failed === 0 ? "none failed" : `${inPercent(failed, served + failed)} failed`
  }`;
  return html`
    <li>
      <b title=${name}>${name}</b>
      <span class="strip" role="img" aria-label=${`${name} in the last six hours: ${words}`}>
        ${stretches.map((one, index) =>
          html`<${Cell} key=${index} one=${one} from=${startOf(index, past)} past=${past} />`
        )}
      </span>
      <span class="quiet">${words}</span>
      <span>
        ${resting.length > 0 && html`
          <${Badge} tone="bad">rests now: ${resting.join(", ")}<//>
        `}
        ${running !== undefined &&
          html`<${Badge} tone=${waiting ? "warn" : "plain"}>${count(running)} running, ${
            count(waiting ?? 0)
          } waiting<//>`}
      </span>
    </li>
  `;
}

/** @param {number} index @param {Past} past */
function startOf(index, { now, stretchMs, stretches }) {
  return (Math.floor(now / stretchMs) - stretches + 1 + index) * stretchMs;
}

/** @param {{ one?: Stretch, from: number, past: Past }} props */
function Cell({ one, from, past: { stretchMs } }) {
  const clock = (/** @type {number} */ time) =>
    new Date(time).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
  const when = `${clock(from)} to ${clock(from + stretchMs)}`;
  if (!one) return html`<i title=${`${when}: not called`}></i>`;
  const { served, failed } = one;
  return html`
    <i
      class="called"
      title=${`${when}: ${count(served)} answered, ${count(failed)} failed`}
      style=${{ "--failed": `${Math.round(failed / (served + failed) * 100)}%` }}
    ></i>
  `;
}

/** @type {import("./design/table.js").Column<Refused>[]} */
const REFUSED = [
  { id: "upstream", roomy: true, title: "Upstream", view: ({ upstream }) => upstream },
  { id: "model", title: "Model", wide: true, hint: ({ model }) => model, view: ({ model }) => model },
  { id: "part", title: "Relaxation", view: ({ part }) => html`<code>${part}</code>` },
  { id: "kind", roomy: true, title: "Kind", view: ({ kind }) => kind },
  { id: "holds", roomy: true, title: "Holds for", view: ({ holdsFor }) => holdsFor },
  { id: "until", title: "Until", hint: ({ until }) => exactly(until), view: ({ until }) => ago(until) },
];

/** @param {{ upstreams: readonly Upstream[], onForgotten(): Promise<unknown> }} props */
function Refusals({ upstreams, onForgotten }) {
  const refused = upstreams.flatMap(({ name, refused = [] }) =>
    refused.map((part, at) => ({ ...part, upstream: name, isFirst: refused[at - 1]?.model !== part.model }))
  );
  if (refused.length === 0) return undefined;
  // A model is forgotten as a whole, so it has one button.
  const view = (/** @type {Refused} */ part) =>
    part.isFirst && html`<${Forget} part=${part} onForgotten=${onForgotten} />`;
  return html`
    <${Card} flush>
      <${DataTable}
        label="Refusals"
        caption="What models were found to refuse"
        columns=${[...REFUSED, { id: "actions", title: "", view }]}
        items=${refused}
        keyOf=${(/** @type {Refused} */ { upstream, model, kind, part, holdsFor }) =>
          [upstream, model, kind, part, holdsFor].join("\n")}
      />
      <//>
  `;
}

/** @param {{ part: Refused, onForgotten(): Promise<unknown> }} props */
function Forget({ part: { upstream, model }, onForgotten }) {
  const forget = () =>
    attempt(async () => {
      await order("upstreams/forget", { upstream, model });
      await onForgotten();
      toast(`What ${model} refuses is forgotten`);
    });
  return html`<${Button} aria-label=${`Forget all that ${model} of ${upstream} refuses`} onClick=${forget}>Forget all<//>`;
}
