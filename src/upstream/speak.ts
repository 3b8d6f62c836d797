import type { Speech } from "../canonical/audio.ts";
import type { Reply } from "../contract/call.ts";
import type { UpstreamOperation } from "../contract/driver.ts";
import type { TransportResponse } from "../platform/transport.ts";
import { type Attempt, cannotStream, local, wayOf } from "./attempt.ts";
import { describe } from "./call.ts";
import { follow, reasonOf } from "./poll.ts";
import { brokenOff, readReply, tooLong, type Upstream } from "./send.ts";
import { Watch } from "./deadlines.ts";

/**
 * Speech. Resolves once the first bytes have arrived, which show the format; the rest is streamed as the upstream
 * produces it. Cancelling the stream ends the call, and a later failure fails the stream.
 */
export async function speak(attempt: Attempt<"speak">): Promise<Speech> {
  const way = wayOf(attempt);
  const opened = attempt.bill?.();
  const bill = opened instanceof Promise ? await opened : opened;
  try {
    const speech = await ("local" in way ? local(way, attempt) : speakBy(attempt, way));
    bill?.answered(speech);
    return speech;
  } catch (thrown) {
    bill?.ended(attempt.signal.aborted);
    throw thrown;
  }
}

async function speakBy(attempt: Attempt<"speak">, way: UpstreamOperation<"speak">): Promise<Speech> {
  const { input, target, upstream, context } = attempt;
  const [call] = await describe(attempt, way);
  if (!call) throw cannotStream(attempt);
  const watch = new Watch(attempt.signal, upstream.timeouts.totalMs);
  try {
    // Most servers generate everything before they begin to answer.
    watch.begin(upstream.timeouts.wholeMs, "begin to answer");
    const reply = await follow(call, attempt, way, watch, (response) => openReply(response, watch, upstream));
    if (!reply.stream) watch.stop();
    return way.response([reply], input, target, context);
  } catch (thrown) {
    const reason = reasonOf(thrown, watch);
    watch.stop();
    watch.cancel();
    throw reason;
  }
}

/**
 * Opens a reply. Audio is passed on as it arrives. JSON and text, such as the URL of the audio, are read as a whole.
 */
async function openReply(
  response: TransportResponse,
  watch: Watch,
  { timeouts, answerBytes, streamBytes, json }: Upstream,
): Promise<Reply> {
  const { status, headers, body } = response;
  if (!body || /json|^text\//.test(headers.get("content-type") ?? "")) {
    return await readReply(response, answerBytes, json);
  }
  let isOver = false;
  let length = 0;
  const read = async (limitMs: number, what: string) => {
    if (isOver) return undefined;
    watch.begin(limitMs, what);
    const bytes = await body.read().catch((cause) => {
      watch.signal.throwIfAborted();
      throw brokenOff(cause);
    });
    // A slow client is not a slow upstream.
    watch.isResting = true;
    isOver = bytes === undefined;
    if (isOver) watch.stop();
    length += bytes?.length ?? 0;
    if (length > streamBytes) throw tooLong("stream", streamBytes);
    return bytes?.slice();
  };
  const end = () => {
    watch.stop();
    watch.cancel();
    body.cancel().catch(() => {}); // the call is over, however the upstream reacts
  };
  let first = await read(timeouts.firstEventMs, "send its first audio");
  while (first && first.length < TELLING_BYTES) {
    const more = await read(timeouts.idleMs, "send more audio");
    if (!more) break;
    first = new Uint8Array([...first, ...more]);
  }
  const stream = new ReadableStream<Uint8Array<ArrayBuffer>>({
    async pull(controller) {
      try {
        const bytes = first ?? await read(timeouts.idleMs, "send more audio");
        first = undefined;
        if (bytes) controller.enqueue(bytes);
        else controller.close();
      } catch (thrown) {
        end();
        controller.error(thrown);
      }
    },
    cancel: end,
  }, { highWaterMark: 0 });
  return { status, headers, body: first ?? new Uint8Array(), stream };
}

/** The most bytes that are needed to recognize a format by its header. */
const TELLING_BYTES = 64;
