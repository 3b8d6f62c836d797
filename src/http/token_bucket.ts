import type { Gauge } from "../contract/allowance.ts";

const MINUTE_MS = 60_000;

/** A bucket that fills at a steady rate. A minute's worth can be used at once, and after that as it refills. */
export class TokenBucket {
  readonly limit: number;
  #level: number;
  #at: number;

  /** `limit`: the capacity, which also refills in one minute. */
  constructor(limit: number, now: number) {
    this.limit = limit;
    this.#level = limit;
    this.#at = now;
  }

  level(now: number): number {
    this.#level = Math.min(this.limit, this.#level + (now - this.#at) * this.limit / MINUTE_MS);
    this.#at = now;
    return this.#level;
  }

  /** Sets how much of the limit is used. */
  set(used: number, now: number): void {
    this.#level = this.limit - used;
    this.#at = now;
  }

  /** The level may become negative if more was used than was known before. */
  take(amount: number, now: number): void {
    this.#level = this.level(now) - amount;
  }

  /**
   * Charges what an answer used beyond the earlier count. The resulting debt is at most a minute's worth, so that no answer
   * blocks a key for longer than the bucket takes to refill.
   */
  owe(amount: number, now: number): void {
    const level = this.level(now);
    this.#level = Math.max(level - amount, Math.min(level, -this.limit));
  }

  /** Milliseconds until `amount` is available. */
  waitMs(amount: number, now: number): number {
    return Math.max(0, (Math.min(amount, this.limit) - this.level(now)) * MINUTE_MS / this.limit);
  }

  gauge(now: number): Gauge {
    const remaining = Math.max(0, Math.floor(this.level(now)));
    return { limit: this.limit, remaining, resetMs: this.waitMs(this.limit, now) };
  }
}
