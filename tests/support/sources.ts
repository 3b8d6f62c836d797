/** Sources of events, for tests that think in single events. */
import type { Frame } from "../../src/contract/frame.ts";
import type { Framing } from "../../src/contract/stream.ts";
import { FrameSource } from "../../src/upstream/frames.ts";
import type { EventSource } from "../../src/util/event_source.ts";
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
