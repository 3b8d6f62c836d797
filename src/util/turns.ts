/** What takes so much memory that it runs once at a time. */
export class Turns {
  #last: Promise<unknown> = Promise.resolve();

  /** Runs after all that was given before. Throws the signal's reason if nobody waits for it any more by then. */
  take<T>(run: () => T | Promise<T>, signal: AbortSignal): Promise<T> {
    const turn = this.#last.then(() => {
      signal.throwIfAborted();
      return run();
    });
    this.#last = turn.catch(() => {});
    return turn;
  }
}
