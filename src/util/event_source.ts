/** What comes bit by bit: pulled by whoever needs it, several events at a time. */
import { othersTurn, Slice } from "./work.ts";

/**
 * Events in batches. Failover, hedging, asking again and replay combine sources; nothing else in a stream is asynchronous.
 * One call of `next` runs at a time.
 */
export interface EventSource<E> {
  /**
   * What came next, at least one event; `undefined` at the end, and after `cancel`. Throws where the source fails, once the
   * events before the failure have been given.
   */
  next(): Promise<readonly E[] | undefined>;
  /** Ends the source, also while `next` waits. Resolves once all that it held is given back. */
  cancel(): Promise<void>;
}

/** How many events of an answer that is all there are taken at once, so that a slow reader slows down the rest. */
const BATCH = 64;

/** Events that are all there, or are made when they are asked for. Others have a turn between them. */
export function sourceOf<E>(events: Iterable<E>): EventSource<E> {
  const iterator = events[Symbol.iterator]();
  const slice = new Slice();
  let isOver = false;
  let isCancelled = false;
  return {
    async next() {
      const batch: E[] = [];
      while (!isOver && batch.length < BATCH) {
        if (slice.isOver()) await othersTurn();
        const { done, value } = iterator.next();
        if (done) isOver = true;
        else batch.push(value);
      }
      return isCancelled || batch.length === 0 ? undefined : batch;
    },
    cancel() {
      isOver = isCancelled = true;
      return Promise.resolve();
    },
  };
}

/** A source that is opened when its first events are asked for. It lets go of `open` then, and of all that this holds. */
export function opening<E>(once: () => Promise<EventSource<E>>): EventSource<E> {
  let open: typeof once | undefined = once;
  let opening: Promise<EventSource<E>> | undefined;
  let source: EventSource<E> | undefined;
  let isCancelled = false;
  const first = async () => {
    if (isCancelled) return undefined;
    if (open) opening = open();
    open = undefined;
    source = await opening!;
    return isCancelled ? undefined : await source.next();
  };
  return {
    next: () => source ? source.next() : first(),
    async cancel() {
      isCancelled = true;
      const opened = await opening?.catch(() => undefined); // whoever called `next` learns of it
      await opened?.cancel();
    },
  };
}

/** The same events, each seen by `see` first. */
export function seen<E>(source: EventSource<E>, see: (event: E) => void): EventSource<E> {
  return {
    async next() {
      const events = await source.next();
      events?.forEach(see);
      return events;
    },
    cancel: () => source.cancel(),
  };
}

/** Goes on with another source where one fails; `other` gives none where the failure is to be thrown. */
export function orElse<E>(
  first: EventSource<E>,
  other: (thrown: unknown) => EventSource<E> | undefined,
): EventSource<E> {
  let source = first;
  let isCancelled = false;
  return {
    async next() {
      try {
        return await source.next();
      } catch (thrown) {
        const second = source === first && !isCancelled ? other(thrown) : undefined;
        if (!second) throw thrown;
        source = second;
        return await second.next();
      }
    },
    cancel() {
      isCancelled = true;
      return source.cancel();
    },
  };
}
