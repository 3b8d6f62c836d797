/** A budget, its view for operators and keys, and the errors that it causes. */
import { GatewayError } from "../../errors.ts";
import { formatDollars } from "../../util/dollars.ts";
import type { Period, PeriodKind } from "./period.ts";
import type { Wanted } from "./wanted.ts";

export interface Budget {
  /** The owner: `key:anna`, `team:research`, or `gateway`. */
  name: string;
  /** In pico-dollars. */
  limit: bigint;
  period: PeriodKind;
  /** A warning is due once this much is spent, in pico-dollars. */
  warnAt?: bigint;
}

/** A budget in its present period, as far as this process knows. */
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
  /** Absent if the budget never resets. */
  resets?: string;
  /** Absent if the period has only begun, or never ends. */
  forecast?: Forecast;
}

/** The amount that is spent in all if the rest of its period is like the time until now. */
export interface Forecast {
  /** Decimal text. */
  dollars: string;
  /** When nothing is left, by ISO 8601. Absent if that is not within the period. */
  usedUp?: string;
}

/** The part of a period that has to be over before anything can be forecast. */
const LEAST_SHARE = 0.02;

/** `undefined` if there is no saying. */
export function forecast({ budget, period, spent }: BudgetState, now: number): Forecast | undefined {
  const { id, endsAt } = period;
  if (endsAt === undefined) return undefined;
  const beganAt = Date.parse(id.slice(budget.period.length + 1));
  const [elapsed, length] = [now - beganAt, endsAt - beganAt];
  if (!(elapsed >= length * LEAST_SHARE && elapsed <= length)) return undefined;
  const whole = spent * BigInt(Math.round(length)) / BigInt(Math.round(elapsed));
  const usedUp = spent === 0n ? Infinity : beganAt + elapsed * (Number(budget.limit) / Number(spent));
  return {
    dollars: formatDollars(whole),
    ...(usedUp < endsAt && { usedUp: new Date(Math.max(usedUp, beganAt)).toISOString() }),
  };
}

/** `now`: milliseconds since the epoch, if a forecast is wanted. */
export function describe(state: BudgetState, now?: number): BudgetView {
  const forecasted = now === undefined ? undefined : forecast(state, now);
  const { budget: { name, limit }, period: { id, endsAt }, spent } = state;
  return {
    budget: name,
    period: id,
    dollars: formatDollars(limit),
    spent: formatDollars(spent),
    left: formatDollars(leftOf(state)),
    ...(endsAt !== undefined && { resets: new Date(endsAt).toISOString() }),
    ...(forecasted && { forecast: forecasted }),
  };
}

const EACH: Record<PeriodKind, string> = { day: " a day", week: " a week", month: " a month", total: " in all" };

/** The error if a request may cost more than is left. `left`: neither spent nor reserved for running requests. */
export function exceeded(budget: Budget, { endsAt }: Period, wanted: Wanted, left: bigint, now: number): GatewayError {
  const resets = endsAt === undefined ? "It does not reset" : `It resets at ${new Date(endsAt).toISOString()}`;
  return new GatewayError("budget_exceeded", `${reasonOf(budget, wanted, left)}. ${resets}`, {
    retryable: false,
    tryNextTarget: true,
    ...(endsAt !== undefined && { retryAfter: String(Math.max(1, Math.ceil((endsAt - now) / 1000))) }),
  });
}

/** The gateway's own budget is named without its amounts: they are not for callers. */
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
