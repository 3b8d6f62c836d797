/** A budget, and what is said of it. */
import { GatewayError } from "../../errors.ts";
import { formatDollars } from "../../util/dollars.ts";
import type { Period, PeriodKind } from "./period.ts";
import type { Wanted } from "./wanted.ts";

export interface Budget {
  /** Whose it is: `key:anna`, `team:research`, or `gateway`. */
  name: string;
  /** In pico-dollars. */
  limit: bigint;
  period: PeriodKind;
  /** From how much on somebody is to be warned. */
  warnAt?: bigint;
}

/** What there is of it in its present period, as far as is known here. */
export interface BudgetState {
  budget: Budget;
  period: Period;
  spent: bigint;
}

export function leftOf({ budget: { limit }, spent }: BudgetState): bigint {
  return limit > spent ? limit - spent : 0n;
}

/** A budget as operators and keys see it: dollars as decimal texts, times by ISO 8601. */
export interface BudgetView {
  budget: string;
  period: string;
  dollars: string;
  spent: string;
  left: string;
  /** Absent where it never does. */
  resets?: string;
}

export function describe(state: BudgetState): BudgetView {
  const { budget: { name, limit }, period: { id, endsAt }, spent } = state;
  return {
    budget: name,
    period: id,
    dollars: formatDollars(limit),
    spent: formatDollars(spent),
    left: formatDollars(leftOf(state)),
    ...(endsAt !== undefined && { resets: new Date(endsAt).toISOString() }),
  };
}

const EACH: Record<PeriodKind, string> = { day: " a day", week: " a week", month: " a month", total: " in all" };

/** A request may cost more than is left. `left`: what is neither spent nor set aside for what runs. */
export function exceeded(budget: Budget, { endsAt }: Period, wanted: Wanted, left: bigint, now: number): GatewayError {
  const resets = endsAt === undefined ? "It does not reset" : `It resets at ${new Date(endsAt).toISOString()}`;
  return new GatewayError("budget_exceeded", `${reasonOf(budget, wanted, left)}. ${resets}`, {
    retryable: false,
    tryNextTarget: true,
    ...(endsAt !== undefined && { retryAfter: String(Math.max(1, Math.ceil((endsAt - now) / 1000))) }),
  });
}

/** What all of the gateway spend is nobody's business. */
function reasonOf({ name, limit, period }: Budget, { least, why }: Wanted, left: bigint): string {
  const [kind, whose] = name.split(/:(.*)/s);
  const wanted = `may cost ${formatDollars(least)}${why === undefined ? "" : ` (${why})`}`;
  if (whose === undefined) return `The gateway's budget has no room for this request, which ${wanted}`;
  const sum = `${kind} "${whose}" may spend ${formatDollars(limit)} dollars${EACH[period]}`;
  return left <= 0n
    ? `The budget is used up: ${sum}`
    : `The budget has no room: ${sum}, of which ${formatDollars(left)} are free, and this ${wanted}`;
}

export function unknown(cause: unknown): GatewayError {
  return new GatewayError("unavailable", "The gateway cannot read its budgets: try again later", {
    cause,
    retryAfter: "1",
    notProcessed: true,
    own: true,
    tryNextTarget: true,
  });
}
