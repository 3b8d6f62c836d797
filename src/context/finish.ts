/** What every answer has, whatever it is about: its headers, and its line in the log. */
import type { Allowance, DollarGauge } from "../contract/allowance.ts";
import { formatCost } from "../observe/cost.ts";
import { formatNotes } from "../http/notes.ts";
import { withoutBody } from "../http/respond.ts";
import type { BudgetState } from "../state/budget/budget.ts";
import { formatDollars } from "../util/dollars.ts";
import type { Recorder } from "./recorder.ts";
import type { RequestContext } from "./request_context.ts";

/** Adds the headers of every answer, and closes the log entry of those that are whole. */
export function finish(response: Response, context: RequestContext): Response {
  const { gateway, request, id, recorder, protocol } = context;
  const { headers, ok, status } = response;
  // The platform's own, which nobody may change.
  if (status === 101) return response;
  // The name that each of the SDKs reads.
  headers.set("x-request-id", id);
  headers.set("request-id", id);
  // What a message quotes of a request is text, whatever a browser would make of it.
  headers.set("x-content-type-options", "nosniff");
  const notes = recorder.notes();
  if (notes.length > 0) headers.set("x-laneway-notes", formatNotes(notes));
  const target = ok ? servingTarget(recorder) : failedAttempts(recorder);
  if (target !== undefined) headers.set("x-laneway-target", formatNotes([target]));
  if (ok) describeAnswer(headers, recorder);
  const allowance = allowanceOf(context);
  const left = allowance && protocol.serializeAllowance?.(allowance, gateway.now());
  if (left) { for (const [name, value] of Object.entries(left)) headers.set(name, value); }
  const isStream = recorder.entry.stream && ok;
  if (!isStream) recorder.close(status);
  return request.method === "HEAD" ? withoutBody(response) : response;
}

/** What the caller may still do. */
function allowanceOf({ gateway: { admission, budgets, now }, caller }: RequestContext): Allowance | undefined {
  const quota = admission(caller)?.allowance();
  const dollars = budgets && dollarsLeft(budgets.known(caller), now());
  return dollars ? { ...quota, dollars } : quota;
}

/** Of several budgets the one that leaves the least: it is the one to go by. */
function dollarsLeft(states: readonly BudgetState[], now: number): DollarGauge | undefined {
  const left = states.map(({ budget: { limit }, spent, period: { endsAt } }) => ({
    limit,
    remaining: limit > spent ? limit - spent : 0n,
    ...(endsAt !== undefined && { resetMs: Math.max(0, endsAt - now) }),
  }));
  const [least] = left.toSorted((one, other) => one.remaining < other.remaining ? -1 : 1);
  return least && { ...least, limit: formatDollars(least.limit), remaining: formatDollars(least.remaining) };
}

/** Who counted its tokens, and what it cost: of a stream that is known at its end, and what came before it is a part of it. */
function describeAnswer(headers: Headers, { countedBy, cost, entry: { stream } }: Recorder): void {
  if (countedBy) headers.set("x-laneway-tokens", countedBy);
  if (cost && !stream) headers.set("x-laneway-cost", formatCost(cost));
}

/** The target, whom it chose to serve, and how many were asked where it was not the first. */
function servingTarget({ isAnswered, attempt, asked }: Recorder): string | undefined {
  if (!isAnswered || !attempt) return undefined;
  const { target, provider } = attempt;
  const more = [provider && `provider=${provider}`, asked > 1 && `attempts=${asked}`].filter(Boolean);
  return [target, ...more].join("; ");
}

/** That no target served, and how many were asked, where any was. */
function failedAttempts({ asked }: Recorder): string | undefined {
  return asked > 0 ? `none; attempts=${asked}` : undefined;
}
