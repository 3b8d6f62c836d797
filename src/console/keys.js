// @ts-check
/// <reference lib="dom" />
/** The keys: what each may do and has used, and what an operator does with them. */
import { ask, count, h, LoginNeeded, order } from "./dom.js";
import { keyForm } from "./key_form.js";

const EVERY_MS = 30_000;

/**
 * @typedef {{ dollars: number, period: string }} Budget
 * @typedef {{ name: string, isStored?: true, created?: string, expires?: string, lanes?: string[], models?: string[],
 *   operator?: boolean, continuation?: string, team?: string, quota?: Record<string, number>, budget?: Budget,
 *   used?: { requests: number, tokens: number, dollars?: string } }} Key
 * @typedef {{ keys: Key[], next?: number, why?: string, usageDays?: number, teams: string[], lanes: string[],
 *   budgets: { budget: string, dollars: string, left: string, period: string }[] }} Answer
 */

const HEADS = ["Key", "May use", "Limits", "Team", "Expires", "Requests", "Tokens", "Dollars", "Budget", ""];
const NUMBERS = ["Requests", "Tokens", "Dollars"];

export const keys = {
  title: "Keys",
  /** @param {HTMLElement} main */
  open(main) {
    const create = h("button", { type: "button", hidden: true }, "New key");
    const why = h("p", { class: "quiet" });
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
    main.append(
      h("h1", {}, "Keys"),
      why,
      shown,
      problem,
      h("div", { class: "bar" }, create),
      h("div", { class: "wide" }, h("table", {}, caption, h("thead", {}, h("tr", {}, ...head)), body)),
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
      why.textContent = answer.why ?? "";
      create.hidden = answer.why !== undefined;
      more.hidden = answer.next === undefined;
      caption.textContent = `${count(answer.keys.length)} keys${
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
    more.addEventListener("click", () => {
      pages++;
      void doing(async () => {});
    });
    return { everyMs: EVERY_MS, refresh };
  },
};

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
    h("td", {}, left ? `${left.left} of ${left.dollars} left (${left.period})` : ""),
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

/**
 * @param {Answer} answer
 * @returns {HTMLElement[]}
 */
function teamsOf({ teams, keys, budgets, usageDays }) {
  if (teams.length === 0) return [];
  const rows = teams.map((team) => {
    const own = keys.filter((key) => key.team === team);
    const left = budgets.find(({ budget }) => budget === `team:${team}`);
    /** @param {"requests" | "tokens"} what */
    const sum = (what) => usageDays ? count(own.reduce((all, { used }) => all + (used?.[what] ?? 0), 0)) : "";
    return h(
      "tr",
      {},
      h("th", { scope: "row", class: "text" }, team),
      ...[count(own.length), sum("requests"), sum("tokens")].map((text) => h("td", { class: "number" }, text)),
      h("td", {}, left ? `${left.left} of ${left.dollars} left (${left.period})` : ""),
    );
  });
  const heads = ["Team", "Keys", "Requests", "Tokens", "Budget"].map((text, index) =>
    h("th", { scope: "col", class: index > 0 && index < 4 ? "number" : undefined }, text)
  );
  return [
    h("h2", {}, "Teams"),
    h(
      "div",
      { class: "wide" },
      h(
        "table",
        {},
        h("caption", {}, "Totals of the keys above"),
        h("thead", {}, h("tr", {}, ...heads)),
        h("tbody", {}, ...rows),
      ),
    ),
  ];
}
