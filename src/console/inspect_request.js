// @ts-check
/// <reference lib="dom" />
/** One recorded request: its figures, when what happened, and the views of it. */
import { html, useState } from "./ui.js";
import { later } from "./actions.js";
import { AsCode } from "./code_button.js";
import { Badge, Button, Card, Page, Stat, Tabs } from "./design/parts.js";
import { toast } from "./design/overlays.js";
import { Waterfall } from "./design/waterfall.js";
import { count } from "./dom.js";
import { factsIn } from "./facts.js";
import { keepAddress } from "./inspect_address.js";
import { AnswerView } from "./inspect_answer.js";
import { StepsView } from "./inspect_steps.js";
import { stepsOf } from "./timeline.js";
import { exactly, inDollars, inTime } from "./words.js";

/** @typedef {import("./inspect_address.js").View} View */

const CompareView = later(async () => (await import("./inspect_compare.js")).CompareView);
const Replay = later(async () => (await import("./replay.js")).Replay);

/**
 * @param {{ address: { id: string, view: View, other?: string }, record: import("@preact/signals").Signal<any>,
 *   understood: import("@preact/signals").Signal<any> }} props
 */
export function RequestPage({ address, record: { value: record }, understood: { value: understood } }) {
  const { id } = address;
  const [view, setView] = useState(address.view);
  const [other, setOther] = useState(address.other);
  const back = html`<a href="#inspect">All recorded requests</a>`;
  if (!record) return html`<${Page} title=${`Request ${id}`} about=${back} />`;
  const choose = (/** @type {View} */ view) => {
    setView(view);
    keepAddress({ id, view, ...view === "compare" && other && { other } });
  };
  const compareWith = (/** @type {string | undefined} */ other) => {
    setOther(other);
    keepAddress({ id, view: "compare", ...other && { other } });
  };
  const tabs = [
    { id: "answer", title: "Answer", view: html`<${AnswerView} record=${record} />` },
    { id: "steps", title: "Step by step", view: html`<${StepsView} record=${record} understood=${understood} />` },
    {
      id: "compare",
      title: "Compare",
      view: html`<${CompareView} record=${record} understood=${understood} other=${other} onOther=${compareWith} />`,
    },
  ];
  const { entry, client } = record;
  const actions = html`
    <${Button} icon="copy" onClick=${copyAddress}>Copy link<//>
    <${AsCode} request=${here(record)} variable="LANEWAY_KEY" isOwnKey id=${id} part="request" />
  `;
  return html`
    <${Page} title=${`Request ${id}`} about=${back} actions=${actions}>
      <${Figures} record=${record} />
      <details>
        <summary>${client.method} ${client.path}</summary>
        <dl>${factsIn(entry ?? {}).map(([name, text]) =>
          html`
            <dt key=${`${name} name`}>${name}</dt>
            <dd key=${name}>${text}</dd>
          `
        )}</dl>
      </details>
      <${Timeline} record=${record} />
      ${entry && html`<${Notes} notes=${entry.notes ?? []} />`}
      <${Tabs} label="Views of this request" tabs=${tabs} chosen=${view} onChoose=${choose} />
      ${entry !== undefined && html`<${Replay} record=${record} understood=${understood} />`}
    <//>
  `;
}

async function copyAddress() {
  const isCopied = await navigator.clipboard?.writeText(location.href).then(() => true, () => false);
  if (isCopied) toast("The link was copied. It opens this request for operators while it is kept.");
  else toast(`Copy the link from the browser's address: ${location.href}`, "info");
}

/** The client's request, to this gateway as the browser reaches it. @param {any} record */
export function here({ client, entry }) {
  return { ...client, url: new URL(`..${client.path}`, location.href).href, isStream: entry?.stream === true };
}

/** @type {import("./design/waterfall.js").Tone[]} */
const LEGEND_ORDER = ["queue", "good", "bad", "tool"];
const LEGEND = {
  queue: [{ tone: "queue", title: "Waited for its turn" }],
  good: [{ tone: "good", isFirst: true, title: "Waited for the head" }, { tone: "good", title: "Received the answer" }],
  bad: [{ tone: "bad", title: "Failed" }],
  tool: [{ tone: "tool", title: "Ran a tool" }],
  plain: [],
};

/** @param {{ record: any }} props */
function Timeline({ record }) {
  const steps = stepsOf(record).map(barOf);
  const used = new Set(steps.map(({ tone }) => tone));
  const legend = LEGEND_ORDER.filter((tone) => used.has(tone)).flatMap((tone) => LEGEND[tone]);
  return html`
    <${Card} title="Timeline">
      <${Waterfall} label="Timeline" steps=${steps} legend=${legend} />
      <//>
  `;
}

/** @param {import("./timeline.js").Step} step @returns {import("./design/waterfall.js").Step} */
function barOf({ from, mid, to, text, isBad, kind, isOpen }) {
  return { from, mid, to, isOpen, title: text, tone: isBad ? "bad" : kind === "call" ? "good" : kind ?? "plain" };
}

/** @param {{ record: any }} props */
function Figures({ record: { entry, calls, elapsedMs } }) {
  if (!entry) {
    return html`
      <ul class="stats">
        <${Stat} name="Status" value="running" />
        <${Stat} name="Runs for" value=${inTime(elapsedMs)} />
        <${Stat} name="Calls" value=${calls.length} />
      </ul>
    `;
  }
  const { time, status, error, firstEventMs, durationMs, usage, cost } = entry;
  const cached = usage?.cachedInputTokens;
  return html`
    <ul class="stats" aria-label="Figures of this request">
      <${Stat} name="Status" value=${status} more=${error ?? exactly(time)} tone=${status >= 400 ? "bad" : "plain"} />
      <${Stat} name="First event" value=${inTime(firstEventMs)} />
      <${Stat} name="Duration" value=${inTime(durationMs)} />
      <${Stat} name="Input tokens" value=${usage ? count(usage.inputTokens) : "–"} more=${cached
        ? `${count(cached)} cached`
        : ""} />
      <${Stat} name="Output tokens" value=${usage ? count(usage.outputTokens) : "–"} more=${usage?.reasoningTokens
        ? `${count(usage.reasoningTokens)} reasoning`
        : ""} />
      <${Stat} name="Cost" value=${inDollars(cost)} />
      <${Stat} name="Calls" value=${calls.length} />
    </ul>
  `;
}

/** @param {{ notes: readonly string[] }} props */
function Notes({ notes }) {
  if (notes.length === 0) {
    return html`
      <p>
        <${Badge} tone="good" icon="check">Nothing was dropped, clamped or changed<//></p>
    `;
  }
  return html`
    <${Card} title="Notes" about="what was dropped, clamped or changed">
      <ul>${notes.map((note) => html`<li key=${note}>${note}</li>`)}</ul>
      <//>
  `;
}
