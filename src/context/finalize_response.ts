/** Finishes every answer with headers and a log line. */
import type { Allowance, DollarGauge } from "../contract/allowance.ts";
import { formatCost } from "../observe/cost.ts";
import { formatNotes } from "../http/notes.ts";
import { withoutBody } from "../http/respond.ts";
import type { BudgetState } from "../state/budget/budget.ts";
import { formatDollars } from "../util/dollars.ts";
import type { RequestLog } from "./request_log.ts";
import type { RequestContext } from "./request_context.ts";

/** Adds the headers that every answer has, and closes the log entry unless the answer is a stream. */
export function finish(response: Response, context: RequestContext): Response {
  const { gateway, request, id, requestLog, protocol } = context;
  const { headers, ok, status } = response;
  // This response belongs to the platform and cannot be modified.
  if (status === 101) return response;
  // Each SDK reads one of these names.
  headers.set("x-request-id", id);
  headers.set("request-id", id);
  // A browser must treat a message that quotes a request as plain text.
  headers.set("x-content-type-options", "nosniff");
  const notes = requestLog.notes();
  if (notes.length > 0) headers.set("x-laneway-notes", formatNotes(notes));
  const target = ok ? servingTarget(requestLog) : failedAttempts(requestLog);
  if (target !== undefined) headers.set("x-laneway-target", formatNotes([target]));
  if (ok) describeAnswer(headers, requestLog);
  const allowance = allowanceOf(context);
  const left = allowance && protocol.serializeAllowance?.(allowance, gateway.clocks.now());
  if (left) { for (const [name, value] of Object.entries(left)) headers.set(name, value); }
  const isStream = requestLog.entry.stream && ok;
  if (!isStream) requestLog.close(status);
  return request.method === "HEAD" ? withoutBody(response) : response;
}

/** The requests, tokens and dollars that the caller may still use. */
function allowanceOf(
  { gateway: { guards: { admission, budgets }, clocks: { now } }, caller }: RequestContext,
): Allowance | undefined {
  const quota = admission(caller)?.allowance();
  const dollars = budgets && dollarsLeft(budgets.known(caller), now());
  return dollars ? { ...quota, dollars } : quota;
}

/** The budget with the least remaining, because it is exhausted first. */
function dollarsLeft(states: readonly BudgetState[], now: number): DollarGauge | undefined {
  const left = states.map(({ budget: { limit }, spent, period: { endsAt } }) => ({
    limit,
    remaining: limit > spent ? limit - spent : 0n,
    ...(endsAt !== undefined && { resetMs: Math.max(0, endsAt - now) }),
  }));
  const [least] = left.toSorted((one, other) => one.remaining < other.remaining ? -1 : 1);
  return least && { ...least, limit: formatDollars(least.limit), remaining: formatDollars(least.remaining) };
}

/** How the tokens were counted and what the answer cost. The cost of a stream is known only at its end, after the headers. */
function describeAnswer(headers: Headers, { countedBy, cost, entry: { stream } }: RequestLog): void {
  if (countedBy) headers.set("x-laneway-tokens", countedBy);
  if (cost && !stream) headers.set("x-laneway-cost", formatCost(cost));
}

/** The target, the provider that it chose, and the number of attempts if there were several. */
function servingTarget({ isAnswered, attempt, asked }: RequestLog): string | undefined {
  if (!isAnswered || !attempt) return undefined;
  const { target, provider } = attempt;
  const more = [provider && `provider=${provider}`, asked > 1 && `attempts=${asked}`].filter(Boolean);
  return [target, ...more].join("; ");
}

/** Says that no target served the request, and how many were tried, if any. */
function failedAttempts({ asked }: RequestLog): string | undefined {
  return asked > 0 ? `none; attempts=${asked}` : undefined;
}
