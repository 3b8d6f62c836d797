/** One operation at one upstream: the whole answer, or step by step. */
import { COLLECT } from "../canonical/collect.ts";
import { isJsonObject } from "../canonical/json.ts";
import { excessInArguments } from "../canonical/json_limits.ts";
import type { ModelOperation, Output, StreamEvent } from "../canonical/operations.ts";
import { REPLAY } from "../canonical/replay.ts";
import { finish, paced, step } from "../util/work.ts";
import type { Reply } from "../contract/call.ts";
import type { UpstreamOperation } from "../contract/driver.ts";
import type { GatewayError } from "../errors.ts";
import { type Ask, cannotStream, describe, local, open, wayOf } from "./call.ts";
import { follow, reasonOf } from "./poll.ts";
import { checkText, withinText } from "./answer_text.ts";
import { type Pulse, readFrames } from "./frames.ts";
import { brokenOff, parserFor, readReply, tooMuchJson } from "./send.ts";
import { eventsOf } from "./stages.ts";
import { Watch } from "./deadlines.ts";

/** The whole answer. */
export async function answer<K extends ModelOperation>(ask: Ask<K>): Promise<Output<K>> {
  const { upstream } = ask;
  const way = wayOf(ask);
  if ("local" in way) return local(way, ask);
  const calls = await step(() => describe(ask, way));
  const { timeouts } = upstream;
  const watch = new Watch(ask.signal, timeouts.wholeMs);
  try {
    const replies = await sideBySide(calls, (call) => follow(call, ask, way, watch));
    const collected = collectReply(replies, ask, way);
    return collected ? await collected : await respond(replies, ask, way);
  } catch (thrown) {
    const reason = reasonOf(thrown, watch);
    // Of a batch the other calls are of no use any more.
    watch.cancel();
    throw reason;
  } finally {
    watch.stop();
  }
}

/** The answer that the replies tell. */
async function respond<K extends ModelOperation>(
  replies: Reply[],
  { operation, input, target, context, upstream: { json, answerText } }: Ask<K>,
  way: UpstreamOperation<K>,
): Promise<Output<K>> {
  // Before any of them is read.
  const calls = operation === "generate" ? replies.flatMap(({ body }) => argumentsIn(body)) : [];
  const excess = await finish(excessInArguments(calls, json));
  if (excess) throw tooMuchJson("answer has calls whose arguments' JSON", excess, json);
  const output =
    await (way.longResponse
      ? finish(way.longResponse(replies, input, target, context))
      : step(() => way.response(replies, input, target, context)));
  if (operation === "generate") checkText((output as Output<"generate">).content, answerText);
  return output;
}

/** The arguments of all calls in an answer: on every wire that has them as a text, this is the field's name. */
function argumentsIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(argumentsIn);
  if (!isJsonObject(value) || value instanceof Uint8Array) return [];
  return Object.entries(value).flatMap(([name, inner]) =>
    name === "arguments" && typeof inner === "string" ? [inner] : argumentsIn(inner)
  );
}

/** How many calls of one batch run at once: enough to hide their waiting, few enough for servers that queue. */
const MOST_CALLS = 8;

/** What `work` gives for each item, in their order. */
async function sideBySide<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  const queue = items.entries();
  const worker = async () => {
    for (const [index, item] of queue) results[index] = await work(item);
  };
  await Promise.all(items.slice(0, MOST_CALLS).map(worker));
  return results;
}

/** Some servers stream although a whole answer was asked for: the answer that the stream tells. */
function collectReply<K extends ModelOperation>(
  [reply]: readonly Reply[],
  { operation, input, target, upstream, context }: Ask<K>,
  way: UpstreamOperation<K>,
): Promise<Output<K>> | undefined {
  const collect = COLLECT[operation];
  const isStream = /event-stream/.test(reply?.headers.get("content-type") ?? "");
  if (!collect || !way.stream || !isStream || typeof reply?.body !== "string") return undefined;
  const frames = readFrames(new Blob([reply.body]).stream(), undefined, upstream);
  return collect(eventsOf(frames, withinText(way.stream.reader(input, target, context), upstream.answerText)));
}

/** The answer step by step. Throws where the upstream fails; leaving it early ends the call. */
export async function* stream<K extends ModelOperation>(ask: Ask<K>): AsyncGenerator<StreamEvent<K>> {
  const { operation, input, target, upstream, context } = ask;
  const way = wayOf(ask);
  const replay = REPLAY[operation];
  if ("local" in way) {
    if (!replay) throw cannotStream(ask);
    yield* paced(replay(local(way, ask)));
    return;
  }
  if (!way.stream) {
    if (!replay) throw cannotStream(ask);
    yield* paced(replay(await answer(ask)));
    return;
  }
  const [call] = await step(() => describe(ask, way));
  if (!call) throw cannotStream(ask);
  const { timeouts } = upstream;
  const watch = new Watch(ask.signal, timeouts.totalMs);
  let failure: GatewayError | undefined;
  try {
    watch.begin(timeouts.headMs, "begin to answer");
    const response = await open(call, ask, watch.signal);
    watch.begin(timeouts.firstEventMs, "send a first event");
    if (response.body && isEventStream(response, operation)) {
      const pulse = pulseOf(watch, timeouts.idleMs, (thrown) => {
        // Some streams of transcripts have no end but that of the body, which a break is not.
        if (operation === "transcribe") throw thrown;
        failure = thrown;
      });
      const reader = withinText(way.stream.reader(input, target, context), upstream.answerText);
      yield* eventsOf(readFrames(response.body, pulse, upstream), reader);
    } else {
      // Some servers answer whole although a stream was asked for.
      if (!replay) throw cannotStream(ask);
      const reply = await readReply(response, upstream.answerBytes, upstream.json, parserFor(operation));
      yield* paced(replay(await respond([reply], ask, way)));
    }
  } catch (thrown) {
    watch.signal.throwIfAborted();
    // An answer that had its ending when the connection broke is whole; one that had not fails for the break.
    throw failure ?? thrown;
  } finally {
    watch.stop();
  }
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

/** Some servers and proxies call a stream plain text or bytes; a transcript can be plain text indeed. */
function isEventStream({ headers }: Response, operation: ModelOperation): boolean {
  const type = headers.get("content-type") ?? "";
  return operation === "transcribe" ? /event-stream/.test(type) : !/json|html/.test(type);
}
