// @ts-check
/// <reference lib="dom" />
/** The rest of budgets, and the amounts that they come to if their periods go on like this. */
import { html } from "./ui.js";
import { Badge, Card } from "./design/parts.js";
import { ago, exactly, inDollars, inPercent } from "./words.js";

/**
 * @typedef {{ budget: string, period: string, dollars: string, spent: string, left: string, resets?: string,
 *   forecast?: { dollars: string, usedUp?: string } }} Budget
 */

/** @type {Readonly<Record<string, string>>} */
const KINDS = { key: "Key", team: "Team" };
/** @type {Readonly<Record<string, string>>} */
const PERIODS = { day: "today", week: "this week", month: "this month", total: "in all" };

/** The part of a budget from which on it looks short. */
const NEARLY = 0.8;
/** How many are shown beside other things. */
const MOST_SHOWN = 5;

/** @param {{ budgets: readonly Budget[] }} props */
export function Budgets({ budgets }) {
  if (budgets.length === 0) return undefined;
  return html`
    <${Card}
      title="Budgets"
      about="what is left in each period"
      actions=${html`<a href="#budgets">All budgets</a>`}
    >
      <ul class="budgets">
        ${inOrder(budgets).slice(0, MOST_SHOWN).map(({ budget }) =>
          html`<${OneBudget} key=${budget.budget} ...${budget} />`
        )}
      </ul>
      <//>
  `;
}

/** @param {Budget} budget */
function stateOf({ dollars, spent, forecast }) {
  const partOf = (/** @type {string} */ amount) => Number(amount) / (Number(dollars) || 1);
  const [share, ahead] = [partOf(spent), partOf(forecast?.dollars ?? spent)];
  return { share, ahead, tone: share >= 1 ? "bad" : share >= NEARLY || ahead >= 1 ? "warn" : "good" };
}

/** Those that are used up come first, then those that will be, by when; then the rest, by how much is spent. @param {readonly Budget[]} budgets */
export function inOrder(budgets) {
  const valued = budgets.map((budget) => {
    const { share, tone } = stateOf(budget);
    const usedUp = Date.parse(budget.forecast?.usedUp ?? "") || Infinity;
    return { budget, share, isShort: tone !== "good", at: share >= 1 ? 0 : usedUp };
  });
  return valued.sort((one, other) =>
    one.at === other.at
      ? other.share - one.share || (one.budget.budget < other.budget.budget ? -1 : 1)
      : one.at - other.at
  );
}

/** `href`: where it can be changed. @param {Budget & { href?: string }} props */
export function OneBudget({ href, ...own }) {
  const { budget, period, dollars, spent, left, resets, forecast } = own;
  const { share, ahead, tone } = stateOf(own);
  const [, kind, name = "The gateway"] = /^(key|team):(.*)$/s.exec(budget) ?? [];
  const width = (/** @type {number} */ part) => ({ "--part": `${Math.min(1, part) * 100}%` });
  return html`
    <li>
      <span class="owner">
        ${kind && html`
          <span class="dim">${`${KINDS[kind]} `}</span>
        `}
        ${href ? html`<a href=${href}><b>${name}</b></a>` : html`<b>${name}</b>`}
      </span>
      <${Badge} tone=${tone}>${inPercent(
        Number(spent),
        Number(dollars),
      )} spent<//>
      <span class="quiet" title=${resets && `Resets ${exactly(resets)}`}>
        ${inDollars(left)} of ${inDollars(dollars)} left ${PERIODS[period.split(" ")[0] ?? ""] ?? `(${period})`}
        ${resets && html`, resets ${ago(resets)}`}
      </span>
      <div
        class="budget-bar"
        data-tone=${tone}
        role="meter"
        aria-label=${`Spent of ${budget}`}
        aria-valuemin="0"
        aria-valuemax=${dollars}
        aria-valuenow=${Math.min(Number(spent), Number(dollars))}
      >
        ${forecast && html`<span class="ahead" style=${width(ahead)}></span>`}
        <span class="spent" style=${width(share)}></span>
      </div>
      ${forecast && html`<${Ahead} dollars=${dollars} spent=${spent} forecast=${forecast} />`}
    </li>
  `;
}

/** @param {{ dollars: string, spent: string, forecast: NonNullable<Budget["forecast"]> }} props */
function Ahead({ dollars, spent, forecast }) {
  const { usedUp } = forecast;
  const isOver = Number(spent) >= Number(dollars);
  const text = isOver
    ? "Nothing is left until the next period."
    : usedUp
    ? html`At this rate it is used up <b>${exactly(usedUp)}</b>.`
    : html`At this rate it comes to <b>${inDollars(forecast.dollars)}</b> by the end of the period.`;
  return html`<small class="quiet">${text}</small>`;
}
