/** One operation at one upstream: ask, go on where the driver says so, answer. */
import type { Speech } from "../canonical/audio.ts";
import { ByteReader } from "../canonical/bytes.ts";
import { isJsonObject, type JsonObject } from "../canonical/json.ts";
import type { Input, ModelOperation, Output, StreamEvent } from "../canonical/operations.ts";
import { COLLECT } from "../canonical/collect.ts";
import { REPLAY } from "../canonical/replay.ts";
import { withUpstreamNames } from "../canonical/tool_names.ts";
import type { Context } from "../contract/context.ts";
import type { Call, LocalOperation, Reply, Target, UpstreamOperation } from "../contract/driver.ts";
import { GatewayError, toGatewayError } from "../errors.ts";
import { type Pulse, readFrames } from "./frames.ts";
import { brokenOff, type Fetch, readReply, send, type Upstream } from "./send.ts";
import { isFailure } from "./retry.ts";
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
  /** Called when the upstream's calls are described, and before one is made again with less: the last moment to refuse. */
  onDescribed(): void;
}

/** The whole answer. */
export async function answer<K extends ModelOperation>(ask: Ask<K>): Promise<Output<K>> {
  const { input, target, upstream, context } = ask;
  const way = wayOf(ask);
  if ("local" in way) return local(way, ask);
  const calls = describe(ask, way);
  const { timeouts } = upstream;
  const watch = new Watch(ask.signal, timeouts.wholeMs);
  try {
    const replies = await sideBySide(calls, (call) => follow(call, ask, way, watch));
    const collected = collectReply(replies, ask, way);
    return collected ? await collected : way.response(replies, input, target, context);
  } catch (thrown) {
    const reason = reasonOf(thrown, watch);
    // Of a batch the other calls are of no use any more.
    watch.cancel();
    throw reason;
  } finally {
    watch.stop();
  }
}

/** Some servers stream although a whole answer was asked for: the answer that the stream tells. */
function collectReply<K extends ModelOperation>(
  [reply]: readonly Reply[],
  { operation, input, target, context }: Ask<K>,
  { events }: UpstreamOperation<K>,
): Promise<Output<K>> | undefined {
  const collect = COLLECT[operation];
  const isStream = /event-stream/.test(reply?.headers.get("content-type") ?? "");
  if (!collect || !events || !isStream || typeof reply?.body !== "string") return undefined;
  return collect(events(readFrames(new Blob([reply.body]).stream()), input, target, context));
}

/**
 * Speech: as soon as its first bytes are there, which tell what it is; the rest comes as the upstream makes it. Leaving it
 * early ends the call; a failure on the way fails the stream of its bytes.
 */
export async function speak(ask: Ask<"speak">): Promise<Speech> {
  const { input, target, upstream, context } = ask;
  const way = wayOf(ask);
  if ("local" in way) return local(way, ask);
  const [call] = describe(ask, way);
  if (!call) throw cannotStream(ask);
  const watch = new Watch(ask.signal, upstream.timeouts.totalMs);
  try {
    // Most servers have made all of it when they begin to answer.
    watch.begin(upstream.timeouts.wholeMs, "begin to answer");
    const reply = await follow(call, ask, way, watch, (response) => openReply(response, watch, upstream));
    if (!reply.stream) watch.stop();
    return way.response([reply], input, target, context);
  } catch (thrown) {
    const reason = reasonOf(thrown, watch);
    watch.stop();
    watch.cancel();
    throw reason;
  }
}

/** What comes as bytes is passed on as it comes; a description of it, such as where it is, is read whole. */
async function openReply(response: Response, watch: Watch, { timeouts }: Upstream): Promise<Reply> {
  const { status, headers, body } = response;
  if (!body || /json|^text\//.test(headers.get("content-type") ?? "")) return await readReply(response);
  const reader = new ByteReader(body, AUDIO_BUFFER_BYTES);
  let isOver = false;
  const read = async (limitMs: number, what: string) => {
    if (isOver) return undefined;
    watch.begin(limitMs, what);
    const bytes = await reader.read().catch((cause) => {
      watch.signal.throwIfAborted();
      throw brokenOff(cause);
    });
    // A slow listener is no slow upstream.
    watch.rest();
    isOver = bytes === undefined;
    if (isOver) watch.stop();
    return bytes?.slice();
  };
  let first = await read(timeouts.firstEventMs, "send its first sound");
  while (first && first.length < TELLING_BYTES) {
    const more = await read(timeouts.idleMs, "send more sound");
    if (!more) break;
    first = new Uint8Array([...first, ...more]);
  }
  const stream = new ReadableStream<Uint8Array<ArrayBuffer>>({
    async pull(controller) {
      try {
        const bytes = first ?? await read(timeouts.idleMs, "send more sound");
        first = undefined;
        if (bytes) controller.enqueue(bytes);
        else controller.close();
      } catch (thrown) {
        watch.stop();
        controller.error(thrown);
      }
    },
    async cancel() {
      watch.stop();
      watch.cancel();
      await reader.cancel().catch(() => {}); // the call is over, whatever the upstream says to it
    },
  }, { highWaterMark: 0 });
  return { status, headers, body: first ?? new Uint8Array(), stream };
}

const AUDIO_BUFFER_BYTES = 16 * 1024;
/** What a format's own header needs at most, to tell what the bytes are. */
const TELLING_BYTES = 64;

/** The answer step by step. Throws where the upstream fails; leaving it early ends the call. */
export async function* stream<K extends ModelOperation>(ask: Ask<K>): AsyncGenerator<StreamEvent<K>> {
  const { operation, input, target, upstream, context } = ask;
  const way = wayOf(ask);
  const replay = REPLAY[operation];
  if ("local" in way) {
    if (!replay) throw cannotStream(ask);
    yield* replay(local(way, ask));
    return;
  }
  if (!way.events) {
    if (!replay) throw cannotStream(ask);
    yield* replay(await answer(ask));
    return;
  }
  const [call] = describe(ask, way);
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

/** The calls that would be made first; none at the embedded upstream. What they leave out is noted, as if they were made. */
export function preview<K extends ModelOperation>(ask: Ask<K>): Call[] {
  const way = wayOf(ask);
  return "local" in way ? [] : describe(ask, way);
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

/** The embedded upstream is asked by answering, so what it leaves out is known only then. */
function local<K extends ModelOperation>(way: LocalOperation<K>, ask: Ask<K>): Output<K> {
  const output = way.local(ask.input, ask.target, ask.context);
  ask.onDescribed();
  return output;
}

function describe<K extends ModelOperation>(ask: Ask<K>, way: UpstreamOperation<K>): Call[] {
  const { input, target, context } = ask;
  const heard = "messages" in input ? withUpstreamNames(input) : input;
  const calls = [way.request(heard, target, context)].flat().map((call) => withoutRefused(call, ask));
  ask.onDescribed();
  return calls;
}

function withoutRefused<K extends ModelOperation>(call: Call, ask: Ask<K>): Call {
  return without(call, [...ask.upstream.refuses, ...ask.upstream.refusals.of(placeOf(ask))], ask)?.call ?? call;
}

/** The call without those of the fields that it has; nothing where it has none. */
function without<K extends ModelOperation>(
  call: Call,
  fields: readonly string[],
  { context }: Ask<K>,
): { call: Call; dropped: string[] } | undefined {
  const sent = fieldsOf(call);
  const dropped = new Set(fields.filter((field) => Object.hasOwn(sent, field)));
  if (dropped.size === 0) return undefined;
  for (const field of dropped) context.note(`dropped ${field}`);
  const kept = call.form
    ? { form: call.form.filter(({ name }) => !dropped.has(name)) }
    : { body: Object.fromEntries(Object.entries(sent).filter(([field]) => !dropped.has(field))) };
  return { call: { ...call, ...kept }, dropped: [...dropped] };
}

/** One model at one of the places that an upstream may have. */
function placeOf<K extends ModelOperation>({ upstream, target }: Ask<K>): string {
  return `${upstream.baseUrl} ${target.model}`;
}

/**
 * The response to a call, if it is no failure. A call with fields that the upstream turns out to refuse is made once more
 * without them.
 */
async function open<K extends ModelOperation>(call: Call, ask: Ask<K>, signal: AbortSignal): Promise<Response> {
  const { upstream, fetch } = ask;
  const response = await send(call, upstream, fetch, signal);
  if (response.ok) return response;
  const error = upstream.driver.parseError(await readReply(response));
  const accepted = without(call, error.details.unsupported ?? [], ask);
  if (!accepted) throw error;
  ask.onDescribed();
  const second = await send(accepted.call, upstream, fetch, signal);
  if (!second.ok) throw upstream.driver.parseError(await readReply(second));
  upstream.refusals.add(placeOf(ask), accepted.dropped);
  return second;
}

/** What a call sends by name: nothing where it sends bytes. */
function fieldsOf({ body, form }: Call): JsonObject {
  if (form) return Object.fromEntries(form.map(({ name, value }) => [name, value ?? null]));
  if (!isJsonObject(body) || body instanceof Uint8Array) return {};
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined));
}

/** A result is behind one URL, perhaps two. */
const MOST_RESULTS = 3;

type Read = (response: Response) => Promise<Reply>;

/** One call of a batch, and those that follow from its reply: a job to poll, a result to fetch. */
async function follow<K extends ModelOperation>(
  first: Call,
  ask: Ask<K>,
  way: UpstreamOperation<K>,
  watch: Watch,
  read: Read = readReply,
): Promise<Reply> {
  let reply = await exchange(first, ask, watch.signal, read);
  let results = 0;
  for (let step = 0;; step++) {
    // A job that says that it failed is a failure like any other: the next target may do it.
    const call = reply.stream ? undefined : way.next?.(reply, ask.input, step);
    if (!call) return reply;
    if (call.url !== undefined && ++results > MOST_RESULTS) {
      throw afterWork(new GatewayError("upstream_error", "One result leads to the next without an end"));
    }
    try {
      reply = await exchangeAgain(call, ask, watch.signal, read);
    } catch (thrown) {
      const end = way.cancel?.(reply);
      if (end) abandon(end, ask);
      throw afterWork(thrown);
    }
  }
}

async function exchange<K extends ModelOperation>(
  call: Call,
  ask: Ask<K>,
  signal: AbortSignal,
  read: Read,
): Promise<Reply> {
  await sleep(call.afterMs, signal);
  return await read(await open(call, ask, signal));
}

/** Waits before each further attempt, in milliseconds. */
const PAUSES_MS = [500, 2_000];

/** To look once more at what is there costs nothing, so a failure on the way to it is not the last word. */
async function exchangeAgain<K extends ModelOperation>(
  call: Call,
  ask: Ask<K>,
  signal: AbortSignal,
  read: Read,
): Promise<Reply> {
  for (const pauseMs of PAUSES_MS) {
    try {
      return await exchange(call, ask, signal, read);
    } catch (thrown) {
      signal.throwIfAborted();
      if (!isFailure(thrown) || toGatewayError(thrown).details.retryable === false) throw thrown;
      await sleep(pauseMs, signal);
    }
  }
  return await exchange(call, ask, signal, read);
}

/** What went wrong once the upstream had begun to work, which it may charge for: that is not asked of anybody else. */
function afterWork(thrown: unknown): GatewayError {
  const { code, message, details } = toGatewayError(thrown);
  return code === "upstream_timeout" || code === "client_closed"
    ? new GatewayError(code, message, { ...details, workBegun: true })
    : new GatewayError("upstream_error", `The upstream's result cannot be had: ${message}`, {
      ...details,
      workBegun: true,
    });
}

/** Why a call failed: for what ended it, if something did. */
function reasonOf(thrown: unknown, { signal }: Watch): unknown {
  if (!signal.aborted) return thrown;
  return toGatewayError(thrown).details.workBegun ? afterWork(signal.reason) : signal.reason;
}

const FAREWELL_MS = 5_000;

/** Ends a job whose result nobody will fetch any more; nobody waits for that either. */
function abandon<K extends ModelOperation>(call: Call, { upstream, fetch }: Ask<K>): void {
  send(call, upstream, fetch, AbortSignal.timeout(FAREWELL_MS))
    .then((response) => response.body?.cancel())
    .catch(() => {}); // there is nobody to tell
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

/** Some servers and proxies call a stream plain text or bytes; a transcript can be plain text indeed. */
function isEventStream({ headers }: Response, operation: ModelOperation): boolean {
  const type = headers.get("content-type") ?? "";
  return operation === "transcribe" ? /event-stream/.test(type) : !/json|html/.test(type);
}

function cannotStream({ operation, upstream }: Ask<ModelOperation>): GatewayError {
  return new GatewayError("unsupported", `Upstream "${upstream.name}" does not stream "${operation}"`);
}
