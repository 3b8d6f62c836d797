/** Time limits on what is awaited. None of them leaves a timer or a listener behind. */
import { TimeLimit } from "./time_limit.ts";

/** What `work` resolves to, or nothing once `ms` milliseconds have passed. The work itself goes on. */
export async function settleWithin<T>(work: Promise<T> | T | undefined, ms: number): Promise<T | undefined> {
  const { promise: late, resolve } = Promise.withResolvers<undefined>();
  const limit = new TimeLimit(ms, () => resolve(undefined));
  try {
    return await Promise.race([work, late]);
  } finally {
    limit.cancel();
  }
}

/** What `work` resolves to. Throws `late()` once `ms` milliseconds have passed; a later failure of the work is ignored. */
export function failAfter<T>(ms: number, work: Promise<T>, late: () => Error): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const limit = new TimeLimit(ms, () => reject(late()));
  work.then((result) => {
    limit.cancel();
    resolve(result);
  }, (failure) => {
    limit.cancel();
    reject(failure);
  });
  return promise;
}

/** How long one step of `failAfterAwake` is, in milliseconds. */
const STEP_MS = 25;

/**
 * The same, by the time in which this process could have noticed: while it is busy with something else, what has come waits to be
 * read, and is not late.
 */
export async function failAfterAwake<T>(ms: number, work: Promise<T>, late: () => Error): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const overdue = new Promise<never>((_, reject) => {
    const wait = (leftMs: number) => {
      const stepMs = Math.min(leftMs, STEP_MS);
      timer = setTimeout(() => leftMs > STEP_MS ? wait(leftMs - STEP_MS) : reject(late()), stepMs);
    };
    wait(ms);
  });
  work.catch(() => {});
  try {
    return await Promise.race([work, overdue]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * What `work` resolves to. Its signal is aborted with `late()` once `ms` milliseconds have passed, or with the reason of `outer`;
 * that reason is then thrown at once, whether or not the work heeds it.
 */
export async function abortAfter<T>(
  ms: number,
  outer: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
  late: () => Error,
): Promise<T> {
  outer.throwIfAborted();
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(late()), ms);
  const stop = () => controller.abort(outer.reason);
  outer.addEventListener("abort", stop);
  const aborted = Promise.withResolvers<never>();
  controller.signal.addEventListener("abort", () => aborted.reject(controller.signal.reason), { once: true });
  try {
    return await Promise.race([work(controller.signal), aborted.promise]);
  } catch (thrown) {
    controller.signal.throwIfAborted();
    throw thrown;
  } finally {
    clearTimeout(timer);
    outer.removeEventListener("abort", stop);
  }
}

/** Waits for so many milliseconds. Throws the reason of `signal` as soon as that is aborted. */
export async function delay(ms: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  const onAbort = () => reject(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    await promise;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
  }
}
