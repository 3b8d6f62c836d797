/** The calls that follow a reply: polling a job, fetching a result. */
import type { ModelOperation } from "../canonical/operations.ts";
import type { Call } from "../contract/call.ts";
import type { UpstreamOperation } from "../contract/driver.ts";
import { GatewayError, isFailure, toGatewayError } from "../errors.ts";
import type { TransportResponse } from "../platform/transport.ts";
import { delay } from "../util/timeout.ts";
import type { Attempt } from "./attempt.ts";
import { open } from "./call.ts";
import { type MeasuredReply, parserFor, readReply, send } from "./send.ts";
import type { Watch } from "./deadlines.ts";

/** The most URLs that are followed to a result. One or two are usual. */
const MOST_RESULTS = 3;

type Read = (response: TransportResponse) => Promise<MeasuredReply>;

/** Makes one call of a batch and the calls that follow its reply. */
export async function follow<K extends ModelOperation>(
  first: Call,
  attempt: Attempt<K>,
  way: UpstreamOperation<K>,
  watch: Watch,
  read: Read = (response) => {
    const { answerBytes, json } = attempt.upstream;
    return readReply(response, answerBytes, json, parserFor(attempt.operation));
  },
): Promise<MeasuredReply> {
  let reply = await exchange(first, attempt, watch.signal, read);
  let results = 0;
  for (let step = 0;; step++) {
    // A failed job counts as any other failure: the next target is tried.
    const call = reply.stream ? undefined : way.next?.(reply, attempt.input, step);
    if (!call) return reply;
    if (call.url !== undefined && ++results > MOST_RESULTS) {
      throw afterWork(new GatewayError("upstream_error", "The chain of results does not end"));
    }
    try {
      reply = await exchangeAgain(call, attempt, watch.signal, read);
    } catch (thrown) {
      const end = way.cancel?.(reply);
      if (end) abandon(end, attempt);
      throw afterWork(thrown);
    }
  }
}

function exchange<K extends ModelOperation>(
  call: Call,
  attempt: Attempt<K>,
  signal: AbortSignal,
  read: Read,
): Promise<MeasuredReply> {
  const response = call.afterMs
    ? delay(call.afterMs, signal).then(() => open(call, attempt, signal))
    : open(call, attempt, signal);
  return response.then(read);
}

/** Delays before further attempts, in milliseconds. */
const PAUSES_MS = [500, 2_000];

/** Fetching a result again costs nothing, so a transient failure is retried. */
async function exchangeAgain<K extends ModelOperation>(
  call: Call,
  attempt: Attempt<K>,
  signal: AbortSignal,
  read: Read,
): Promise<MeasuredReply> {
  for (const pauseMs of PAUSES_MS) {
    try {
      return await exchange(call, attempt, signal, read);
    } catch (thrown) {
      signal.throwIfAborted();
      if (!isFailure(thrown) || toGatewayError(thrown).details.retryable === false) throw thrown;
      await delay(pauseMs, signal);
    }
  }
  return await exchange(call, attempt, signal, read);
}

/**
 * The error for a failure after the upstream began to work, which it may charge for. It is not retried at another
 * target.
 */
function afterWork(thrown: unknown): GatewayError {
  const { code, message, details } = toGatewayError(thrown);
  return code === "upstream_timeout" || code === "client_closed"
    ? new GatewayError(code, message, { ...details, workBegun: true })
    : new GatewayError("upstream_error", `Cannot fetch the upstream's result: ${message}`, {
      ...details,
      workBegun: true,
    });
}

/** Why a call failed: the reason it was aborted, if it was. */
export function reasonOf(thrown: unknown, { signal }: Watch): unknown {
  if (!signal.aborted) return thrown;
  return toGatewayError(thrown).details.workBegun ? afterWork(signal.reason) : signal.reason;
}

const FAREWELL_MS = 5_000;

/** Cancels a job whose result is no longer needed, in the background. */
function abandon<K extends ModelOperation>(call: Call, { upstream }: Attempt<K>): void {
  send(call, upstream, AbortSignal.timeout(FAREWELL_MS))
    .then((response) => response.body?.cancel())
    .catch(() => {}); // the request has its error already
}
