import { GatewayError } from "../errors.ts";
import { abortAfter } from "../util/timeout.ts";

/** The result of `work`. Throws if the catalog takes longer than `ms` or the gateway stops. */
export function withCatalogTimeout<T>(
  ms: number,
  outer: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const late = () => new GatewayError("upstream_timeout", `The catalog did not answer within ${ms} ms`);
  return abortAfter(ms, outer, work, late);
}
