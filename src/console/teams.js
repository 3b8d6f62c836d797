// @ts-check
/// <reference lib="dom" />
/** The teams of keys: what each may spend together, and a form for a new one. */
import { html, useState } from "./ui.js";
import { Dialog } from "./design/overlays.js";
import { Badge, Button, Card } from "./design/parts.js";
import { DataTable } from "./design/table.js";
import { count } from "./dom.js";
import { BudgetFields, budgetIn, Input } from "./key_form.js";
import { showChange } from "./turn_on.js";
import { inDollars } from "./words.js";

/** @typedef {import("./keys.js").Answer} Answer */
/** @typedef {import("./keys.js").Left} Left */
/** @typedef {{ team: string, keys: number, requests: number, tokens: number, dollars: number, left?: Left }} Team */

/** @type {Record<string, string>} */
const PERIODS = { day: "today", week: "this week", month: "this month", total: "in all" };

/** Tells how much is left of a budget, such as "$4.20 of $5.00 left today". @param {Partial<Left>} props */
export function LeftOf({ left, dollars, period = "" }) {
  if (left === undefined) return undefined;
  const [kind = ""] = period.split(" ");
  const words = `${inDollars(left)} of ${inDollars(dollars)} left ${PERIODS[kind] ?? kind}`;
  const hint = `$${left} of $${dollars} (${period})`;
  return Number(left) > 0
    ? html`<span title=${hint}>${words}</span>`
    : html`<span title=${hint}><${Badge} tone="bad">used up ${PERIODS[kind] ?? kind}<//></span>`;
}

/** @param {Answer} answer */
export function Teams({ teams, keys, budgets, usageDays }) {
  if (teams.length === 0) return undefined;
  const items = teams.map((team) => {
    const own = keys.filter((key) => key.team === team);
    const sum = (/** @type {"requests" | "tokens" | "dollars"} */ what) =>
      own.reduce((all, { used }) => all + Number(used?.[what] ?? 0), 0);
    const left = budgets.find(({ budget }) => budget === `team:${team}`);
    return { team, keys: own.length, requests: sum("requests"), tokens: sum("tokens"), dollars: sum("dollars"), left };
  });
  /** @type {import("./design/table.js").Column<Team>[]} */
  const columns = [
    { id: "team", title: "Team", isHead: true, grows: true, sortBy: ({ team }) => team, view: ({ team }) => team },
    { id: "keys", title: "Keys", isNumber: true, sortBy: ({ keys }) => keys, view: ({ keys }) => count(keys) },
    {
      id: "requests",
      title: "Requests",
      roomy: true,
      isNumber: true,
      sortBy: ({ requests }) => requests,
      view: ({ requests }) => usageDays && count(requests),
    },
    {
      id: "tokens",
      title: "Tokens",
      roomy: true,
      isNumber: true,
      sortBy: ({ tokens }) => tokens,
      view: ({ tokens }) => usageDays && count(tokens),
    },
    {
      id: "dollars",
      title: "Cost",
      roomy: true,
      isNumber: true,
      sortBy: ({ dollars }) => dollars,
      view: ({ dollars }) => usageDays && inDollars(dollars),
    },
    { id: "budget", title: "Budget", view: ({ left }) => html`<${LeftOf} ...${left} />` },
  ];
  return html`
    <${Card} title="Teams" flush>
      <${DataTable}
        label="Teams"
        caption="Totals of the keys above"
        columns=${columns}
        items=${items}
        keyOf=${(/** @type {Team} */ { team }) => team}
      />
      <//>
  `;
}

/**
 * The form for a team. Teams are in the configuration: its change is shown before it is written.
 * @param {{ teams: readonly string[], onClose(): void }} props `teams`: those that there are
 */
export function TeamForm({ teams, onClose }) {
  const [problem, setProblem] = useState("");
  const submit = (/** @type {any} */ event) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const team = String(form.get("name")).trim();
    if (team === "") return setProblem("A team needs a name.");
    if (teams.includes(team)) return setProblem("There is this team already.");
    const budget = budgetIn(form);
    onClose();
    void showChange({
      words: "New team",
      title: `New team "${team}"`,
      about: "Keys can be in it as soon as it is in the configuration. They spend its budget together.",
      settings: { teams: { [team]: budget === undefined ? {} : { budget } } },
    });
  };
  return html`
    <${Dialog} title="New team" onClose=${onClose}>
      <form class="fields" onSubmit=${submit}>
        <${Input} label="Name" name="name" required maxlength="200" />
        <${BudgetFields} />
        <p class="error" role="alert">${problem}</p>
        <div class="bar">
          <${Button} kind="primary" type="submit">Show the change<//>
          <${Button} onClick=${onClose}>Cancel<//>
        </div>
      </form>
      <//>
  `;
}
