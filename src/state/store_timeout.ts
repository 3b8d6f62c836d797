import { failAfter } from "../util/timeout.ts";

/** What `work` brings, unless the store takes longer than `ms`. */
export function withStoreTimeout<T>(ms: number, work: Promise<T>): Promise<T> {
  return failAfter(ms, work, () => new Error(`The store did not answer within ${ms} ms`));
}
