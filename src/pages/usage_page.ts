/** The usage of keys. Each key sees its own. An operator sees all keys, or the one that `?key=` names. */
import type { RequestContext } from "../context/request_context.ts";
import { GatewayError, toGatewayError } from "../errors.ts";
import { describe } from "../state/budget/budget.ts";
import { formatDollars } from "../util/dollars.ts";

const DAYS = 30;

export async function usagePage({ gateway, caller, url }: RequestContext): Promise<Response> {
  const { observe: { usage }, guards: { budgets } } = gateway;
  if (!usage && !budgets) {
    throw new GatewayError("not_found", `Usage is not recorded: add "usage": {} to the configuration`);
  }
  if (caller.isStranger) throw new GatewayError("permission", "Usage is recorded for this gateway's keys");
  const days = daysIn(url?.searchParams.get("days") ?? undefined);
  const key = caller.operator ? url?.searchParams.get("key") ?? undefined : caller.name;
  const [rows, states] = await Promise.all([
    usage?.read(days, key) ?? [],
    budgets?.read(caller.operator ? undefined : caller),
  ]).catch((cause) => {
    const message = "The gateway cannot read the usage: try again later";
    throw new GatewayError("unavailable", message, { cause: toGatewayError(cause).cause, retryAfter: "1" });
  });
  const data = rows.map(({ pico, unpriced, estimated, ...row }) => ({
    ...row,
    // An unknown amount is left out instead of being reported as 0.
    ...(unpriced < row.requests && { dollars: formatDollars(pico) }),
    ...(estimated > 0 && { estimatedRequests: estimated }),
    ...(unpriced > 0 && { unpricedRequests: unpriced }),
  }));
  return Response.json({
    object: "usage",
    days: Math.min(days, usage?.retentionDays ?? days),
    data,
    ...(states && { budgets: states.map((state) => describe(state, gateway.clocks.now())) }),
  });
}

function daysIn(text: string | undefined): number {
  if (text === undefined) return DAYS;
  if (/^[1-9]\d{0,3}$/.test(text)) return Number(text);
  throw new GatewayError("invalid_request", `Cannot read "days=${text}": expected a number of days`, { param: "days" });
}
