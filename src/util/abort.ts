/**
 * One of the dependents. Its controller is removed together with it. A `Set` that changes all the time gets a new table
 * every few dozen entries, and the old table refers to the new one (V8 15). A table among the old objects keeps all
 * later tables and their entries from being collected early, so a removed entry must hold nothing.
 */
export interface Dependent {
  controller: AbortController | undefined;
}

/**
 * Aborts many short-lived controllers together when one longer-lived signal is aborted. `AbortSignal.any` costs several times as
 * much, because each of its signals is held weakly and searched for by the garbage collector.
 */
export class Dependents {
  readonly #signal: AbortSignal;
  readonly #dependents = new Set<Dependent>();

  constructor(signal: AbortSignal) {
    this.#signal = signal;
    signal.addEventListener("abort", () => {
      for (const { controller } of this.#dependents) controller?.abort(signal.reason);
      this.#dependents.clear();
    }, { once: true });
  }

  /** Aborts the controller when the signal is aborted, or immediately if it already is. */
  add(controller: AbortController): Dependent {
    const dependent: Dependent = { controller };
    if (this.#signal.aborted) controller.abort(this.#signal.reason);
    else this.#dependents.add(dependent);
    return dependent;
  }

  /** Removes what `add` returned. Every caller of `add` must call this. */
  delete(dependent: Dependent): void {
    this.#dependents.delete(dependent);
    dependent.controller = undefined;
  }
}

/** Aborts the controller when the signal is aborted. The returned function ends this. */
export function follow(signal: AbortSignal, controller: AbortController): () => void {
  if (signal.aborted) {
    controller.abort(signal.reason);
    return () => {};
  }
  const onAbort = () => controller.abort(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  return () => signal.removeEventListener("abort", onAbort);
}

/** The result of `work`. Throws the signal's reason as soon as it is aborted, even if the work goes on. */
export function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const result = Promise.withResolvers<T>();
  const leave = () => result.reject(signal.reason);
  if (signal.aborted) leave();
  signal.addEventListener("abort", leave, { once: true });
  work.then(result.resolve, result.reject).finally(() => signal.removeEventListener("abort", leave));
  return result.promise;
}
