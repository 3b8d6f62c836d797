import type { RequestContext } from "../context/request_context.ts";

/**
 * Lets a request run a model, which all requests that do may take too much of: the gateway's room, and what the caller's key
 * may use. `tokens`: what it is sure to use. Throws `unavailable` or `rate_limit`; what is refused has used nothing.
 */
export function admit(context: RequestContext, tokens: number): Promise<void> | undefined {
  const { gateway, caller, recorder } = context;
  recorder.atEnd(gateway.load.acquire(gateway.limits));
  if (gateway.budgets || gateway.admission(caller)) return admitLimited(context, tokens);
  recorder.estimate = tokens;
}

async function admitLimited(
  { gateway, caller, recorder, hasLeft }: RequestContext,
  tokens: number,
): Promise<void> {
  if (gateway.budgets) recorder.payer = await gateway.budgets.payerOf(caller);
  // Who counts elsewhere may fail: then a key is judged by what is known here, and the log says why.
  const asking = gateway.admission(caller)?.admit(tokens, (failure) => recorder.explain(failure));
  const permit = asking instanceof Promise ? await recorder.waitForStore(asking) : asking;
  recorder.estimate = tokens;
  recorder.isMetered = permit !== undefined;
  if (permit) recorder.atEnd(() => permit.settle(recorder.charge(hasLeft()) - tokens));
}
