/** Sources of events, for tests that think in single events. */
import type { Frame } from "../../src/contract/frame.ts";
import type { Framing } from "../../src/contract/stream.ts";
import { FrameSource } from "../../src/upstream/frames.ts";
import type { EventSource, Steps } from "../../src/util/event_source.ts";
import { sourceOfBytes } from "./transport.ts";

/** A source of what an iteration gives, one event at a time. Ending the source ends the iteration. */
export function sourceFrom<E>(events: AsyncIterable<E>): EventSource<E> {
  const iterator = events[Symbol.asyncIterator]();
  return {
    async next() {
      const { done, value } = await iterator.next();
      return done ? undefined : [value];
    },
    cancel: async () => void await iterator.return?.(),
  };
}

/** The events of a source, one by one. Leaving the loop early ends the source. */
export async function* eachOf<E>(source: EventSource<E>): AsyncGenerator<E> {
  try {
    for (let events = await source.next(); events; events = await source.next()) yield* events;
  } finally {
    await source.cancel();
  }
}

/** The frames of a body, one by one. */
export function readFrames(
  body: ReadableStream<Uint8Array>,
  framing?: Framing,
): AsyncGenerator<Frame> {
  return eachOf(new FrameSource(sourceOfBytes(body), framing));
}

/** The same source, which offers its events by steps. `isLate`: each batch is a promise. */
export function inSteps<E>(source: EventSource<E>, isLate = false): EventSource<E> {
  const steps: Steps<E> = {
    read: () => source.next(),
    take: (got) => isLate || !got ? Promise.resolve(got as readonly E[] | undefined) : got as readonly E[],
    fail: (thrown) => Promise.reject(thrown),
  };
  return { next: () => source.next(), cancel: () => source.cancel(), steps };
}

/** The same source, read by its steps as soon as it has any. */
export function bySteps<E>(source: EventSource<E>): EventSource<E> {
  return {
    next() {
      const { steps } = source;
      return steps ? steps.read().then(steps.take, steps.fail) : source.next();
    },
    cancel: () => source.cancel(),
  };
}
