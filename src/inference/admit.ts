import type { RequestContext } from "../context/request_context.ts";

/**
 * Admits a request to a model: it takes one of the gateway's places for requests, and its tokens count against the
 * limits of the caller's key. `tokens`: those that the request is sure to use. Throws `unavailable` or `rate_limit`. A
 * refused request counts as no use.
 */
export function admit(context: RequestContext, tokens: number): Promise<void> | undefined {
  const { gateway: { guards }, caller, requestLog } = context;
  requestLog.atEnd(guards.loadShedder.acquire(guards.limits));
  if (guards.budgets || caller.quota) return admitLimited(context, tokens);
  requestLog.estimate = tokens;
}

async function admitLimited(
  { gateway: { guards }, caller, requestLog, hasLeft }: RequestContext,
  tokens: number,
): Promise<void> {
  if (guards.budgets) requestLog.payer = await guards.budgets.payerOf(caller);
  // A shared counter may fail. The key is then judged by this process's own counts, and the log says why.
  const asking = guards.admission(caller)?.admit(tokens, (failure) => requestLog.explain(failure));
  const permit = asking instanceof Promise ? await requestLog.waitForStore(asking) : asking;
  requestLog.estimate = tokens;
  requestLog.isMetered = permit !== undefined;
  if (permit) requestLog.atEnd(() => permit.settle(requestLog.charge(hasLeft()) - tokens));
}
