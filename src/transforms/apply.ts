/** Applies transforms to the events of a stream, one batch at a time. */
import type { Emit, StreamTransform } from "../contract/stream.ts";
import type { EventSource } from "../util/event_source.ts";
import { runSliced, type SlicedWork } from "../util/sliced_work.ts";

/**
 * Runs events through all transforms in order. Returns a promise only if one of them has long work, which is done in
 * slices until `signal` is aborted.
 */
export function apply<E>(
  transforms: readonly StreamTransform<E>[],
  events: readonly E[],
  signal?: AbortSignal,
): readonly E[] | Promise<readonly E[]> {
  let current = events;
  for (let at = 0; at < transforms.length; at++) {
    const transform = transforms[at]!;
    if (transform.passesDeltas && areDeltas(current)) continue;
    const changed: E[] = [];
    const works = pushAll(transform, current, (event) => void changed.push(event));
    const done = works && runSliced(works, signal);
    if (done) return done.then(() => apply(transforms.slice(at + 1), changed, signal));
    current = changed;
  }
  return current;
}

/** Whether all of the events are increments. */
export function areDeltas(events: readonly unknown[]): boolean {
  return events.every(isDelta);
}

function isDelta(event: unknown): boolean {
  return (event as { type?: unknown }).type === "part-delta";
}

/** Long work, if an event causes some. It also handles the remaining events. */
function pushAll<E>(transform: StreamTransform<E>, events: readonly E[], emit: Emit<E>): SlicedWork<void> | undefined {
  for (let at = 0; at < events.length; at++) {
    const event = events[at]!;
    const work = push(transform, event, emit);
    if (work) return pushSlowly(work, transform, events.slice(at + 1), emit);
  }
  return undefined;
}

function* pushSlowly<E>(
  work: SlicedWork<void>,
  transform: StreamTransform<E>,
  events: readonly E[],
  emit: Emit<E>,
): SlicedWork<void> {
  yield* work;
  for (const event of events) yield* push(transform, event, emit) ?? [];
}

function push<E>(transform: StreamTransform<E>, event: E, emit: Emit<E>): SlicedWork<void> | void {
  return transform.passesDeltas && isDelta(event) ? emit(event) : transform.push(event, emit);
}

/** A source whose events go through a transform. */
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
