/** One process's share of a budget. What the process may spend is decided here, without asking the store. */
import type { Request } from "./pool.ts";

export class OwnShare {
  /** Unique among all shares. */
  readonly id: string;
  #spent = 0n;
  #reserved = 0n;
  /** The most that `#spent` and `#reserved` may add up to. */
  #ceiling = 0n;
  /** Until when the ceiling is valid, by a monotonic clock. */
  #until = -Infinity;

  constructor(id: string) {
    this.id = id;
  }

  get spent(): bigint {
    return this.#spent;
  }

  get reserved(): bigint {
    return this.#reserved;
  }

  /** The amount that may be reserved now. */
  free(at: number): bigint {
    const free = this.#ceiling - this.#spent - this.#reserved;
    return at < this.#until && free > 0n ? free : 0n;
  }

  /** Reserves an amount, of which the caller has checked that it is free. */
  reserve(amount: bigint): void {
    this.#reserved += amount;
  }

  /** Ends a reservation of `amount`. The `cost` may be less or more. */
  settle(amount: bigint, cost: bigint): void {
    this.#reserved -= amount;
    this.#spent += cost;
  }

  /** Gives up what is free beyond `beyond`. Others can have it once this is reported. */
  giveUp(beyond: bigint): void {
    const ceiling = this.#spent + this.#reserved + beyond;
    if (this.#ceiling > ceiling) this.#ceiling = ceiling;
  }

  /** The report to the store. An expired share keeps only what running requests have reserved. */
  report(at: number, wants: Omit<Request, "id" | "spent" | "keeps" | "free">): Request {
    if (at >= this.#until) this.giveUp(0n);
    const held = this.#ceiling - this.#spent;
    const keeps = held > this.#reserved ? held : this.#reserved;
    return { id: this.id, spent: this.#spent, keeps, free: this.free(at), ...wants };
  }

  /** From now on the share holds `held`, beyond the spending that it had reported. */
  grant({ spent }: Request, held: bigint, until: number): void {
    this.#ceiling = spent + held;
    this.#until = until;
  }
}
