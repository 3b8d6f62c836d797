/**
 * One of the dependents, without its controller once it has been removed. A `Set` that changes all the time gets a new table every
 * few dozen entries, to which the old one refers (V8 15). One table that has grown old keeps all later ones, and whatever was in
 * them, from being collected early. So entries that were removed must lead to nothing.
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
