// @ts-check
/// <reference lib="dom" />
/** The keys: what each may do and has used, and what an operator does with them. */
import { batch, html, screen, signal } from "./ui.js";
import { attempt } from "./actions.js";
import { Dialog, toast } from "./design/overlays.js";
import { ask, count, order, queryInAddress } from "./dom.js";
import { Revoke, Rotate, Secret } from "./key_dialogs.js";
import { ListTable } from "./design/list.js";
import { Badge, Button, Card, EmptyState, Page } from "./design/parts.js";
import { ColumnChoice } from "./design/table.js";
import { KeyFiles } from "./key_files.js";
import { KeyForm } from "./key_form.js";
import { STORED_KEYS } from "./switches.js";
import { LeftOf, TeamForm, Teams } from "./teams.js";
import { TurnOn } from "./turn_on.js";
import { ago, exactly, inDollars } from "./words.js";

const EVERY_MS = 30_000;

/**
 * @typedef {{ dollars: number, period: string, unpriced?: string }} Budget
 * @typedef {{ name: string, isStored?: true, created?: string, expires?: string, lanes?: string[], models?: string[],
 *   operator?: boolean, files?: boolean, continuation?: string, team?: string, quota?: Record<string, number>, budget?: Budget,
 *   used?: { requests: number, tokens: number, dollars?: string } }} Key
 * @typedef {{ budget: string, dollars: string, left: string, period: string }} Left
 * @typedef {{ keys: Key[], next?: number, why?: string, usageDays?: number, teams: string[], lanes: string[],
 *   budgets: Left[] }} Answer
 * @typedef {import("./key_dialogs.js").Made} Made
 * @typedef {{ kind: "form", key?: Key } | { kind: "revoke" | "rotate", key: Key } | { kind: "team" }} Asked
 */

const answer = signal(/** @type {Answer | undefined} */ (undefined));
/** The files of all keys. Absent until they were read. */
const held = signal(/** @type {import("./key_files.js").Held | undefined} */ (undefined));
const pages = signal(1);
/** Whether more keys are on their way. */
let isAsking = false;
/** The dialog that is open. */
const asked = signal(/** @type {Asked | undefined} */ (undefined));
/** The key that the address names, until its form was opened. */
const wanted = signal("");
/** The secret that was just made. */
const made = signal(/** @type {Made | undefined} */ (undefined));

export const keys = screen({
  title: "Keys and teams",
  everyMs: EVERY_MS,
  open() {
    batch(() => {
      pages.value = 1;
      asked.value = undefined;
      made.value = undefined;
      wanted.value = queryInAddress();
    });
    return { view: html`<${KeysPage} />`, refresh, close: () => made.value = undefined };
  },
});

async function refresh() {
  /** @type {Answer} */
  const whole = await ask("keys");
  for (let page = 1; page < pages.value && whole.next !== undefined; page++) {
    /** @type {Answer} */
    const more = await ask(`keys?from=${whole.next}`);
    whole.keys.push(...more.keys);
    whole.next = more.next;
  }
  isAsking = false;
  answer.value = whole;
  // The keys are there, whether or not the files can be read.
  void ask("files").then((/** @type {import("./key_files.js").Held} */ files) => held.value = files, () => {});
  const { value: name } = wanted;
  wanted.value = "";
  const key = name && whole.keys.find((one) => one.name === name);
  if (!key) return;
  if (key.isStored && whole.why === undefined) asked.value = { kind: "form", key };
  else location.replace("#configuration?keys");
}

/** @type {import("./design/table.js").Column<Key>[]} */
const COLUMNS = [
  {
    id: "name",
    title: "Key",
    isHead: true,
    wide: true,
    sortBy: ({ name }) => name,
    hint: ({ name }) => name,
    view: ({ name }) => name,
  },
  { id: "uses", title: "May use", isTall: true, grows: true, sortBy: mayUse, view: mayUse },
  { id: "limits", title: "Limits", roomy: true, isTall: true, view: Limits },
  {
    id: "team",
    title: "Team",
    roomy: true,
    wide: true,
    sortBy: ({ team }) => team,
    hint: ({ team }) => team,
    view: ({ team }) => team,
  },
  {
    id: "expires",
    title: "Expires",
    roomy: true,
    sortBy: ({ expires }) => expires,
    hint: ({ expires }) => expires && exactly(expires),
    view: Expiry,
  },
  {
    id: "requests",
    title: "Requests",
    roomy: true,
    isNumber: true,
    sortBy: ({ used }) => used?.requests,
    view: ({ used }) => used && count(used.requests),
  },
  {
    id: "tokens",
    title: "Tokens",
    roomy: true,
    isNumber: true,
    sortBy: ({ used }) => used?.tokens,
    view: ({ used }) => used && count(used.tokens),
  },
  {
    id: "dollars",
    title: "Cost",
    roomy: true,
    isNumber: true,
    sortBy: ({ used }) => used?.dollars === undefined ? undefined : Number(used.dollars),
    hint: ({ used }) => used?.dollars && `$${used.dollars}`,
    view: ({ used }) => used?.dollars !== undefined && inDollars(used.dollars),
  },
  { id: "budget", title: "Budget", isTall: true, view: ({ name }) => html`<${LeftOf} ...${leftOf(`key:${name}`)} />` },
  { id: "actions", title: "", view: (key) => html`<${Actions} own=${key} />` },
];

/** How a dialog ends. */
const ways = {
  refresh,
  onClose: () => void (asked.value = undefined),
  onMade: (/** @type {Made} */ one) => void (made.value = one),
};
const choice = new ColumnChoice("keys", COLUMNS);

function KeysPage() {
  const { value } = answer;
  const isOpen = value !== undefined && value.why === undefined;
  const create = () => asked.value = { kind: "form" };
  const createTeam = () => asked.value = { kind: "team" };
  const actions = isOpen && html`
    <${Button} onClick=${createTeam}>New team<//>
    ${value.keys.length > 0 && html`<${Button} kind="primary" icon="plus" onClick=${create}>New key<//>`}
  `;
  const more = async () => {
    // The reader may come to the end again before the next keys are there.
    if (isAsking) return;
    isAsking = true;
    pages.value++;
    await attempt(refresh);
    isAsking = false;
  };
  return html`
    <${Page} title="Keys and teams" actions=${actions}>
      ${made.value && html`<${Secret} made=${made.value} onDone=${() => made.value = undefined} />`}
      ${value && html`
        ${(value.keys.length === 0 || value.why !== undefined) && html`
          <${Card}>
            <${Absent} why=${value.why} isNone=${value.keys.length === 0} onCreate=${create} />
            <//>
        `}
        ${value.keys.length > 0 && html`
          <${ListTable}
            choice=${choice}
            label="Keys"
            placeholder="Name, team, lane, model"
            caption=${() => captionOf(value)}
            items=${value.keys}
            keyOf=${(/** @type {Key} */ { name }) => name}
            onEnd=${value.next === undefined ? undefined : more}
          />
        `}
        ${value.next !== undefined && html`
          <p>
            <${Button} onClick=${more}>Show more<//></p>
        `}
        <${Teams} ...${value} />
        <${KeyFiles} held=${held.value} refresh=${refresh} />
        ${asked.value?.kind === "team" && html`
          <${TeamForm} teams=${value.teams} onClose=${() => asked.value = undefined} />
        `}
        ${asked.value?.kind === "form" && html`<${Form} known=${value} own=${asked.value.key} />`}
        ${asked.value?.kind === "revoke" && html`<${Revoke} name=${asked.value.key.name} ...${ways} />`}
        ${asked.value?.kind === "rotate" && html`<${Rotate} name=${asked.value.key.name} ...${ways} />`}
      `}
    <//>
  `;
}

/**
 * Says that there is no key yet, or why none can be made here, with the button that changes it.
 * @param {{ why?: string, isNone: boolean, onCreate(): void }} props
 */
function Absent({ why, isNone, onCreate }) {
  if (why === undefined) {
    const create = html`<${Button} kind="primary" icon="plus" onClick=${onCreate}>New key<//>`;
    return html`
      <${EmptyState} icon="key-round" title="No key yet" action=${create}>
        There is no key yet. Each key can have its own models, limits and budget.
      <//>
    `;
  }
  const words = isNone
    ? "There are no keys: only this machine may call the gateway. With keys, a team can use it, and each key has its own models, limits and budget."
    : "These keys are in the configuration. Keys that you create here can be limited and revoked at any time.";
  const title = isNone ? "No key yet" : "No key can be created here yet";
  // The button's dialog says what is to be written by hand.
  const isOff = why.includes('"storedKeys"');
  const action = isOff && html`<${TurnOn} ...${STORED_KEYS} />`;
  return html`
    <${EmptyState} icon="key-round" title=${title} action=${action}>${words}<//>
    ${!isOff && html`<p class="quiet">${why}</p>`}
  `;
}

/** @param {Answer} answer */
function captionOf({ keys, usageDays }) {
  const since = usageDays ? `; requests, tokens and dollars in the last ${usageDays} days` : "";
  return `${count(keys.length)} ${keys.length === 1 ? "key" : "keys"}${since}`;
}

/** @param {{ own: Key }} props */
function Actions({ own }) {
  if (!own.isStored || answer.value?.why !== undefined) {
    return html`<a class="roomy" href="#configuration">in the configuration</a>`;
  }
  const open = (/** @type {Asked} */ one) => () => asked.value = one;
  return html`
    <span class="row-actions">
      <${Button} aria-label=${`Edit key "${own.name}"`} onClick=${open({ kind: "form", key: own })}>Edit<//>
      <${Button} aria-label=${`Rotate key "${own.name}"`} onClick=${open({ kind: "rotate", key: own })}>Rotate<//>
      <${Button} aria-label=${`Revoke key "${own.name}"`} onClick=${open({ kind: "revoke", key: own })}>Revoke<//>
    </span>
  `;
}

/** @param {{ known: Answer, own?: Key }} props */
function Form({ known, own }) {
  const close = () => asked.value = undefined;
  const submit = async (/** @type {Key} */ facts) => {
    if (own) {
      await order("keys/limit", facts);
      toast(`Key "${facts.name}" was updated.`);
    } else {
      made.value = await order("keys/create", facts);
    }
    close();
    // It is done, whether or not the list can be read.
    await attempt(refresh);
  };
  return html`
    <${Dialog} title=${own ? `Edit key "${own.name}"` : "New key"} kind="roomy" onClose=${close}>
      <${KeyForm} known=${known} own=${own} onSubmit=${submit} onCancel=${close} />
      <//>
  `;
}

/** @type {Record<string, string>} */
const LIMIT_WORDS = {
  requestsPerMinute: "requests per minute:",
  tokensPerMinute: "tokens per minute:",
  tokensPerDay: "tokens per day:",
  concurrentRequests: "concurrent requests:",
};

/** @param {Key} key */
function Limits({ quota = {}, operator }) {
  const limits = Object.entries(quota).map(([limit, value]) => `${LIMIT_WORDS[limit] ?? limit} ${count(value)}`);
  return html`${limits.join(", ")} ${operator && html`<${Badge} tone="accent">operator<//>`}`;
}

/** @param {Key} key */
function Expiry({ expires }) {
  if (expires === undefined) return "";
  const isOver = Date.parse(expires) <= Date.now();
  return isOver ? html`<${Badge} tone="bad">expired ${ago(expires)}<//>` : ago(expires);
}

/** @param {Key} key */
function mayUse({ lanes, models }) {
  if (!lanes && !models) return "everything";
  const parts = [lanes ? `lanes ${lanes.join(", ")}` : "", models ? `models ${models.join(", ")}` : ""];
  return parts.filter(Boolean).join("; ");
}

/** @param {string} name */
function leftOf(name) {
  return answer.value?.budgets.find(({ budget }) => budget === name);
}
