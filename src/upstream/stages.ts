/** The stages of a stream, which are synchronous, among asynchronous iterations. */
import type { Frame } from "../contract/frame.ts";
import type { StreamReader, StreamWriter } from "../contract/stream.ts";
import { finish } from "../util/work.ts";

/** The events that the frames tell. Ends with the wire's own end, or with the frames. */
export async function* eventsOf<E>(frames: AsyncIterable<Frame>, reader: StreamReader<E>): AsyncGenerator<E> {
  const events: E[] = [];
  const emit = (event: E) => void events.push(event);
  for await (const frame of frames) {
    let thrown: { reason: unknown } | undefined;
    try {
      const work = reader.read(frame, emit);
      if (work) await finish(work);
    } catch (reason) {
      thrown = { reason };
    }
    yield* events.splice(0);
    if (thrown) throw thrown.reason;
    if (reader.done) return;
  }
  const work = reader.end(emit);
  if (work) await finish(work);
  yield* events;
}

/** The frames in which a wire writes the events. */
export async function* framesOf<E>(events: AsyncIterable<E>, writer: StreamWriter<E>): AsyncGenerator<Frame> {
  const frames: Frame[] = [];
  for await (const event of events) {
    writer.write(event, (frame) => void frames.push(frame));
    yield* frames.splice(0);
  }
}
