// @ts-check
/// <reference lib="dom" />
/** The rest of budgets, and the amounts that they come to if their periods go on like this. */
import { html } from "./ui.js";
import { Badge, Card } from "./design/parts.js";
import { exactly, inDollars, inPercent } from "./words.js";

/**
 * @typedef {{ budget: string, period: string, dollars: string, spent: string, left: string, resets?: string,
 *   forecast?: { dollars: string, usedUp?: string } }} Budget
 */

/** The part of a budget from which on it looks short. */
const NEARLY = 0.8;

/** @param {{ budgets: readonly Budget[] }} props */
export function Budgets({ budgets }) {
  if (budgets.length === 0) return undefined;
  return html`
    <${Card} title="Budgets" about="what is left in each period">
      <ul class="budgets">${budgets.map((budget) => html`<${OneBudget} key=${budget.budget} ...${budget} />`)}</ul>
      <//>
  `;
}

/** @param {Budget} props */
function OneBudget({ budget, period, dollars, spent, left, resets, forecast }) {
  const partOf = (/** @type {string} */ amount) => Number(amount) / (Number(dollars) || 1);
  const [share, ahead] = [partOf(spent), partOf(forecast?.dollars ?? spent)];
  const tone = share >= 1 ? "bad" : share >= NEARLY || ahead >= 1 ? "warn" : "good";
  const width = (/** @type {number} */ part) => ({ "--part": `${Math.min(1, part) * 100}%` });
  return html`
    <li>
      <b>${budget}</b> <${Badge} tone=${tone}>${inPercent(Number(spent), Number(dollars))} spent<//>
      <span class="quiet" title=${resets && `Resets ${exactly(resets)}`}>
        ${inDollars(left)} of ${inDollars(dollars)} left (${period})
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
