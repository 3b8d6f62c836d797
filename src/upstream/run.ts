/** One operation at one upstream: ask, go on where the driver says so, answer. */
import type { Input, ModelOperation, Output, StreamEvent } from "../canonical/operations.ts";
import { isJsonObject } from "../canonical/json.ts";
import { REPLAY } from "../canonical/replay.ts";
import type { Context } from "../contract/context.ts";
import type { Call, LocalOperation, Reply, Target, UpstreamOperation } from "../contract/driver.ts";
import { GatewayError } from "../errors.ts";
import { type Pulse, readFrames } from "./frames.ts";
import { brokenOff, type Fetch, readReply, send, type Upstream } from "./send.ts";
import { Watch } from "./watch.ts";

export interface Ask<K extends ModelOperation> {
  operation: K;
  input: Input<K>;
  target: Target;
  upstream: Upstream;
  context: Context;
  fetch: Fetch;
  /** Aborted when nobody waits for the answer any more. */
  signal: AbortSignal;
  /** Called when the upstream's calls are described and none is made yet: the last moment to refuse. */
  onDescribed(): void;
}

/** The whole answer. */
export async function answer<K extends ModelOperation>(ask: Ask<K>): Promise<Output<K>> {
  const { input, target, upstream, context } = ask;
  const way = wayOf(ask);
  if ("local" in way) {
    ask.onDescribed();
    return way.local(input, target);
  }
  const calls = describe(ask, way);
  const { timeouts } = upstream;
  const watch = new Watch(ask.signal, timeouts.wholeMs);
  try {
    const replies = await Promise.all(calls.map((call) => follow(call, ask, way, watch)));
    return way.response(replies, input, target, context);
  } catch (thrown) {
    watch.signal.throwIfAborted();
    // Of a batch the other calls are of no use any more.
    watch.cancel();
    throw thrown;
  } finally {
    watch.stop();
  }
}

/** The answer step by step. Throws where the upstream fails; leaving it early ends the call. */
export async function* stream<K extends ModelOperation>(ask: Ask<K>): AsyncGenerator<StreamEvent<K>> {
  const { operation, input, target, upstream, context } = ask;
  const way = wayOf(ask);
  const replay = REPLAY[operation];
  if ("local" in way) {
    if (!replay) throw cannotStream(ask);
    ask.onDescribed();
    yield* replay(way.local(input, target));
    return;
  }
  const [call] = describe(ask, way);
  if (!call || !way.events) throw cannotStream(ask);
  const { timeouts } = upstream;
  const watch = new Watch(ask.signal, timeouts.totalMs);
  let failure: GatewayError | undefined;
  try {
    watch.begin(timeouts.headMs, "begin to answer");
    const response = await send(call, upstream, ask.fetch, watch.signal);
    if (!response.ok) throw upstream.driver.parseError(await readReply(response));
    watch.begin(timeouts.firstEventMs, "send a first event");
    if (response.body && isEventStream(response)) {
      const pulse = pulseOf(watch, timeouts.idleMs, (thrown) => failure = thrown);
      yield* way.events(readFrames(response.body, pulse), input, target, context);
    } else {
      // Some servers answer whole although a stream was asked for.
      if (!replay) throw cannotStream(ask);
      yield* replay(way.response([await readReply(response)], input, target, context));
    }
  } catch (thrown) {
    watch.signal.throwIfAborted();
    // An answer that had its ending when the connection broke is whole; one that had not fails for the break.
    throw failure ?? thrown;
  } finally {
    watch.stop();
  }
}

function wayOf<K extends ModelOperation>({ operation, upstream }: Ask<K>): UpstreamOperation<K> | LocalOperation<K> {
  if (upstream.missingSecret !== undefined) {
    const message = `Upstream "${upstream.name}" has no secret: set the environment variable ${upstream.missingSecret}`;
    throw new GatewayError("unavailable", message, { retryable: false });
  }
  const way = upstream.driver.operations[operation];
  if (!way) throw new GatewayError("unsupported", `Upstream "${upstream.name}" does not serve "${operation}"`);
  return way;
}

function describe<K extends ModelOperation>(ask: Ask<K>, way: UpstreamOperation<K>): Call[] {
  const calls = [way.request(ask.input, ask.target, ask.context)].flat().map((call) => withoutRefused(call, ask));
  ask.onDescribed();
  return calls;
}

function withoutRefused<K extends ModelOperation>(call: Call, { upstream, context }: Ask<K>): Call {
  const { body } = call;
  if (!isJsonObject(body)) return call;
  const refused = upstream.refuses.filter((field) => body[field] !== undefined);
  if (refused.length === 0) return call;
  for (const field of refused) context.note(`dropped ${field}`);
  return { ...call, body: Object.fromEntries(Object.entries(body).filter(([field]) => !refused.includes(field))) };
}

/** One call of a batch, and those that follow from its reply: a job to poll, a result to fetch. */
async function follow<K extends ModelOperation>(
  first: Call,
  ask: Ask<K>,
  way: UpstreamOperation<K>,
  watch: Watch,
): Promise<Reply> {
  let call: Call | undefined = first;
  for (let step = 0;; step++) {
    await sleep(call.afterMs, watch.signal);
    const response = await send(call, ask.upstream, ask.fetch, watch.signal);
    const reply = await readReply(response);
    if (!response.ok) throw ask.upstream.driver.parseError(reply);
    call = way.next?.(reply, ask.input, step);
    if (!call) return reply;
  }
}

function sleep(ms: number | undefined, signal: AbortSignal): Promise<void> {
  if (!ms) return Promise.resolve();
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", stop);
      resolve();
    }, ms);
    signal.addEventListener("abort", stop, { once: true });
  });
}

/**
 * The first event ends one phase and begins the next; every further sign of life, comments too, keeps that going. While a
 * slow client keeps the gateway from reading, the upstream's clock stands.
 */
function pulseOf(watch: Watch, idleMs: number, onBroken: (failure: GatewayError) => void): Pulse {
  let begun = false;
  return {
    wait: () => begun ? watch.touch() : undefined,
    beat(event) {
      if (!begun && event) {
        begun = true;
        watch.begin(idleMs, "send another event");
      }
      if (begun) watch.rest();
    },
    broken: (cause) => onBroken(brokenOff(cause)),
  };
}

/** Some servers and proxies call a stream plain text or bytes. */
function isEventStream(response: Response): boolean {
  return !/json|html/.test(response.headers.get("content-type") ?? "");
}

function cannotStream({ operation, upstream }: Ask<ModelOperation>): GatewayError {
  return new GatewayError("unsupported", `Upstream "${upstream.name}" does not stream "${operation}"`);
}
