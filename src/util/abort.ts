/**
 * Aborts many short-lived controllers together when one longer-lived signal is aborted. `AbortSignal.any` costs several times as
 * much, because each of its signals is held weakly and searched for by the garbage collector.
 */
export class Dependents {
  readonly #signal: AbortSignal;
  readonly #controllers = new Set<AbortController>();

  constructor(signal: AbortSignal) {
    this.#signal = signal;
    signal.addEventListener("abort", () => {
      for (const controller of this.#controllers) controller.abort(signal.reason);
      this.#controllers.clear();
    }, { once: true });
  }

  /** Aborts the controller when the signal is aborted, or immediately if it already is. */
  add(controller: AbortController): void {
    if (this.#signal.aborted) controller.abort(this.#signal.reason);
    else this.#controllers.add(controller);
  }

  /** Removes the controller. Every caller of `add` must call this. */
  delete(controller: AbortController): void {
    this.#controllers.delete(controller);
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
