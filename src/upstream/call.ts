/** Makes a call. What its upstream refuses in part is asked again without that part. */
import type { ModelOperation } from "../canonical/operations.ts";
import type { Call } from "../contract/call.ts";
import type { TransportResponse } from "../platform/transport.ts";
import { askAgain } from "./ask_again.ts";
import type { Attempt } from "./attempt.ts";
import { settleTrial } from "./known_refusals.ts";
import { send } from "./send.ts";

/** The response to a call. Throws if it is an error. */
export function open<K extends ModelOperation>(
  call: Call,
  attempt: Attempt<K>,
  signal: AbortSignal,
): Promise<TransportResponse> {
  const settle = (response: TransportResponse): TransportResponse | Promise<TransportResponse> => {
    if (!response.ok) return askAgain(call, response, attempt, signal).then(settle);
    if (attempt.upstream.refusals.hasAny) settleTrial(call, attempt);
    const wait = attempt.onHead?.(response.headers);
    return wait ? wait.then(() => response) : response;
  };
  return send(call, attempt.upstream, signal, attempt.largeFor).then(settle);
}
