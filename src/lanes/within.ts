import { GatewayError } from "../errors.ts";

/** What `work` gives, unless it takes too long or the gateway stops; leaves no timer and no listener. */
export async function within<T>(ms: number, outer: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  outer.throwIfAborted();
  const controller = new AbortController();
  const late = new GatewayError("upstream_timeout", `The catalog did not answer within ${ms} ms`);
  const timer = setTimeout(() => controller.abort(late), ms);
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
