/** The stages of a stream as what they are: functions from an array to an array. */
import type { Frame } from "../../contract/frame.ts";
import type { StreamReader, StreamTransform, StreamWriter } from "../../contract/stream.ts";
import { GatewayError } from "../../errors.ts";
import { runUnsliced } from "../../util/sliced_work.ts";

/**
 * The events of a stream that holds these frames, up to the wire's own end. The failure that the reader throws is the last of
 * them. `failure`: the connection breaks with it after the last frame.
 */
export function readEvents<E>(
  reader: StreamReader<E>,
  frames: Iterable<Frame>,
  failure?: unknown,
): (E | { type: "error"; error: GatewayError })[] {
  const events: (E | { type: "error"; error: GatewayError })[] = [];
  const emit = (event: E) => void events.push(event);
  try {
    for (const frame of frames) {
      const work = reader.read(frame, emit);
      if (work) runUnsliced(work);
      if (reader.done) return events;
    }
    if (failure !== undefined) throw failure;
    const work = reader.end(emit);
    if (work) runUnsliced(work);
  } catch (thrown) {
    if (!(thrown instanceof GatewayError)) throw thrown;
    events.push({ type: "error", error: thrown });
  }
  return events;
}

/** The frames in which a wire writes these events. */
export function writeFrames<E>(writer: StreamWriter<E>, events: Iterable<E>): Frame[] {
  const frames: Frame[] = [];
  for (const event of events) writer.write(event, (frame) => void frames.push(frame));
  return frames;
}

/** What a transform makes of these events. */
export function transform<E>(by: StreamTransform<E>, events: Iterable<E>): E[] {
  const changed: E[] = [];
  for (const event of events) {
    const work = by.push(event, (one) => void changed.push(one));
    if (work) runUnsliced(work);
  }
  return changed;
}
