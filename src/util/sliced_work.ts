/**
 * Long work shares a single thread with all clients, so it must not block the thread for long. It is done in slices, and
 * everything else may run between two slices.
 */
import { FairQueue, Slots } from "./shares.ts";

/** Long work that can be done in slices. It may pause at each `yield`, and it returns the result. */
export type SlicedWork<T> = Generator<void, T, void>;

/** How many milliseconds a slice lasts before others may run. */
export const SLICE_MS = 10;

/**
 * Does the work in slices, or synchronously if one slice is enough. Between slices it throws the signal's reason once the signal
 * is aborted.
 */
export function runSliced<T>(work: SlicedWork<T>, signal?: AbortSignal): T | Promise<T> {
  const began = performance.now();
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
    if (performance.now() - began >= SLICE_MS) return continueSliced(work, signal);
  }
}

async function continueSliced<T>(work: SlicedWork<T>, signal: AbortSignal | undefined): Promise<T> {
  for (;;) {
    await yieldToEventLoop();
    signal?.throwIfAborted();
    // The slice begins after the wait. If it included the wait, each of many waiting works would do a single step at a
    // time.
    const slice = new Slice();
    do {
      const { done, value } = work.next();
      if (done) return value;
    } while (!slice.isOver());
  }
}

/** Does all of the work at once, for work that is known to be short. */
export function runUnsliced<T>(work: SlicedWork<T>): T {
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
  }
}

/**
 * Runs one step that cannot be divided. If it took long, others run before the result is returned. If not, the result is
 * returned synchronously.
 */
export function runStep<T>(run: () => T): T | Promise<T> {
  const began = performance.now();
  const result = run();
  return performance.now() - began < SLICE_MS ? result : yieldToEventLoop().then(() => result);
}

/** Yields the items, with pauses in which others may run. */
export async function* sliced<T>(items: Iterable<T>): AsyncGenerator<T> {
  let slice = new Slice();
  for (const item of items) {
    if (slice.isOver()) {
      await yieldToEventLoop();
      slice = new Slice();
    }
    yield item;
  }
}

/** A wait longer than this, in milliseconds, has let others run. */
const WAIT_MS = 1;

/** The fixed cost of each text, and an amount of work that takes far less than a slice, both in characters. */
const [TEXT_COSTS, WORK_PER_LOOK] = [256, 8_192];

/** Measures the time since others could last run. */
export class Slice {
  #began = performance.now();
  /** The work since the clock was last read, in characters. */
  #work = 0;

  /** Whether others should run now. If so, a new slice begins. */
  isOver(): boolean {
    const now = performance.now();
    if (now - this.#began < SLICE_MS) return false;
    this.#began = now;
    return true;
  }

  /** Like `isOver`, after work on a text of this length. */
  isOverAfter(length: number): boolean {
    return this.isDue(length) && this.isOver();
  }

  /**
   * Whether the clock should be read after work on a text of this length. Reading it after every short text would cost
   * more than the work.
   */
  isDue(length: number): boolean {
    this.#work += length + TEXT_COSTS;
    if (this.#work < WORK_PER_LOOK) return false;
    this.#work = 0;
    return true;
  }

  /** Like `isOver`, after a wait that began at `asked`. Waiting counts as a pause if it actually took time. */
  isOverAfterWait(asked: number): boolean {
    const now = performance.now();
    const isOver = now - asked <= WAIT_MS && now - this.#began >= SLICE_MS;
    if (isOver || now - asked > WAIT_MS) this.#began = now;
    return isOver;
  }
}

/** The waiting works, in order. Each function resumes one. */
const waiting: (() => void)[] = [];

/**
 * Lets everything else run, including timers and connections. If several works wait here, they continue one at a time, so that
 * together they block the thread no longer than one of them.
 */
export function yieldToEventLoop(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  if (waiting.push(resolve) === 1) afterOthers(next);
  return promise;
}

/** How many turns of the event loop it takes until everything that has arrived is read, answered and sent. */
const TURNS_THROUGH = 4;

/**
 * Waits until everything that has arrived by now is answered. Called before a step of tens of milliseconds that cannot
 * be divided.
 */
export async function flushEventLoop(): Promise<void> {
  for (let turn = 0; turn < TURNS_THROUGH; turn++) await yieldToEventLoop();
}

function next(): void {
  waiting.shift()!();
  if (waiting.length > 0) afterOthers(next);
}

const large = new Slots(1);

/**
 * Does work on a large body once no other such work runs and everything else has had its turn. Together, many large
 * bodies thus block the thread no longer than one of them.
 */
export function runExclusively<T>(caller: string, work: () => T | Promise<T>): Promise<T> {
  return large.run(caller, undefined, () => yieldToEventLoop().then(work));
}

/** How many bytes of bodies are started before others have their turn: some milliseconds of work. */
const BEGUN_BYTES = 1.5 * 2 ** 20;
/** The cost of a request without a body, in the same unit. */
const REQUEST_BYTES = BEGUN_BYTES / 12;

/** A request that has not been started. */
interface Beginning {
  bytes: number;
  begin(): void;
}

/** The bytes of the requests started since others had their turn. */
let begunBytes = 0;
const beginnings = new FairQueue<Beginning>();

/**
 * Makes a new request wait for running work, and for other callers' new requests in turn. `undefined` if it may start
 * at once. `bodyBytes`: the size of its body, with which the work grows.
 */
export function waitToBegin(caller: string, bodyBytes: number): Promise<void> | undefined {
  const bytes = REQUEST_BYTES + bodyBytes;
  if (begunBytes < BEGUN_BYTES) {
    begunBytes += bytes;
    if (begunBytes >= BEGUN_BYTES) afterOthers(beginMore);
    return undefined;
  }
  const { promise, resolve: begin } = Promise.withResolvers<void>();
  beginnings.push(caller, { bytes, begin });
  return promise;
}

function beginMore(): void {
  begunBytes = 0;
  while (begunBytes < BEGUN_BYTES) {
    const next = beginnings.shift();
    if (!next) return;
    next.begin();
    begunBytes += next.bytes;
  }
  afterOthers(beginMore);
}

/**
 * Runs `go` after a timer. Only a timer makes the event loop idle, and only an idle loop polls the sockets each time.
 * After `setImmediate`, Deno polls only every 61st time. This kind of timer needs no owner to clear it, since the
 * waiting work may be gone.
 */
function afterOthers(go: () => void): void {
  AbortSignal.timeout(0).addEventListener("abort", go, { once: true });
}
