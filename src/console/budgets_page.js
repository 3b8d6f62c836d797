// @ts-check
/// <reference lib="dom" />
/** The budgets of keys, teams and the gateway, in the order in which they run out. */
import { html, screen, signal } from "./ui.js";
import { inOrder, OneBudget } from "./budgets.js";
import { ButtonLink, Card, EmptyState, Page } from "./design/parts.js";
import { ask, NotThere } from "./dom.js";

const EVERY_MS = 10_000;

/** @typedef {import("./budgets.js").Budget} Budget */

const budgets = signal(/** @type {readonly Budget[] | undefined} */ (undefined));

export const budgetsPage = screen({
  title: "Budgets",
  everyMs: EVERY_MS,
  open() {
    budgets.value = undefined;
    return { view: html`<${BudgetsPage} />`, refresh };
  },
});

async function refresh() {
  // A gateway without usage and without budgets has no such answer.
  const found = await ask("usage?days=1").catch((error) => {
    if (error instanceof NotThere) return {};
    throw error;
  });
  budgets.value = found.budgets ?? [];
}

const ABOUT = "What keys, teams and the whole gateway may spend, and when it runs out.";

function BudgetsPage() {
  const { value } = budgets;
  const ordered = inOrder(value ?? []);
  const groups = /** @type {const} */ ([
    ["Running out", "used up, or soon at the rate of this period", ordered.filter(({ isShort }) => isShort)],
    ["Enough left", "", ordered.filter(({ isShort }) => !isShort)],
  ]);
  const actions = html`
    <${ButtonLink} kind="primary" icon="plus" href="#keys">Give a key a budget<//>
    <${ButtonLink} href="#configuration?budget">Budget of the gateway<//>
  `;
  return html`
    <${Page} title="Budgets" about=${ABOUT} actions=${ordered.length > 0 && actions}>
      ${value?.length === 0 && html`
        <${Card}>
          <${EmptyState} icon="wallet" title="No budget yet" action=${actions}>
            A budget ends what a key, a team or the whole gateway may spend in a day, a week or a month. Each will be a bar
            here, with what is left and when it runs out.
          <//>
          <//>
      `}
      ${groups.map(([title, about, own]) =>
        own.length > 0 && html`
          <${Card} key=${title} title=${title} about=${about}>
            <ul class="budgets" aria-label=${title}>
              ${own.map(({ budget }) =>
                html`<${OneBudget} key=${budget.budget} ...${budget} href=${placeOf(budget)} />`
              )}
            </ul>
            <//>
        `
      )}
    <//>
  `;
}

/** The page on which a budget can be changed. @param {Budget} budget */
function placeOf({ budget }) {
  const [, kind, name] = /^(key|team):(.*)$/s.exec(budget) ?? [];
  if (name === undefined) return "#configuration?budget";
  return kind === "key"
    ? `#keys?${encodeURIComponent(name)}`
    : `#configuration?${encodeURIComponent(JSON.stringify(["teams", name]))}`;
}
