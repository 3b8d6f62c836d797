import type { RequestContext } from "../context/request_context.ts";
import type { Stage } from "./inference.ts";

/**
 * Admits a request to a model: it takes one of the gateway's places for requests, and the tokens that it is sure to use
 * count against the limits of the caller's key. Throws `unavailable` or `rate_limit`. A refused request does not count.
 */
export const ADMISSION: Stage = {
  name: "admission",
  operations: ["generate", "relay", "complete", "decide", "embed", "rerank", "speak", "transcribe", "draw"],
  admit({ operation, context, estimate }) {
    const { gateway: { guards }, caller, requestLog } = context;
    requestLog.atEnd(guards.loadShedder.acquire(guards.limits, operation === "complete"));
    if (guards.budgets || caller.quota) return admitLimited(context, estimate);
    requestLog.estimate = estimate;
  },
};

/** Counts a request against the limits of its caller: the key's, and those of the budgets that pay for it. */
export async function admitLimited(
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
