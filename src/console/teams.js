// @ts-check
/// <reference lib="dom" />
/** The teams of keys: what each may spend together, and a form for a new one. */
import { count, h } from "./dom.js";
import { budgetFields } from "./key_form.js";
import { showChange } from "./turn_on.js";

/** @typedef {import("./keys.js").Answer} Answer */

/**
 * Tells how much is left of a budget, such as "$4.20 of $5 left (day 2026-11-29)".
 * @param {Answer["budgets"][number] | undefined} found
 */
export function leftOf(found) {
  return found ? `$${found.left} of $${found.dollars} left (${found.period})` : "";
}

/**
 * @param {Answer} answer
 * @returns {HTMLElement[]}
 */
export function teamsOf({ teams, keys, budgets, usageDays }) {
  if (teams.length === 0) return [];
  const rows = teams.map((team) => {
    const own = keys.filter((key) => key.team === team);
    /** @param {"requests" | "tokens"} what */
    const sum = (what) => usageDays ? count(own.reduce((all, { used }) => all + (used?.[what] ?? 0), 0)) : "";
    return h(
      "tr",
      {},
      h("th", { scope: "row", class: "text" }, team),
      ...[count(own.length), sum("requests"), sum("tokens")].map((text) => h("td", { class: "number" }, text)),
      h("td", {}, leftOf(budgets.find(({ budget }) => budget === `team:${team}`))),
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

/**
 * Opens the form for a team. Teams are in the configuration: its change is shown before it is written.
 * @param {HTMLDialogElement} dialog
 * @param {readonly string[]} teams those that there are
 */
export function teamForm(dialog, teams) {
  const name = h("input", { required: true, maxlength: 200, autocomplete: "off" });
  const fields = budgetFields();
  const problem = h("p", { class: "error", role: "alert" });
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    const team = name.value.trim();
    problem.textContent = team === ""
      ? "A team needs a name."
      : teams.includes(team)
      ? "There is this team already."
      : "";
    if (problem.textContent !== "") return;
    dialog.close();
    const budget = fields.value();
    void showChange({
      words: "New team",
      title: `New team "${team}"`,
      about: "Keys can be in it as soon as it is in the configuration. They spend its budget together.",
      settings: { teams: { [team]: budget === undefined ? {} : { budget } } },
    });
  };
  dialog.replaceChildren(
    h("h2", {}, "New team"),
    h(
      "form",
      { class: "fields", submit },
      h("label", {}, "Name", name),
      ...fields.elements,
      problem,
      h(
        "div",
        { class: "bar" },
        h("button", { type: "submit", class: "main" }, "Show the change"),
        h("button", { type: "button", click: () => dialog.close() }, "Cancel"),
      ),
    ),
  );
  dialog.showModal();
}
