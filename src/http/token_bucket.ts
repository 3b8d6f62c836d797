import type { Gauge } from "../contract/allowance.ts";

const MINUTE_MS = 60_000;

/** Fills up evenly, so that a minute's worth can be used at once and then as it comes. */
export class TokenBucket {
  readonly limit: number;
  #level: number;
  #at: number;

  /** `limit`: how much is there at most, which is also what a minute fills up. */
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

  /** So much of it is used. */
  set(used: number, now: number): void {
    this.#level = this.limit - used;
    this.#at = now;
  }

  /** It may go below nothing, where more was used than anybody knew before. */
  take(amount: number, now: number): void {
    this.#level = this.level(now) - amount;
  }

  /**
   * Takes what an answer turned out to have used beyond what was known before. That puts it in debt by a minute's worth at most,
   * so that no answer locks a key for longer than it takes to fill up.
   */
  owe(amount: number, now: number): void {
    const level = this.level(now);
    this.#level = Math.max(level - amount, Math.min(level, -this.limit));
  }

  /** How long until there is `amount` in it. */
  waitMs(amount: number, now: number): number {
    return Math.max(0, (Math.min(amount, this.limit) - this.level(now)) * MINUTE_MS / this.limit);
  }

  gauge(now: number): Gauge {
    const remaining = Math.max(0, Math.floor(this.level(now)));
    return { limit: this.limit, remaining, resetMs: this.waitMs(this.limit, now) };
  }
}
