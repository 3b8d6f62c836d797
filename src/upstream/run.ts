/** One operation at one upstream: the whole answer. */
import { COLLECT } from "../canonical/collect.ts";
import { isJsonObject } from "../canonical/json.ts";
import { excessInArguments, type JsonLimits } from "../canonical/json_limits.ts";
import type { Input, ModelOperation, Output, StreamEvent } from "../canonical/operations.ts";
import { runSliced, runStep, SLICE_MS, yieldToEventLoop } from "../util/sliced_work.ts";
import type { Call, Reply } from "../contract/call.ts";
import type { UpstreamOperation } from "../contract/driver.ts";
import { checkText, LimitedEvents } from "./answer_text.ts";
import { type AnswerBill, type Attempt, isGivenUp, local, wayOf } from "./attempt.ts";
import { describe, open } from "./call.ts";
import { Watch } from "./deadlines.ts";
import type { TransportResponse } from "../platform/transport.ts";
import { BEGINS_EVENTS, framesIn } from "./frames.ts";
import { follow, reasonOf } from "./poll.ts";
import { readEvents } from "./read_events.ts";
import { type MeasuredReply, parserFor, readReply, tooLong, tooMuchJson } from "./send.ts";

/** The whole answer. */
export async function answer<K extends ModelOperation>(attempt: Attempt<K>): Promise<Output<K>> {
  const way = wayOf(attempt);
  const opened = attempt.bill?.();
  const bill = opened instanceof Promise ? await opened : opened;
  let watch: Watch | undefined;
  try {
    if ("local" in way) {
      const output = await local(way, attempt);
      bill?.answered(output);
      return output;
    }
    const began = performance.now();
    const described = describe(attempt, way);
    const calls = described instanceof Promise ? await described : described;
    if (performance.now() - began >= SLICE_MS) await yieldToEventLoop();
    const { operation, upstream: { timeouts, answerBytes, json } } = attempt;
    watch = new Watch(attempt.signal, timeouts.wholeMs);
    const [call] = calls;
    const isOnlyCall = calls.length === 1 && !way.next && !call!.afterMs;
    const replies = isOnlyCall
      ? [await readReply(await open(call!, attempt, watch.signal), answerBytes, json, parserFor(operation))]
      : await sideBySide(calls, attempt, way, watch, bill);
    const body = replies[0]?.body;
    const isText = typeof body === "string" || body instanceof Uint8Array;
    const collected = isText ? await collectReply(replies, attempt, way, watch.signal) : undefined;
    if (!collected) {
      const output = respond(replies, attempt, way, bill);
      return output instanceof Promise ? await output : output;
    }
    bill?.answered(collected);
    return collected;
  } catch (thrown) {
    const reason = watch ? reasonOf(thrown, watch) : thrown;
    // The other calls of the batch are useless now.
    watch?.cancel();
    bill?.ended(isGivenUp(attempt));
    throw reason;
  } finally {
    watch?.stop();
  }
}

/** Parses the answer in the replies. */
export function respond<K extends ModelOperation>(
  replies: MeasuredReply[],
  attempt: Attempt<K>,
  way: UpstreamOperation<K>,
  bill?: AnswerBill<K>,
  isChecked = attempt.operation !== "generate",
): Output<K> | Promise<Output<K>> {
  const { input, context, upstream: { json }, described: target = attempt.target } = attempt;
  let bytes = 0;
  for (const reply of replies) bytes += reply.bytes ?? Infinity;
  // Every value, and every name, takes at least one byte.
  if (!isChecked && bytes > Math.min(json.values, json.numbers, json.names)) {
    return checkArguments(replies, json).then(() => respond(replies, attempt, way, bill, true));
  }
  const output = way.longResponse
    ? runSliced(way.longResponse(replies, input, target, context))
    : runStep(() => way.response(replies, input, target, context));
  if (output instanceof Promise) return output.then((one) => settled(one, bytes, attempt, bill));
  return settled(output, bytes, attempt, bill);
}

/** Throws if the arguments of all calls have too much JSON together. It is checked before any of them is parsed. */
async function checkArguments(replies: readonly Reply[], json: JsonLimits): Promise<void> {
  const excess = await excessInArguments(argumentsIn(replies.map(({ body }) => body)), json);
  if (excess) throw tooMuchJson("answer has calls whose arguments' JSON", excess, json);
}

/** The text of an answer is at most so many times as long as its reply. A wire may repeat a text. */
const MOST_REPEATED = 8;

function settled<K extends ModelOperation>(
  output: Output<K>,
  bytes: number,
  { operation, upstream: { answerText } }: Attempt<K>,
  bill: AnswerBill<K> | undefined,
): Output<K> {
  // An answer that is refused below has already been paid for.
  bill?.answered(output);
  const mayBeLong = operation === "generate" && bytes * MOST_REPEATED > answerText;
  if (mayBeLong) checkText((output as Output<"generate">).content, answerText);
  if (operation === "complete" && bytes > answerText) {
    checkText((output as Output<"complete">).choices.map(({ text }) => ({ type: "text", text })), answerText);
  }
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

/** The most bytes of the reply to one question, which is a word. There may be hundreds, and all are kept until the last one. */
const DECISION_BYTES = 1_048_576;

/** The replies to all calls, in order. */
async function sideBySide<K extends ModelOperation>(
  calls: readonly Call[],
  attempt: Attempt<K>,
  way: UpstreamOperation<K>,
  watch: Watch,
  bill: AnswerBill<K> | undefined,
): Promise<MeasuredReply[]> {
  const replies: MeasuredReply[] = [];
  const queue = calls.entries();
  const { operation, upstream: { answerBytes, json } } = attempt;
  const most = Math.min(answerBytes, DECISION_BYTES);
  const readDecision = (response: TransportResponse) => readReply(response, most, json, parserFor(operation));
  const read = operation === "decide" ? readDecision : undefined;
  // Each question and each picture is work of its own for the upstream, which may charge for it.
  const isWorkEach = operation === "decide" || operation === "draw";
  let bytes = 0;
  /** Makes the next call. Returns whether there was one. */
  const callNext = async (): Promise<boolean> => {
    const { value, done } = queue.next();
    if (done) return false;
    const [index, call] = value;
    const reply = await follow(call, attempt, way, watch, read);
    bytes += reply.bytes ?? 0;
    if (isWorkEach && bytes > answerBytes) throw tooLong("answer", answerBytes);
    replies[index] = reply;
    return true;
  };
  const worker = async () => {
    while (await callNext());
  };
  const isOver = new AbortController();
  const others = calls.slice(1, MOST_CALLS).map(() =>
    isWorkEach ? callInTurn(callNext, attempt, isOver.signal) : worker()
  );
  try {
    await Promise.all([worker().finally(() => isOver.abort()), ...others]);
  } catch (thrown) {
    // Pictures that nobody waits for any more may all be charged for, and are billed so.
    const isBilled = operation === "draw" && isGivenUp(attempt);
    if (isWorkEach && !isBilled) billSome(replies, attempt, way, bill);
    throw thrown;
  }
  return replies;
}

/** Bills the questions that were answered, or the pictures that were drawn, before another one failed. */
function billSome<K extends ModelOperation>(
  replies: readonly (MeasuredReply | undefined)[],
  { operation, input, target, context }: Attempt<K>,
  way: UpstreamOperation<K>,
  bill: AnswerBill<K> | undefined,
): void {
  const done = replies.filter((one) => one !== undefined);
  if (!bill || done.length === 0) return;
  const part = operation === "decide"
    ? { questions: (input as Input<"decide">).questions.filter((_, index) => replies[index]) }
    : { count: done.length };
  try {
    // The client gets another answer, or none, so nothing is noted.
    bill.answered(way.response(done, { ...input, ...part }, target, { ...context, note() {} }));
  } catch {
    // The failure of the other call is the one to report.
  }
}

/** Makes calls in turn with other requests. It gives up where there is no room: the request itself has a permit. */
async function callInTurn(
  callNext: () => Promise<boolean>,
  { upstream: { concurrency }, key }: Attempt<ModelOperation>,
  isOver: AbortSignal,
): Promise<void> {
  for (let isMore = true; isMore;) {
    let release: (() => void) | undefined;
    try {
      release = await concurrency?.acquire(key, isOver, true);
    } catch {
      // All calls are made by now, or too many requests wait.
      return;
    }
    try {
      isMore = !isOver.aborted && await callNext();
    } finally {
      release?.();
    }
  }
}

/** Some servers stream although a whole answer was requested. The answer is then collected from the stream. */
function collectReply<K extends ModelOperation>(
  [reply]: readonly Reply[],
  attempt: Attempt<K>,
  way: UpstreamOperation<K>,
  signal: AbortSignal,
): Promise<Output<K> | undefined> | undefined {
  const text = reply && textIn(reply.body);
  if (text === undefined || !way.stream) return undefined;
  const isNamed = reply?.headers.get("content-type")?.includes("event-stream");
  const isStream = isNamed || attempt.operation !== "transcribe" && (BEGINS_EVENTS.test(text) || /^\s*\{/.test(text));
  return isStream ? collectText(text, attempt, way.stream, signal) : undefined;
}

function textIn(body: Reply["body"]): string | undefined {
  return body instanceof Uint8Array ? new TextDecoder().decode(body) : typeof body === "string" ? body : undefined;
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
