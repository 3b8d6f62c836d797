/** Time limits on asynchronous work. They leave no timers or listeners behind. */
import { TimeLimit } from "./time_limit.ts";

/** The result of `work`, or `undefined` after `ms` milliseconds. The work itself continues. */
export function settleWithin<T>(work: Promise<T> | T | undefined, ms: number): Promise<T | undefined> {
  if (!(work instanceof Promise)) return Promise.resolve(work);
  const result = Promise.withResolvers<T | undefined>();
  settleFirst(work, new TimeLimit(ms, () => result.resolve(undefined)), result);
  return result.promise;
}

/** The result of `work`. Throws `late()` after `ms` milliseconds, and then ignores later failures of the work. */
export function failAfter<T>(ms: number, work: Promise<T>, late: () => Error): Promise<T> {
  const result = Promise.withResolvers<T>();
  settleFirst(work, new TimeLimit(ms, () => result.reject(late())), result);
  return result.promise;
}

/** Settles the result as the work is settled, unless the limit did so before. */
function settleFirst<T>(
  work: Promise<T>,
  limit: TimeLimit,
  { resolve, reject }: Pick<PromiseWithResolvers<T>, "resolve" | "reject">,
): void {
  work.then((result) => {
    limit.cancel();
    resolve(result);
  }, (failure) => {
    limit.cancel();
    reject(failure);
  });
}

/** The length of one step of `failAfterAwake` in milliseconds. */
const STEP_MS = 25;

/**
 * Like `failAfter`, but counts only the time in which this process could respond. While it is busy, data that has
 * arrived waits to be read and is not late.
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
 * The result of `work`. Its signal is aborted with `late()` after `ms` milliseconds, or with the reason of `outer`. That reason
 * is then thrown immediately, even if the work ignores its signal.
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

/** Waits for `ms` milliseconds. Throws the signal's reason as soon as it is aborted. */
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
