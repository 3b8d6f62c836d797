/** Streams of events that the consumer pulls in batches. */
import { Slice, yieldToEventLoop } from "./sliced_work.ts";

/**
 * Events in batches. Failover, hedging, repeated requests and replay combine sources. Nothing else in a stream is asynchronous.
 * Only one call of `next` may run at a time.
 */
export interface EventSource<E> {
  /**
   * The next events, at least one. `undefined` at the end and after `cancel`. Throws if the source fails, but only after all
   * events before the failure have been returned.
   */
  next(): Promise<readonly E[] | undefined>;
  /** Ends the source, even while `next` is pending. Resolves once everything that it held is released. */
  cancel(): Promise<void>;
  /** Present once all further events come by steps. `next` works all the same. */
  readonly steps?: Steps<E> | undefined;
}

/**
 * The two steps of `next`: a wait, and the events made of what came. With `next`, every source that passes on the
 * events of another one adds a promise to each batch. With steps, they all wait once. The functions may be called
 * without their object.
 */
export interface Steps<E> {
  /** Waits for what the next events are made of. */
  readonly read: () => Promise<unknown>;
  /** Makes of what `read` got what `next` returns. Events that are there come without a promise. Only a promise fails. */
  readonly take: (got: unknown) => readonly E[] | Promise<readonly E[] | undefined>;
  /** Like `take`, after `read` failed. */
  readonly fail: (thrown: unknown) => readonly E[] | Promise<readonly E[] | undefined>;
}

/** How many events of a complete answer are returned at once, so that a slow reader still slows down the rest. */
const BATCH = 64;

/** A source of events that already exist or are generated on demand. Others may run in between. */
export function sourceOf<E>(events: Iterable<E>): EventSource<E> {
  const iterator = events[Symbol.iterator]();
  const slice = new Slice();
  let isOver = false;
  let isCancelled = false;
  return {
    async next() {
      const batch: E[] = [];
      while (!isOver && batch.length < BATCH) {
        if (slice.isOver()) await yieldToEventLoop();
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

/**
 * A source that is opened when its first events are requested. It then releases `open` and everything that the function holds.
 */
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
    get steps() {
      return source?.steps;
    },
    async cancel() {
      isCancelled = true;
      const opened = await opening?.catch(() => undefined); // the caller of `next` receives the failure
      await opened?.cancel();
    },
  };
}
