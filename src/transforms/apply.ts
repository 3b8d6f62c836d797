/** Transforms at work on the events of a stream, a batch at a time. */
import type { StreamTransform } from "../contract/stream.ts";
import type { EventSource } from "../util/event_source.ts";
import { finish } from "../util/work.ts";

/** What the transforms, one after the other, make of events. Long work is done in slices, until `signal` is aborted. */
export async function apply<E>(
  transforms: readonly StreamTransform<E>[],
  events: readonly E[],
  signal?: AbortSignal,
): Promise<readonly E[]> {
  let current = events;
  for (const transform of transforms) {
    const changed: E[] = [];
    const emit = (event: E) => void changed.push(event);
    for (const event of current) {
      const work = transform.push(event, emit);
      if (work) await finish(work, signal);
    }
    current = changed;
  }
  return current;
}

/** A source whose events pass a transform. */
export function transformed<E>(
  source: EventSource<E>,
  transform: StreamTransform<E>,
  signal: AbortSignal,
): EventSource<E> {
  return {
    async next() {
      for (;;) {
        const events = await source.next();
        if (!events) return undefined;
        const changed = await apply([transform], events, signal);
        if (changed.length > 0) return changed;
      }
    },
    cancel: () => source.cancel(),
  };
}
