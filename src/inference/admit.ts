import type { RequestContext } from "../context/request_context.ts";

/**
 * Lets a request run a model, which all requests that do may take too much of: the gateway's room, and what the caller's key
 * may use. `tokens`: what it is sure to use. Throws `unavailable` or `rate_limit`; what is refused has used nothing.
 */
export function admit(context: RequestContext, tokens: number): Promise<void> | undefined {
  const { gateway: { guards }, caller, requestLog } = context;
  requestLog.atEnd(guards.loadShedder.acquire(guards.limits));
  if (guards.budgets || guards.admission(caller)) return admitLimited(context, tokens);
  requestLog.estimate = tokens;
}

async function admitLimited(
  { gateway: { guards }, caller, requestLog, hasLeft }: RequestContext,
  tokens: number,
): Promise<void> {
  if (guards.budgets) requestLog.payer = await guards.budgets.payerOf(caller);
  // Who counts elsewhere may fail: then a key is judged by what is known here, and the log says why.
  const asking = guards.admission(caller)?.admit(tokens, (failure) => requestLog.explain(failure));
  const permit = asking instanceof Promise ? await requestLog.waitForStore(asking) : asking;
  requestLog.estimate = tokens;
  requestLog.isMetered = permit !== undefined;
  if (permit) requestLog.atEnd(() => permit.settle(requestLog.charge(hasLeft()) - tokens));
}
