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
  if (ok) describeAnswer(headers, requestLog);
  // No target served the request.
  else if (requestLog.asked > 0) headers.set("x-laneway-target", `none; attempts=${requestLog.asked}`);
  const isLimited = context.caller.quota !== undefined || gateway.guards.budgets !== undefined;
  const allowance = isLimited ? allowanceOf(context) : undefined;
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
  const quota = caller.quota && admission(caller)?.allowance();
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

/** A text that a header may hold as it is. */
const HEADER_TEXT = /^[\x20-\x7e]{1,512}$/;

/**
 * The target with the provider that it chose and the number of attempts, how the tokens were counted and what the answer cost. The
 * cost of a stream is known only at its end, after the headers.
 */
function describeAnswer(headers: Headers, requestLog: RequestLog): void {
  const { isAnswered, attempt, asked, countedBy, entry: { stream } } = requestLog;
  if (isAnswered && attempt) {
    let target = attempt.target;
    if (attempt.provider) target += `; provider=${attempt.provider}`;
    if (asked > 1) target += `; attempts=${asked}`;
    headers.set("x-laneway-target", HEADER_TEXT.test(target) ? target : formatNotes([target]));
  }
  if (countedBy) headers.set("x-laneway-tokens", countedBy);
  const cost = stream ? undefined : requestLog.cost;
  if (cost) headers.set("x-laneway-cost", formatCost(cost));
}
