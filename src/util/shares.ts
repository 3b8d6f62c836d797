/** How callers share a resource that has a limit, so that one caller cannot lock out the others. */

/** What there is of a resource. */
export interface Capacity {
  total: number;
  /** Whether the gateway can have several callers. With only one, nothing is kept for others. */
  isShared: boolean;
}

/** `full`: all callers together hold too much. `share`: the caller itself does. */
export type Refused = "full" | "share";

/** The share that callers may use who hold something already. What is left is for callers that hold nothing yet. */
const SHARE = 3 / 4;

/** What each caller holds of one resource: sockets, bytes, answers. */
export class Shares {
  readonly #held = new Map<string, number>();
  #taken = 0;

  /** What all callers hold. */
  get taken(): number {
    return this.#taken;
  }

  heldBy(owner: string): number {
    return this.#held.get(owner) ?? 0;
  }

  /**
   * Why the caller cannot have `amount` more, if it cannot. `held`: the part of what it holds that this request replaces, such as
   * the bytes reserved so far for a body that grows.
   */
  refusal(owner: string, amount: number, { total, isShared }: Capacity, held = 0): Refused | undefined {
    const own = this.heldBy(owner) - held;
    const all = this.#taken - held + amount;
    if (all > total) return "full";
    if (!isShared || own <= 0) return undefined;
    if (own + amount > total * SHARE) return "share";
    return all > total * SHARE ? "full" : undefined;
  }

  /** Counts `amount` as held by the caller; a negative amount gives it back. */
  add(owner: string, amount: number): void {
    this.#taken += amount;
    const held = this.heldBy(owner) + amount;
    if (held > 0) this.#held.set(owner, held);
    else this.#held.delete(owner);
  }
}
