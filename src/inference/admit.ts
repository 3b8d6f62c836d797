import type { RequestContext } from "../context/request_context.ts";

/**
 * Lets a request run a model, which all requests that do may take too much of: the gateway's room, and what the caller's key
 * may use. `tokens`: what it is sure to use. Throws `unavailable` or `rate_limit`; what is refused has used nothing.
 */
export function admit(context: RequestContext, tokens: number): Promise<void> | undefined {
  const { gateway, caller, requestLog } = context;
  requestLog.atEnd(gateway.loadShedder.acquire(gateway.limits));
  if (gateway.budgets || gateway.admission(caller)) return admitLimited(context, tokens);
  requestLog.estimate = tokens;
}

async function admitLimited(
  { gateway, caller, requestLog, hasLeft }: RequestContext,
  tokens: number,
): Promise<void> {
  if (gateway.budgets) requestLog.payer = await gateway.budgets.payerOf(caller);
  // Who counts elsewhere may fail: then a key is judged by what is known here, and the log says why.
  const asking = gateway.admission(caller)?.admit(tokens, (failure) => requestLog.explain(failure));
  const permit = asking instanceof Promise ? await requestLog.waitForStore(asking) : asking;
  requestLog.estimate = tokens;
  requestLog.isMetered = permit !== undefined;
  if (permit) requestLog.atEnd(() => permit.settle(requestLog.charge(hasLeft()) - tokens));
}
