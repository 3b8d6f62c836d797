/** One process's part of a budget, as the process itself knows it: what it may spend is decided here, without asking anybody. */
import type { Request } from "./pool.ts";

export class OwnShare {
  /** No other share has it. */
  readonly id: string;
  #spent = 0n;
  #reserved = 0n;
  /** What `#spent` and `#reserved` may come to together. */
  #ceiling = 0n;
  /** Until when that holds, by a clock that never steps. */
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

  /** What may be taken now. */
  free(at: number): bigint {
    const free = this.#ceiling - this.#spent - this.#reserved;
    return at < this.#until && free > 0n ? free : 0n;
  }

  /** Sets something aside, which what is free must have room for. */
  reserve(amount: bigint): void {
    this.#reserved += amount;
  }

  /** What was set aside has cost so much: less, or more. */
  settle(amount: bigint, cost: bigint): void {
    this.#reserved -= amount;
    this.#spent += cost;
  }

  /** Gives up all that is free but for so much. Others have it as soon as they know. */
  giveUp(beyond: bigint): void {
    const ceiling = this.#spent + this.#reserved + beyond;
    if (this.#ceiling > ceiling) this.#ceiling = ceiling;
  }

  /** What the others are shown. What it held longer than it might is nobody's any more, but for what runs. */
  report(at: number, wants: Omit<Request, "id" | "spent" | "keeps" | "free">): Request {
    if (at >= this.#until) this.giveUp(0n);
    const held = this.#ceiling - this.#spent;
    const keeps = held > this.#reserved ? held : this.#reserved;
    return { id: this.id, spent: this.#spent, keeps, free: this.free(at), ...wants };
  }

  /** It holds so much from then on, beyond what it had reported as spent. */
  grant({ spent }: Request, held: bigint, until: number): void {
    this.#ceiling = spent + held;
    this.#until = until;
  }
}
