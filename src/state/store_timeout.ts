import { failAfter } from "../util/timeout.ts";

/** The result of `work`. Rejects if the store takes longer than `ms` milliseconds. */
export function withStoreTimeout<T>(ms: number, work: Promise<T>): Promise<T> {
  return failAfter(ms, work, () => new Error(`The store did not answer within ${ms} ms`));
}
