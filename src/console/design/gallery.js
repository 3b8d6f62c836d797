// @ts-check
/// <reference lib="dom" />
/** The design on one page, `#design`: each component as the pages use it. The tests photograph it. */
import { html, screen, useState } from "../ui.js";
import { inShort, inTime } from "../words.js";
import { Chart } from "./chart.js";
import { CodeBlock } from "./code.js";
import { ICONS } from "./icons.js";
import { Dialog, Menu, toast } from "./overlays.js";
import {
  Badge,
  Button,
  ButtonLink,
  Card,
  Chip,
  EmptyState,
  Field,
  Icon,
  IconButton,
  Page,
  Segments,
  Stat,
  Tabs,
} from "./parts.js";
import { DataTable } from "./table.js";
import { DiffView } from "./diff_view.js";
import { Waterfall } from "./waterfall.js";

const COLORS = [
  "page",
  "surface",
  "soft",
  "hover",
  "line",
  "edge",
  "text",
  "quiet",
  "accent",
  "good",
  "warn",
  "bad",
  "info",
];
const TONES = ["plain", "good", "warn", "bad", "info", "accent"];
const SIZES = ["xs", "s", "m", "l", "xl", "xxl"];

const TIMES = Array.from({ length: 30 }, (_, index) => Date.parse("2027-01-01T12:00:00Z") + index * 10_000);
const wave = (/** @type {number} */ size, /** @type {number} */ step) =>
  TIMES.map((_, index) => Math.round(size * (2 + Math.sin(index / step) + Math.sin(index / 2.3) / 2)));

const JSON_VALUE = {
  model: "glm-5.3",
  stream: true,
  max_tokens: 900,
  messages: [{ role: "user", content: "Why is a lane no road?" }, { role: "assistant", content: null }],
  tools: [],
};

const DIFFERENT = [JSON_VALUE, { ...JSON_VALUE, model: "zai-org/GLM-5.3", stream_options: { include_usage: true } }]
  .map(
    (value) => JSON.stringify(value, null, 2),
  );

const ROWS = [
  { name: "glm-5.3", requests: 1_204, latency: 812, state: "ready" },
  { name: "kimi-k3", requests: 318, latency: 1_440, state: "circuit open" },
  {
    name: "a-model-with-a-name-that-is-longer-than-its-column-can-be",
    requests: 7,
    latency: undefined,
    state: "ready",
  },
];
/** @type {import("./table.js").Column<typeof ROWS[number]>[]} */
const COLUMNS = [
  { id: "name", title: "Model", isHead: true, grows: true, sortBy: ({ name }) => name, view: ({ name }) => name },
  {
    id: "state",
    title: "State",
    sortBy: ({ state }) => state,
    view: ({ state }) => html`<${Badge} tone=${state === "ready" ? "good" : "bad"}>${state}<//>`,
  },
  {
    id: "requests",
    title: "Requests",
    isNumber: true,
    sortBy: ({ requests }) => requests,
    view: ({ requests }) => inShort(requests),
  },
  {
    id: "latency",
    title: "Latency",
    isNumber: true,
    sortBy: ({ latency }) => latency,
    view: ({ latency }) => inTime(latency),
  },
];

const STEPS = [
  { from: 0, title: "The client sent the request" },
  { from: 1, to: 4, title: "first/model: waited for its turn", tone: /** @type {const} */ ("queue") },
  { from: 4, to: 320, title: "first/model", detail: "first attempt: 503", tone: /** @type {const} */ ("bad") },
  {
    from: 324,
    mid: 580,
    to: 1_180,
    title: "second/model",
    detail: "failover: 200",
    tone: /** @type {const} */ ("good"),
  },
  { from: 610, title: "First event of the answer" },
];

export const gallery = screen({
  title: "Design",
  everyMs: 60_000,
  open: () => ({ view: html`<${Gallery} />`, refresh: () => Promise.resolve() }),
});

function Gallery() {
  return html`
    <${Page} title="Design" about="Each component as the pages use it." actions=${html`<${Button} icon="plus" kind="primary">Main action<//>`}>
      <${Tokens} />
      <${Small} />
      <${Choices} />
      <${Card} title="Figures">
        <ul class="stats">
          <${Stat} name="Requests" value="12.3K" more="4.1/s" />
          <${Stat} name="Errors" value="31" more="0.3 %" tone="bad" />
          <${Stat} name="Cost" value="$4.20" more="of $5 this month" />
        </ul>
        <//>
        <div class="grid">
          <${Card} title="Chart" about="with axes, a legend, and the numbers at the pointer">
            <${Chart}
              title="Requests"
              times=${TIMES}
              inWords=${inShort}
              series=${[
                { name: "All", values: wave(200, 5) },
                { name: "Cached", values: wave(60, 3) },
                { name: "Errors", values: wave(8, 2), isBad: true },
              ]}
            />
            <//>
            <${Card} title="Timeline">
              <${Waterfall} label="Timeline" steps=${STEPS} />
              <//>
              </div>
              <${Card} title="Table" flush>
                <${DataTable} label="Models" caption="Three models" columns=${COLUMNS} items=${ROWS}
                  keyOf=${nameOf} />
                <//>
                <${CodeBlock} title="Request" value=${JSON_VALUE} />
                <${Card} title="Difference">
                  <${DiffView} label="Difference" titles=${[
                    "Before",
                    "After",
                  ]} before=${DIFFERENT[0]} after=${DIFFERENT[1]} />
                  <//>
                  <${Card}>
                    <${EmptyState} icon="inbox" title="Nothing is here yet" action=${html`<${Button} kind="primary">Bring it<//>`}>
          An empty place says what would be here, and does it with one button.
        <//>
      <//>
    <//>
  `;
}

/** @param {{ name: string }} row */
function nameOf({ name }) {
  return name;
}

function Tokens() {
  return html`
    <${Card} title="Colors, sizes and icons">
      <ul class="swatches" aria-label="Colors">
        ${COLORS.map((name) =>
          html`<li key=${name}><span style=${{ background: `var(--${name})` }}></span><code>${name}</code></li>`
        )}
      </ul>
      <p>${SIZES.map((size) =>
        html`<span key=${size} style=${{ fontSize: `var(--text-${size})` }}>Laneway ${size} </span>`
      )}</p>
      <p class="toolbar">${Object.keys(ICONS).map((name) =>
        html`<span key=${name} title=${name}><${Icon} name=${name} size=${20} /></span>`
      )}</p>
      <//>
  `;
}

function Small() {
  return html`
    <${Card} title="Buttons, badges and conditions">
      <div class="toolbar">
        <${Button} kind="primary">Primary<//><${Button} icon="download">Plain<//><${Button} kind="danger">Danger<//>
        <${ButtonLink} href="#design" icon="plug">A link<//><${Button} kind="ghost">Ghost<//><${Button} disabled>Disabled<//><${IconButton} icon="copy" label="Copy" />
        <${Menu} label="More" items=${[
          { title: "Edit", icon: "pencil", run: () => toast("Edited") },
          { title: "Remove", icon: "x", danger: true, run: () => toast("It could not be removed", "bad") },
        ]} />
      </div>
      <p class="toolbar">${TONES.map((tone) => html`<${Badge} tone=${tone} key=${tone}>${tone}<//>`)}</p>
      <p class="toolbar"><${Chip} name="Model" value="glm-5.3" onRemove=${() => {}} /><kbd>Ctrl K</kbd><code>monospaced</code></p>
    <//>
  `;
}

function Choices() {
  const [tab, setTab] = useState("one");
  const [part, setPart] = useState("day");
  const [isOpen, setOpen] = useState(false);
  const tabs = [
    { id: "one", title: "Request", view: html`<p>The first of two tabs.</p>` },
    { id: "two", title: "Answer", view: html`<p>The second of two tabs.</p>` },
  ];
  const parts = [{ value: "day", title: "Day" }, { value: "week", title: "Week" }];
  return html`
    <${Card} title="Fields, tabs and a dialog">
      <div class="grid">
        <${Field} label="Name" hint="It is shown in the log.">${(/** @type {any} */ own) =>
          html`<input ...${own} />`}<//>
        <${Field} label="Budget" problem="A budget is a number of dollars.">
          ${(/** @type {any} */ own) => html`<input value="much" ...${own} />`}
        <//>
        <${Field} label="Period">${(/** @type {any} */ own) =>
          html`<select ...${own}><option>month</option></select>`}<//>
      </div>
      <p class="toolbar">
        <${Segments} label="Period" options=${parts} value=${part} onChoose=${setPart} />
        <${Button} onClick=${() => setOpen(true)}>Open a dialog<//>
        <${Button} onClick=${() => toast("It was saved")}>Say something<//>
      </p>
      <${Tabs} label="Parts" tabs=${tabs} chosen=${tab} onChoose=${setTab} />
      ${isOpen && html`
        <${Dialog} title="A dialog" onClose=${() => setOpen(false)} actions=${html`
          <${Button} onClick=${() => setOpen(false)}>Cancel<//><${Button} kind="primary" onClick=${() =>
            setOpen(false)}>Save<//>
        `}>
          <p>It keeps the focus, and gives it back.</p>
          <//>
      `}
    <//>
  `;
}
