import type { GenerateEvent } from "../canonical/generate.ts";
import type { Frame } from "../contract/frame.ts";
import type { Emit, StreamReader } from "../contract/stream.ts";
import { runSliced, Slice, type SlicedWork, yieldToEventLoop } from "../util/sliced_work.ts";

/**
 * Reads frames up to the wire's own end. Returns a promise only if the work is so long that it has to yield. `emitted`:
 * where `emit` puts the events.
 */
export function readEvents<E>(
  frames: readonly Frame[],
  reader: StreamReader<E>,
  emit: Emit<E>,
  signal?: AbortSignal,
  emitted: readonly E[] = [],
): Promise<void> | undefined {
  const slice = frames.length > 1 ? new Slice() : undefined;
  for (let at = 0; at < frames.length; at++) {
    const before = emitted.length;
    const work = reader.read(frames[at]!, emit);
    // A short frame may cost as much as all frames before it, so the clock is read after each that brings more than a
    // piece of text.
    const text = emitted.length === before + 1 ? textIn(emitted[before]!) : undefined;
    const isOver = text === undefined ? slice?.isOver() : slice?.isOverAfter(text.length);
    if (work || isOver) return readSlowly(work, frames.slice(at + 1), reader, emit, signal);
    if (reader.done) return undefined;
  }
  return undefined;
}

/** The text of an increment. */
function textIn(event: Partial<GenerateEvent>): string | undefined {
  return event.type === "part-delta" ? event.delta?.text : undefined;
}

/** Continues after long work or at the end of a time slice. */
async function readSlowly<E>(
  work: SlicedWork<void> | void,
  frames: readonly Frame[],
  reader: StreamReader<E>,
  emit: Emit<E>,
  signal: AbortSignal | undefined,
): Promise<void> {
  await (work ? runSliced(work, signal) : yieldToEventLoop());
  const slice = new Slice();
  for (const frame of frames) {
    signal?.throwIfAborted();
    if (reader.done) return;
    const more = reader.read(frame, emit);
    if (more) await runSliced(more, signal);
    else if (slice.isOver()) await yieldToEventLoop();
  }
}
