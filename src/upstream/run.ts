/** One operation at one upstream: the whole answer. */
import { COLLECT } from "../canonical/collect.ts";
import { isJsonObject } from "../canonical/json.ts";
import { excessInArguments } from "../canonical/json_limits.ts";
import type { ModelOperation, Output, StreamEvent } from "../canonical/operations.ts";
import { runSliced, runStep } from "../util/sliced_work.ts";
import type { Reply } from "../contract/call.ts";
import type { UpstreamOperation } from "../contract/driver.ts";
import { checkText, LimitedEvents } from "./answer_text.ts";
import { type AnswerBill, type Attempt, local, wayOf } from "./attempt.ts";
import { describe } from "./call.ts";
import { Watch } from "./deadlines.ts";
import { framesIn } from "./frames.ts";
import { follow, reasonOf } from "./poll.ts";
import { readEvents } from "./read_events.ts";
import { tooMuchJson } from "./send.ts";

/** The whole answer. */
export async function answer<K extends ModelOperation>(attempt: Attempt<K>): Promise<Output<K>> {
  const way = wayOf(attempt);
  const opened = attempt.bill?.();
  const bill = opened instanceof Promise ? await opened : opened;
  try {
    if (!("local" in way)) return await answerTo(attempt, way, bill);
    const output = local(way, attempt);
    bill?.answered(output);
    return output;
  } catch (thrown) {
    bill?.ended(attempt.signal.aborted);
    throw thrown;
  }
}

async function answerTo<K extends ModelOperation>(
  attempt: Attempt<K>,
  way: UpstreamOperation<K>,
  bill: AnswerBill<K> | undefined,
): Promise<Output<K>> {
  const { upstream } = attempt;
  const calls = await runStep(() => describe(attempt, way));
  const { timeouts } = upstream;
  const watch = new Watch(attempt.signal, timeouts.wholeMs);
  try {
    const [call] = calls;
    const replies = calls.length === 1
      ? [await follow(call!, attempt, way, watch)]
      : await sideBySide(calls, (call) => follow(call, attempt, way, watch));
    const collected = await collectReply(replies, attempt, way, watch.signal);
    if (!collected) return await respond(replies, attempt, way, bill);
    bill?.answered(collected);
    return collected;
  } catch (thrown) {
    const reason = reasonOf(thrown, watch);
    // The other calls of the batch are useless now.
    watch.cancel();
    throw reason;
  } finally {
    watch.stop();
  }
}

/** Parses the answer in the replies. */
export async function respond<K extends ModelOperation>(
  replies: Reply[],
  { operation, input, target, context, upstream: { json, answerText } }: Attempt<K>,
  way: UpstreamOperation<K>,
  bill?: AnswerBill<K>,
): Promise<Output<K>> {
  // Checked before any of them is parsed.
  const calls = operation === "generate" ? argumentsIn(replies.map(({ body }) => body)) : [];
  const excess = await excessInArguments(calls, json);
  if (excess) throw tooMuchJson("answer has calls whose arguments' JSON", excess, json);
  const output =
    await (way.longResponse
      ? runSliced(way.longResponse(replies, input, target, context))
      : runStep(() => way.response(replies, input, target, context)));
  // An answer that is refused below has already been paid for.
  bill?.answered(output);
  if (operation === "generate") checkText((output as Output<"generate">).content, answerText);
  return output;
}

/** The arguments of all tool calls in an answer. Every wire that sends them as text calls the field `arguments`. */
function argumentsIn(value: unknown, found: string[] = []): string[] {
  if (Array.isArray(value)) { for (const one of value) argumentsIn(one, found); }
  else if (isJsonObject(value) && !(value instanceof Uint8Array)) {
    for (const name in value) {
      const inner = value[name];
      if (name === "arguments" && typeof inner === "string") found.push(inner);
      else argumentsIn(inner, found);
    }
  }
  return found;
}

/** How many calls of one batch run at once: enough to hide latency, few enough for servers that queue. */
const MOST_CALLS = 8;

/** The results of `work` for all items, in order. */
async function sideBySide<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  const queue = items.entries();
  const worker = async () => {
    for (const [index, item] of queue) results[index] = await work(item);
  };
  await Promise.all(items.slice(0, MOST_CALLS).map(worker));
  return results;
}

/** Some servers stream although a whole answer was requested. The answer is then collected from the stream. */
function collectReply<K extends ModelOperation>(
  [reply]: readonly Reply[],
  attempt: Attempt<K>,
  way: UpstreamOperation<K>,
  signal: AbortSignal,
): Promise<Output<K> | undefined> | undefined {
  if (typeof reply?.body !== "string" || !way.stream) return undefined;
  const isStream = reply.headers.get("content-type")?.includes("event-stream");
  return isStream ? collectText(reply.body, attempt, way.stream, signal) : undefined;
}

async function collectText<K extends ModelOperation>(
  text: string,
  { operation, input, target, upstream, context }: Attempt<K>,
  stream: NonNullable<UpstreamOperation<K>["stream"]>,
  signal: AbortSignal,
): Promise<Output<K> | undefined> {
  const collect = COLLECT[operation];
  if (!collect) return undefined;
  const reader = stream.reader(input, target, context);
  const events = new LimitedEvents<StreamEvent<K>>(upstream.answerText);
  await readEvents(framesIn(text, stream.framing, upstream), reader, events.add, signal);
  if (!reader.done) {
    const work = reader.end(events.add);
    if (work) await runSliced(work, signal);
  }
  return collect(events.list);
}
