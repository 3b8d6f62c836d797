// @ts-check
/// <reference lib="dom" />
/** The keys: what each may do and has used, and what an operator does with them. */
import { batch, html, screen, signal, useRef, useState } from "./ui.js";
import { attempt } from "./actions.js";
import { Dialog, toast } from "./design/overlays.js";
import { Badge, Button, ButtonLink, Card, EmptyState, Page } from "./design/parts.js";
import { DataTable } from "./design/table.js";
import { ask, count, order } from "./dom.js";
import { KeyForm } from "./key_form.js";
import { STORED_KEYS } from "./switches.js";
import { LeftOf, TeamForm, Teams } from "./teams.js";
import { TurnOn } from "./turn_on.js";
import { ago, exactly, inDollars } from "./words.js";

const EVERY_MS = 30_000;

/**
 * @typedef {{ dollars: number, period: string, unpriced?: string }} Budget
 * @typedef {{ name: string, isStored?: true, created?: string, expires?: string, lanes?: string[], models?: string[],
 *   operator?: boolean, team?: string, quota?: Record<string, number>, budget?: Budget,
 *   used?: { requests: number, tokens: number, dollars?: string } }} Key
 * @typedef {{ budget: string, dollars: string, left: string, period: string }} Left
 * @typedef {{ keys: Key[], next?: number, why?: string, usageDays?: number, teams: string[], lanes: string[],
 *   budgets: Left[] }} Answer
 * @typedef {{ kind: "form", key?: Key } | { kind: "revoke", key: Key } | { kind: "team" }} Asked
 */

const answer = signal(/** @type {Answer | undefined} */ (undefined));
const pages = signal(1);
/** The dialog that is open. */
const asked = signal(/** @type {Asked | undefined} */ (undefined));
/** A key that was just made. */
const made = signal(/** @type {{ name: string, key: string } | undefined} */ (undefined));

export const keys = screen({
  title: "Keys",
  everyMs: EVERY_MS,
  open() {
    batch(() => {
      pages.value = 1;
      asked.value = undefined;
      made.value = undefined;
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
  answer.value = whole;
}

/** @type {import("./design/table.js").Column<Key>[]} */
const COLUMNS = [
  { id: "name", title: "Key", isHead: true, wide: true, hint: ({ name }) => name, view: ({ name }) => name },
  { id: "uses", title: "May use", isTall: true, view: mayUse },
  { id: "limits", title: "Limits", roomy: true, isTall: true, view: Limits },
  { id: "team", title: "Team", roomy: true, view: ({ team }) => team },
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
  { id: "budget", title: "Budget", view: ({ name }) => html`<${LeftOf} ...${leftOf(`key:${name}`)} />` },
  { id: "actions", title: "", view: (key) => html`<${Actions} own=${key} />` },
];

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
    pages.value++;
    await attempt(refresh);
  };
  return html`
    <${Page} title="Keys" actions=${actions}>
      ${made.value && html`<${Secret} name=${made.value.name} secret=${made.value.key} />`}
      ${value && html`
        ${(value.keys.length === 0 || value.why !== undefined) && html`
          <${Card}>
            <${Absent} why=${value.why} isNone=${value.keys.length === 0} onCreate=${create} />
            <//>
        `}
        ${value.keys.length > 0 && html`
          <${Card} flush>
            <${DataTable}
              label="Keys"
              caption=${captionOf(value)}
              columns=${COLUMNS}
              items=${value.keys}
              keyOf=${(/** @type {Key} */ { name }) => name}
            />
            <//>
        `}
        ${value.next !== undefined && html`
          <p>
            <${Button} onClick=${more}>Show more<//></p>
        `}
        <${Teams} ...${value} />
        ${asked.value?.kind === "team" && html`
          <${TeamForm} teams=${value.teams} onClose=${() => asked.value = undefined} />
        `}
        ${asked.value?.kind === "form" && html`<${Form} known=${value} own=${asked.value.key} />`}
        ${asked.value?.kind === "revoke" && html`<${Revoke} own=${asked.value.key} />`}
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

/** @param {{ own: Key }} props */
function Revoke({ own: { name } }) {
  const close = () => asked.value = undefined;
  const revoke = async () => {
    close();
    await attempt(async () => {
      await order("keys/revoke", { name });
      toast(`Key "${name}" is revoked.`);
      await refresh();
    });
  };
  const actions = html`
    <${Button} autofocus onClick=${close}>Cancel<//><${Button} kind="danger" onClick=${revoke}>Revoke<//>
  `;
  return html`
    <${Dialog} title=${`Revoke key "${name}"?`} onClose=${close} actions=${actions}>
      <p>Requests with it are refused within a second. This cannot be undone.</p>
      <//>
  `;
}

/** The only time that it is shown. @param {{ name: string, secret: string }} props */
function Secret({ name, secret }) {
  const [isCopied, setCopied] = useState(false);
  const field = useRef(/** @type {HTMLInputElement | null} */ (null));
  const copy = async () => {
    field.current?.select();
    await navigator.clipboard?.writeText(secret).then(() => setCopied(true), () => {});
  };
  return html`
    <div class="bar secret" role="group" aria-label="The new key">
      <label>
        Key "${name}": copy it now, it will not be shown again
        <input ref=${field} readonly value=${secret} size="60" autocomplete="off" spellcheck="false" />
      </label>
      <${Button} icon=${isCopied ? "check" : "copy"} onClick=${copy}>${isCopied ? "Copied" : "Copy"}<//>
      <${ButtonLink} href="#setup?client">Connect a client<//>
      <${Button} onClick=${() => made.value = undefined}>Done<//>
    </div>
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
