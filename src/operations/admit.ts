import type { RequestContext } from "../context/request_context.ts";

/**
 * Lets a request run a model, which all requests that do may take too much of: the gateway's room, and what the caller's key
 * may use. `tokens`: what it is sure to use. Throws `unavailable` or `rate_limit`; what is refused has used nothing.
 */
export async function admit({ gateway, caller, recorder, hasLeft }: RequestContext, tokens: number): Promise<void> {
  recorder.atEnd(gateway.load.acquire(gateway.limits));
  const account = gateway.admission(caller);
  // Without the store a key is judged by what is known here: the log says why.
  const failure = await account?.ready?.();
  if (failure !== undefined) recorder.explain(failure);
  const permit = account?.admit(tokens);
  recorder.estimate = tokens;
  recorder.isMetered = permit !== undefined;
  if (!permit) return;
  recorder.atEnd(() => {
    permit.charge(recorder.charge(hasLeft()) - tokens);
    permit.release();
  });
}
