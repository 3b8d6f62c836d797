/**
 * Long work beside others: one thread serves all clients, so nobody may hold it for long. Work is done in slices, and between
 * two slices everybody else has a turn.
 */

/** Long work that can be done in slices: each `yield` is a place to stop for a while. It returns the result. */
export type Work<T> = Generator<void, T, void>;

/** How long one slice takes, in milliseconds, before others have a turn. */
const SLICE_MS = 10;

/**
 * Does the work, slice by slice: at once where one slice is enough. Throws the signal's reason between two slices where nobody
 * waits for the result any more.
 */
export function finish<T>(work: Work<T>, signal?: AbortSignal): T | Promise<T> {
  const slice = new Slice();
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
    if (slice.isOver()) return goOn(work, slice, signal);
  }
}

async function goOn<T>(work: Work<T>, slice: Slice, signal: AbortSignal | undefined): Promise<T> {
  for (;;) {
    await othersTurn();
    signal?.throwIfAborted();
    do {
      const { done, value } = work.next();
      if (done) return value;
    } while (!slice.isOver());
  }
}

/** All of the work at once: for what is known to be short. */
export function finishSync<T>(work: Work<T>): T {
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
  }
}

/** One step that cannot be sliced. Others have a turn after it, where it took long; else its result is there at once. */
export function step<T>(run: () => T): T | Promise<T> {
  const slice = new Slice();
  const result = run();
  return slice.isOver() ? othersTurn().then(() => result) : result;
}

/** The same items; others have a turn between them. */
export async function* paced<T>(items: Iterable<T>): AsyncGenerator<T> {
  const slice = new Slice();
  for (const item of items) {
    if (slice.isOver()) await othersTurn();
    yield item;
  }
}

/** A wait that is longer than this, in milliseconds, gave others a turn. */
const WAIT_MS = 1;

/** The time that work has taken since others had a turn. */
export class Slice {
  #began = performance.now();

  /** Whether it is time for others to have a turn. A new slice begins then. */
  isOver(): boolean {
    const now = performance.now();
    if (now - this.#began < SLICE_MS) return false;
    this.#began = now;
    return true;
  }

  /** The same after what was waited for since `asked`: to wait is no work, where there was anything to wait for. */
  isOverAfterWait(asked: number): boolean {
    const now = performance.now();
    const isOver = now - asked <= WAIT_MS && now - this.#began >= SLICE_MS;
    if (isOver || now - asked > WAIT_MS) this.#began = now;
    return isOver;
  }
}

/** Who waits to go on. */
const waiting: (() => void)[] = [];

/**
 * Lets everybody else have a turn, timers and connections among them. Of several works that wait here one goes on at a time, so
 * that together they hold the thread no longer than one of them.
 */
export function othersTurn(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  if (waiting.push(resolve) === 1) afterOthers(next);
  return promise;
}

function next(): void {
  waiting.shift()!();
  if (waiting.length > 0) afterOthers(next);
}

/**
 * Only a timer makes the event loop idle, and only an idle loop looks at the sockets each time: after `setImmediate` Deno does
 * so every 61st time. This kind of timer has no owner who must clear it, for whoever waits may be gone.
 */
function afterOthers(go: () => void): void {
  AbortSignal.timeout(0).addEventListener("abort", go, { once: true });
}
