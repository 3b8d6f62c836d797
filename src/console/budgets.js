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

/** The part of a budget from which on it looks short, and the one that is shown as 100 %: hardly a request fits in the rest. */
const [NEARLY, ALL] = [0.8, 0.995];
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
  const isUsedUp = share >= ALL;
  return { share, ahead, isUsedUp, tone: isUsedUp ? "bad" : share >= NEARLY || ahead >= 1 ? "warn" : "good" };
}

/** Those that are used up come first, then those that will be, by when; then the rest, by how much is spent. @param {readonly Budget[]} budgets */
export function inOrder(budgets) {
  const valued = budgets.map((budget) => {
    const { share, isUsedUp, tone } = stateOf(budget);
    const usedUp = Date.parse(budget.forecast?.usedUp ?? "") || Infinity;
    return { budget, share, isShort: tone !== "good", at: isUsedUp ? 0 : usedUp };
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
  const { share, ahead, isUsedUp, tone } = stateOf(own);
  const [, kind, name = "The gateway"] = /^(key|team):(.*)$/s.exec(budget) ?? [];
  const rest = Number(left) > 0 ? "Hardly anything is left" : "Nothing is left";
  const width = (/** @type {number} */ part) => ({ "--part": `${Math.min(1, part) * 100}%` });
  return html`
    <li>
      <span class="owner">
        ${kind && html`
          <span class="dim">${`${KINDS[kind]} `}</span>
        `}
        ${href ? html`<a href=${href}><b>${name}</b></a>` : html`<b>${name}</b>`}
      </span>
      <${Badge} tone=${tone}>${isUsedUp ? "used up" : `${inPercent(Number(spent), Number(dollars))} spent`}<//>
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
        ${forecast && !isUsedUp && html`<span class="ahead" style=${width(ahead)}></span>`}
        <span class="spent" style=${width(share)}></span>
      </div>
      ${isUsedUp
        ? html`<small class="quiet">${
          resets
            ? html`${rest} until the period ends <b>${exactly(resets)}</b>.`
            : html`${rest}, and it does not reset.`
        }</small>`
        : forecast && html`<${Ahead} period=${period} forecast=${forecast} />`}
    </li>
  `;
}

/** @param {{ period: string, forecast: NonNullable<Budget["forecast"]> }} props */
function Ahead({ period, forecast: { dollars, usedUp } }) {
  const text = usedUp
    ? html`At this rate it is used up about <b>${roughly(usedUp, period)}</b>.`
    : html`At this rate it comes to <b>${inDollars(dollars)}</b> by the end of the period.`;
  return html`<small class="quiet">${text}</small>`;
}

/** An estimate moves with each look at it, so it has no more digits than it is worth. @param {string} time @param {string} period */
function roughly(time, period) {
  const isDay = period.startsWith("day");
  return new Date(time).toLocaleString("en-GB", { dateStyle: "medium", ...isDay && { timeStyle: "short" } });
}
