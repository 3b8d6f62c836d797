/** The running requests of an account. A request counts as running until its lease ends, which its gateway renews. */
import { KEPT_MS } from "../counter.ts";

export class Leases {
  /** When the lease of each id ends. The first lease ends first, because all have the same length. */
  readonly #running = new Map<string, number>();
  /** Expired leases. Their requests may still be settled. */
  readonly #past = new Map<string, number>();

  has(id: string): boolean {
    return this.#running.has(id) || this.#past.has(id);
  }

  hold(id: string, ends: number): void {
    this.release(id);
    this.#running.set(id, ends);
  }

  /** Returns whether there was a lease. */
  release(id: string): boolean {
    const wasRunning = this.#running.delete(id);
    return this.#past.delete(id) || wasRunning;
  }

  running(now: number): number {
    for (const [id, ends] of this.#running) {
      if (ends >= now) break;
      this.#running.delete(id);
      this.#past.set(id, ends);
    }
    for (const [id, ended] of this.#past) {
      if (ended > now - KEPT_MS) break;
      this.#past.delete(id);
    }
    return this.#running.size;
  }

  /** Ends the leases whose ids begin with `beginning`. */
  abandon(beginning: string, now: number): void {
    for (const id of this.#running.keys()) {
      if (!id.startsWith(beginning) && !id.startsWith(`?${beginning}`)) continue;
      this.#running.delete(id);
      this.#past.set(id, now);
    }
  }

  isEmpty(now: number): boolean {
    return this.running(now) === 0 && this.#past.size === 0;
  }
}
