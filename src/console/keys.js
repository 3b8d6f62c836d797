// @ts-check
/// <reference lib="dom" />
/** The keys: what each may do and has used, and what an operator does with them. */
import { ask, count, h, LoginNeeded, order } from "./dom.js";
import { empty } from "./empty.js";
import { keyForm } from "./key_form.js";
import { STORED_KEYS } from "./switches.js";
import { leftOf, teamForm, teamsOf } from "./teams.js";
import { turnOn } from "./turn_on.js";

const EVERY_MS = 30_000;

/**
 * @typedef {{ dollars: number, period: string, unpriced?: string }} Budget
 * @typedef {{ name: string, isStored?: true, created?: string, expires?: string, lanes?: string[], models?: string[],
 *   operator?: boolean, team?: string, quota?: Record<string, number>, budget?: Budget,
 *   used?: { requests: number, tokens: number, dollars?: string } }} Key
 * @typedef {{ keys: Key[], next?: number, why?: string, usageDays?: number, teams: string[], lanes: string[],
 *   budgets: { budget: string, dollars: string, left: string, period: string }[] }} Answer
 */

const HEADS = ["Key", "May use", "Limits", "Team", "Expires", "Requests", "Tokens", "Dollars", "Budget", ""];
const NUMBERS = ["Requests", "Tokens", "Dollars"];

export const keys = {
  /** @param {HTMLElement} main */
  open(main) {
    const create = h("button", { type: "button", class: "main" }, "New key");
    const createTeam = h("button", { type: "button" }, "New team");
    const makers = h("div", { class: "bar", hidden: true }, create, createTeam);
    const why = h("div");
    const shown = h("div", { role: "status" });
    const problem = h("p", { class: "error", role: "alert" });
    const caption = h("caption");
    const body = h("tbody");
    const teams = h("div");
    const more = h("button", { type: "button", hidden: true }, "Show more");
    const dialog = h("dialog");
    const head = HEADS.map((text) =>
      h("th", { scope: "col", class: NUMBERS.includes(text) ? "number" : undefined }, text || "Actions")
    );
    const list = h(
      "div",
      { class: "wide", hidden: true },
      h("table", {}, caption, h("thead", {}, h("tr", {}, ...head)), body),
    );
    main.append(
      h("h1", {}, "Keys"),
      why,
      shown,
      problem,
      makers,
      list,
      h("div", { class: "bar" }, more),
      teams,
      dialog,
    );
    /** @type {Answer | undefined} */
    let last;
    let pages = 1;
    const refresh = async () => {
      last = await readPages(pages);
      const answer = last;
      drawWhy(why, answer);
      list.hidden = answer.keys.length === 0;
      makers.hidden = answer.why !== undefined;
      more.hidden = answer.next === undefined;
      caption.textContent = `${count(answer.keys.length)} ${answer.keys.length === 1 ? "key" : "keys"}${
        answer.usageDays ? `; requests, tokens and dollars in the last ${answer.usageDays} days` : ""
      }`;
      redraw(body, answer.keys.map((key) => rowOf(key, answer, { limit, revoke })));
      teams.replaceChildren(...teamsOf(answer));
    };
    /** @param {() => Promise<void>} work */
    const doing = async (work) => {
      problem.textContent = "";
      try {
        await work();
        await refresh();
      } catch (error) {
        if (error instanceof LoginNeeded) return dispatchEvent(new HashChangeEvent("hashchange"));
        problem.textContent = /** @type {Error} */ (error).message;
      }
    };
    /** @param {Key} key */
    const limit = (key) =>
      last && keyForm(dialog, last, key, async (facts) => {
        await order("keys/limit", facts);
        shown.replaceChildren(h("p", {}, `Key "${facts.name}" was updated.`));
        await doing(async () => {});
      });
    /** @param {Key} key */
    const revoke = (key) =>
      confirm(dialog, key.name, () =>
        doing(async () => {
          await order("keys/revoke", { name: key.name });
          shown.replaceChildren(h("p", {}, `Key "${key.name}" is revoked.`));
        }));
    create.addEventListener("click", () =>
      last && keyForm(dialog, last, undefined, async (facts) => {
        const { name, key } = await order("keys/create", facts);
        shown.replaceChildren(...secretOf(name, key));
        // It is made, whether or not the list can be read: the form is done.
        await doing(async () => {});
      }));
    createTeam.addEventListener("click", () => last && teamForm(dialog, last.teams));
    more.addEventListener("click", () => {
      pages++;
      void doing(async () => {});
    });
    return { everyMs: EVERY_MS, refresh };
  },
};

/**
 * Says why no key can be made here, with the button that changes it, or that there is none yet. A dialog that is open stays.
 * @param {HTMLElement} place
 * @param {Answer} answer
 */
function drawWhy(place, { why, keys }) {
  const is = `${why} ${keys.length > 0}`;
  if (place.dataset.is === is) return;
  place.dataset.is = is;
  if (why === undefined) {
    const words = "There is no key yet. Each key can have its own models, limits and budget.";
    return place.replaceChildren(...keys.length > 0 ? [] : [empty(words)]);
  }
  const words = keys.length > 0
    ? "These keys are in the configuration. Keys that you create here can be limited and revoked at any time."
    : "There are no keys: only this machine may call the gateway. With keys, a team can use it, and each key has its own models, limits and budget.";
  // The button's dialog says how to write the setting by hand.
  const isOff = why.includes('"storedKeys"');
  place.replaceChildren(
    empty(words, isOff ? turnOn(STORED_KEYS) : undefined),
    isOff ? "" : h("p", { class: "quiet" }, why),
  );
}

/**
 * @param {number} pages
 * @returns {Promise<Answer>}
 */
async function readPages(pages) {
  /** @type {Answer} */
  const whole = await ask("keys");
  for (let page = 1; page < pages && whole.next !== undefined; page++) {
    /** @type {Answer} */
    const more = await ask(`keys?from=${whole.next}`);
    whole.keys.push(...more.keys);
    whole.next = more.next;
  }
  return whole;
}

/**
 * The only time that it is shown.
 * @param {string} name
 * @param {string} key
 */
function secretOf(name, key) {
  const field = h("input", { readonly: true, value: key, size: 60, autocomplete: "off", spellcheck: "false" });
  const copy = h("button", { type: "button" }, "Copy");
  copy.addEventListener("click", async () => {
    field.select();
    await navigator.clipboard?.writeText(key).then(() => copy.textContent = "Copied", () => {});
  });
  const done = h("button", { type: "button" }, "Done");
  const box = h(
    "div",
    { class: "bar secret" },
    h("label", {}, `Key "${name}": copy it now, it will not be shown again`, field),
    copy,
    h("a", { class: "button", href: "#setup?client" }, "Connect a client"),
    done,
  );
  done.addEventListener("click", () => box.remove());
  return [box];
}

/**
 * @param {HTMLDialogElement} dialog
 * @param {string} name
 * @param {() => void} onYes
 */
function confirm(dialog, name, onYes) {
  const yes = h("button", { value: "yes" }, "Revoke");
  yes.addEventListener("click", onYes);
  dialog.replaceChildren(
    h("h2", {}, `Revoke key "${name}"?`),
    h("p", {}, "Requests with it are refused within a second. This cannot be undone."),
    h("form", { method: "dialog", class: "bar" }, yes, h("button", { value: "no", autofocus: true }, "Cancel")),
  );
  dialog.showModal();
}

/**
 * Replaces the rows. The focus stays on the button that has it.
 * @param {HTMLElement} body
 * @param {readonly HTMLElement[]} rows
 */
function redraw(body, rows) {
  const focused = document.activeElement instanceof HTMLElement ? document.activeElement.dataset.id : undefined;
  body.replaceChildren(...rows);
  if (focused === undefined) return;
  for (const button of body.querySelectorAll("button")) if (button.dataset.id === focused) button.focus();
}

/**
 * @param {Key} key
 * @param {Answer} answer
 * @param {{ limit(key: Key): void, revoke(key: Key): void }} actions
 */
function rowOf(key, { budgets, why }, { limit, revoke }) {
  const { name, expires, team, used, quota = {}, operator, isStored } = key;
  const isOver = expires !== undefined && Date.parse(expires) <= Date.now();
  const left = budgets.find(({ budget }) => budget === `key:${name}`);
  const limits = [
    ...Object.entries(quota).map(([limit, value]) => `${LIMIT_WORDS[limit] ?? limit} ${count(value)}`),
    ...operator ? ["operator"] : [],
  ];
  /** @type {(word: string, act: (key: Key) => void) => HTMLElement} */
  const button = (word, act) =>
    h("button", {
      type: "button",
      "data-id": `${word} ${name}`,
      "aria-label": `${word} key "${name}"`,
      click: () => act(key),
    }, word);
  const actions = isStored && why === undefined
    ? [button("Edit", limit), button("Revoke", revoke)]
    : ["in the configuration"];
  return h(
    "tr",
    { class: isOver ? "bad" : undefined },
    h("th", { scope: "row", class: "text" }, name),
    h("td", { class: "text" }, mayUse(key)),
    h("td", { class: "text" }, limits.join(", ")),
    h("td", { class: "text" }, team ?? ""),
    h("td", { class: "status" }, expires === undefined ? "" : `${isOver ? "expired " : ""}${expires.slice(0, 10)}`),
    h("td", { class: "number" }, used ? count(used.requests) : ""),
    h("td", { class: "number" }, used ? count(used.tokens) : ""),
    h("td", { class: "number" }, used?.dollars ?? ""),
    h("td", {}, leftOf(left)),
    h("td", {}, ...actions),
  );
}

/** @type {Record<string, string>} */
const LIMIT_WORDS = {
  requestsPerMinute: "requests per minute:",
  tokensPerMinute: "tokens per minute:",
  tokensPerDay: "tokens per day:",
  concurrentRequests: "concurrent requests:",
};

/** @param {Key} key */
function mayUse({ lanes, models }) {
  if (!lanes && !models) return "everything";
  return [lanes ? `lanes ${lanes.join(", ")}` : "", models ? `models ${models.join(", ")}` : ""].filter(Boolean).join(
    "; ",
  );
}
