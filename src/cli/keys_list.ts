/** The list of keys that the command `keys` prints. */
import { allBudgets } from "../compose/budgets.ts";
import type { Config } from "../config/schema.ts";
import type { Budget, BudgetView } from "../state/budget/budget.ts";
import type { StoredKey } from "../state/keyring.ts";
import { table } from "../programs/table.ts";
import type { Store } from "../state/store.ts";

/** The budgets of teams, and a function that reads what is left of budgets. */
export interface Spending {
  teams?: Config["teams"];
  read(budgets: readonly Budget[]): Promise<BudgetView[]>;
}

/** Describes in words what is left of the budgets of these keys and their teams. */
export async function leftOf(
  keys: readonly StoredKey[],
  { teams = {}, read }: Spending,
): Promise<(name: string) => string> {
  const own = Object.entries(teams).filter(([team]) => keys.some((key) => key.team === team));
  const states = await read(allBudgets({ teams: Object.fromEntries(own), keys: [] }, keys));
  const known = new Map(states.map((state) => [state.budget, state]));
  return (name) => {
    const { dollars, left, period } = known.get(name) ?? {};
    return left === undefined ? "" : `${left} of ${dollars} dollars left (${period})`;
  };
}

const QUOTA_WORDS: Readonly<Record<string, string>> = {
  requestsPerMinute: "requests a minute",
  tokensPerMinute: "tokens a minute",
  tokensPerDay: "tokens a day",
  concurrentRequests: "requests at once",
};

export function format(keys: readonly StoredKey[], leftOf: (budget: string) => string): string {
  const rows = keys.map(({ name, created, expires, lanes, models, operator, team, quota = {} }) => [
    name,
    `since ${created.slice(0, 10)}`,
    expires === undefined ? "" : `until ${expires.replace("T00:00:00.000Z", "")}`,
    lanes ? `lanes ${lanes.join(", ")}` : "",
    models ? `models ${models.join(", ")}` : "",
    operator ? "operator" : "",
    ...Object.entries(quota).map(([limit, value]) => `${value} ${QUOTA_WORDS[limit] ?? limit}`),
    leftOf(`key:${name}`),
    team === undefined ? "" : [`team ${team}`, leftOf(`team:${team}`)].filter((fact) => fact !== "").join(": "),
  ]);
  return table(rows.map(([name, ...facts]) => [name!, facts.filter((fact) => fact !== "").join("; ")])).join("\n");
}

/** A key without its secret and the digest. */
export function asJson(key: StoredKey, leftOf: (budget: string) => string) {
  const { name, created, expires, lanes, models, operator, quota, budget, team } = key;
  const [left, teamLeft] = [leftOf(`key:${name}`), leftOf(`team:${team}`)];
  const facts = { name, created, expires, lanes, models, operator, quota, budget, team };
  return { ...facts, ...(left !== "" && { left }), ...(teamLeft !== "" && { teamLeft }) };
}

const PATIENCE_MS = 10_000;

/** Reads budgets without spending from them. */
export function readerOf(store: Store): Spending["read"] {
  return async (wanted) => {
    const [{ createBudgets }, { describe }] = await Promise.all([
      import("../state/budget/budgets.ts"),
      import("../state/budget/budget.ts"),
    ]);
    const clocks = { now: Date.now, monotonic: () => performance.now() };
    const budgets = createBudgets({ ...clocks, store, newId: () => "", patienceMs: PATIENCE_MS, onWarn: () => {} });
    return (await budgets.read(wanted)).map((state) => describe(state));
  };
}
