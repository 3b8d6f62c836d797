/**
 * Aborts many short-lived controllers together with one signal that outlives them. `AbortSignal.any` does the same for several
 * times as much: each of its signals is held weakly, and looked for by the collector.
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

  /** From now on the controller is aborted with the signal; at once where that is aborted already. */
  add(controller: AbortController): void {
    if (this.#signal.aborted) controller.abort(this.#signal.reason);
    else this.#controllers.add(controller);
  }

  /** No more. Whoever adds a controller takes it out again. */
  delete(controller: AbortController): void {
    this.#controllers.delete(controller);
  }
}

/** Aborts the controller with the signal, until the function that this returns is called. */
export function follow(signal: AbortSignal, controller: AbortController): () => void {
  if (signal.aborted) {
    controller.abort(signal.reason);
    return () => {};
  }
  const onAbort = () => controller.abort(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  return () => signal.removeEventListener("abort", onAbort);
}
