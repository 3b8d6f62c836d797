/** The budgets of the configuration and of stored keys. The code that counts them is loaded when one is first spent from. */
import type { Config, KeyFacts } from "../config/schema.ts";
import type { BudgetBook, Payer } from "../context/guards.ts";
import type { Caller } from "../http/auth.ts";
import type { Budget } from "../state/budget/budget.ts";
import type { Budgets } from "../state/budget/budgets.ts";
import { createKeyring } from "../state/keyring.ts";
import { formatDollars, picoDollars } from "../util/dollars.ts";
import type { World } from "./world.ts";

/** The most stored keys whose budgets a page for operators lists. */
const MOST_SHOWN = 1_000;

type BudgetConfig = NonNullable<KeyFacts["budget"]>;
type Holder = Pick<Caller, "name" | "budget" | "team">;

/** `undefined` if there is no budget, and no key can have one. */
export function createBudgetBook(world: World): BudgetBook | undefined {
  const { config, keep, store, clocks: { now } } = world;
  const has = config.budget ?? config.teams ?? config.keys.find(({ budget }) => budget) ??
    config.oidc?.groups.find(({ budget }) => budget) ?? config.storedKeys;
  if (!has) return undefined;
  const held = keep("budgets", null, (): { loading?: Promise<LoadedBudgets>; budgets?: LoadedBudgets } => ({}));
  const load = () => held.loading ??= loadBudgets(world).then((budgets) => held.budgets = budgets);
  return {
    async payerOf(caller) {
      const { budgets, refusesUnpriced } = budgetsOf(caller, config);
      if (budgets.length === 0) return undefined;
      const { reserve, reservingFor } = held.budgets ?? await load();
      return { refusesUnpriced, reservingFor, reserve: (wanted) => reserve(budgets, wanted) };
    },
    known: (caller) => held.budgets?.known(caller && shownTo(caller, config)) ?? [],
    async read(caller) {
      const stored = caller || !config.storedKeys ? [] : await createKeyring(store, now).list({ limit: MOST_SHOWN });
      return await (await load()).read(caller ? shownTo(caller, config) : allBudgets(config, stored));
    },
    async close() {
      await (await held.loading)?.close();
    },
  };
}

/** All budgets that pay for a caller's requests. */
function budgetsOf(caller: Holder, config: Config): { budgets: Budget[]; refusesUnpriced: boolean } {
  const budgets = ownBudgets(caller, config);
  if (config.budget) budgets.push(budgetFrom("gateway", config.budget));
  const all = [caller.budget, teamOf(caller, config)?.budget, config.budget];
  return { budgets, refusesUnpriced: all.some((one) => one && one.unpriced !== "allow") };
}

/** The budgets that the caller may see. Only operators see the one for all callers together. */
function shownTo(caller: Caller, config: Config): Budget[] {
  return caller.operator ? budgetsOf(caller, config).budgets : ownBudgets(caller, config);
}

/** The budgets of the caller's key and team, without the one for all callers. */
function ownBudgets(caller: Holder, config: Config): Budget[] {
  const team = teamOf(caller, config)?.budget;
  return [
    ...caller.budget ? [budgetFrom(`key:${caller.name}`, caller.budget)] : [],
    ...team ? [budgetFrom(`team:${caller.team}`, team)] : [],
  ];
}

function teamOf({ team }: Holder, { teams }: Config) {
  return team !== undefined && teams && Object.hasOwn(teams, team) ? teams[team] : undefined;
}

export function allBudgets(
  { budget, teams = {}, keys }: Pick<Config, "budget" | "teams"> & { keys: readonly KeyFacts[] },
  stored: readonly KeyFacts[],
): Budget[] {
  const named = [
    ["gateway", budget] as const,
    ...Object.entries(teams).map(([team, { budget }]) => [`team:${team}`, budget] as const),
    ...[...keys, ...stored].map(({ name, budget }) => [`key:${name}`, budget] as const),
  ];
  return named.flatMap(([name, one]) => one ? [budgetFrom(name, one)] : []);
}

/**
 * The limits in pico-dollars, cached as long as their configuration is in use. Callers of one group share a
 * configuration.
 */
const terms = new WeakMap<BudgetConfig, Omit<Budget, "name">>();

function budgetFrom(name: string, config: BudgetConfig): Budget {
  let found = terms.get(config);
  if (!found) {
    const limit = picoDollars(config.dollars) ?? 0n;
    const warnAt = config.warnAt === undefined
      ? undefined
      : limit * BigInt(Math.round(config.warnAt * 1e6)) / 1_000_000n;
    found = { limit, period: config.period, ...(warnAt !== undefined && { warnAt }) };
    terms.set(config, found);
  }
  return { name, ...found };
}

interface LoadedBudgets extends Budgets, Pick<Payer, "reservingFor"> {}

async function loadBudgets(
  { store, clocks: { now, monotonic }, pace, observe: { meter, warn } }: World,
): Promise<LoadedBudgets> {
  const [{ createBudgets }, { reservingFor }] = await Promise.all([
    import("../state/budget/budgets.ts"),
    import("../inference/reserving.ts"),
  ]);
  const budgets = createBudgets({
    store,
    now,
    monotonic,
    newId: () => crypto.randomUUID(),
    patienceMs: pace.storeMs,
    gatherMs: pace.gatherMs,
    onRefuse: ({ name }) => meter?.count({ type: "budget", budget: name, what: "refused" }),
    onWarn(budget, { id, endsAt }, spent) {
      meter?.count({ type: "budget", budget: budget.name, what: "warned" });
      warn({
        time: new Date(now()).toISOString(),
        warning: "budget",
        budget: budget.name,
        period: id,
        spent: formatDollars(spent),
        dollars: formatDollars(budget.limit),
        ...(endsAt !== undefined && { resets: new Date(endsAt).toISOString() }),
      });
    },
  });
  return { ...budgets, reservingFor };
}
