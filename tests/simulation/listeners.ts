/** Counts the listeners of signals: one that outlives its requests must not keep any of theirs. */

type Add = AbortSignal["addEventListener"];
type Listener = Parameters<Add>[1];

export class Listeners {
  readonly #added = new Map<AbortSignal, Set<Listener>>();
  readonly add: Add;
  readonly remove: Add;

  constructor() {
    const added = this.#added;
    const { addEventListener, removeEventListener } = AbortSignal.prototype;
    this.add = function (this: AbortSignal, ...args: Parameters<Add>) {
      const all = added.get(this) ?? new Set();
      added.set(this, all.add(args[1]));
      addEventListener.apply(this, args);
    } as Add;
    this.remove = function (this: AbortSignal, ...args: Parameters<Add>) {
      added.get(this)?.delete(args[1]);
      removeEventListener.apply(this, args);
    } as Add;
  }

  /** The most that a signal has which may still be aborted. */
  most(): number {
    return Math.max(0, ...this.#added.entries().map(([{ aborted }, { size }]) => aborted ? 0 : size));
  }
}
