/**
 * What each key uses, as all gateways on one store count it. While they cannot count together, each continues from its last
 * known counts and assumes that every other gateway uses as much as it does.
 *
 * Budgets in dollars work differently. A gateway leases a slice of a budget and spends it without asking, because the cost of an
 * answer is known only at its end. Here each request asks, because "60 a minute" must mean 60.
 */
import type { Allowance, Quota } from "../contract/allowance.ts";
import type { SharedCounts } from "../contract/shared_counts.ts";
import type { Account, Admission, Permit } from "./admission.ts";
import type { Clocks } from "../util/clocks.ts";
import { accountsBy, type DayUse, KeyAccount, limitReached } from "./quota.ts";

/** How many milliseconds it may take until the server knows that a request has ended. */
const ENDING_MS = 25;

export function createSharedAdmission(clocks: Clocks, counts: SharedCounts): Admission {
  return accountsBy(clocks, (name, quota) => new SharedAccount(name, quota, clocks, counts));
}

class SharedAccount implements Account {
  readonly #name: string;
  readonly #counts: SharedCounts;
  readonly #days = new KnownDay();
  /** The local copy of the counts, from the latest answers. */
  readonly #mirror: KeyAccount;
  #quota: Quota;
  #isKnown = false;

  constructor(name: string, quota: Quota, clocks: Clocks, counts: SharedCounts) {
    this.#name = name;
    this.#quota = quota;
    this.#counts = counts;
    this.#mirror = new KeyAccount(name, quota, clocks, this.#days);
  }

  limit(quota: Quota): void {
    this.#quota = quota;
    this.#mirror.limit(quota);
  }

  isIdle(now: number): boolean {
    return this.#mirror.isIdle(now);
  }

  readonly allowance = (): Allowance => this.#isKnown ? this.#mirror.allowance() : {};

  /** Counts only what this gateway receives: the server is asked once the request is known. */
  receive(): () => void {
    return this.#mirror.receive();
  }

  admit(tokens: number, explain?: (failure: unknown) => void): Permit | Promise<Permit> {
    if (Object.keys(this.#quota).length === 0) return this.#mirror.admitNow(tokens);
    return this.#counts.isUp() ? this.#ask(tokens, explain) : this.#admitAlone(tokens, explain);
  }

  async takeCall(): Promise<boolean> {
    const { requestsPerMinute } = this.#quota;
    if (requestsPerMinute === undefined) return true;
    if (this.#counts.isUp()) {
      try {
        return (await this.#counts.take(this.#place, { requestsPerMinute }, 0)).reached === undefined;
      } catch {
        return this.#mirror.takeCall(this.#counts.gateways);
      }
    }
    const isTaken = this.#mirror.takeCall(this.#counts.gateways);
    if (isTaken) this.#counts.owe(this.#place, this.#quota, { requests: 1, tokens: 0 });
    return isTaken;
  }

  get #place(): string {
    return `key ${this.#name}`;
  }

  async #ask(tokens: number, explain?: (failure: unknown) => void): Promise<Permit> {
    const id = this.#counts.newId();
    const quota = this.#quota;
    const take = () => this.#counts.take(this.#place, quota, tokens, id);
    let taken;
    try {
      taken = await take();
      if (taken.reached === "concurrentRequests") {
        // A request that has just ended on another gateway may reach the server after this one.
        await new Promise((resolve) => setTimeout(resolve, ENDING_MS));
        taken = await take();
      }
    } catch {
      return this.#admitUnsure(id, tokens, explain);
    }
    this.#isKnown = true;
    this.#mirror.know(taken.used);
    this.#days.know(taken.used.dayTokens);
    if (taken.reached) throw limitReached(this.#name, quota, taken.reached, taken.waitMs);
    return settledAs(this.#mirror.begin(), (more) => {
      this.#counts.settle(this.#place, quota, { id, counted: tokens, tokens: tokens + more });
    });
  }

  /** Admits without asking the server. */
  #admitAlone(tokens: number, explain?: (failure: unknown) => void): Permit {
    const id = this.#counts.newId();
    const quota = this.#quota;
    return settledAs(
      this.#admitHere(id, tokens, explain),
      (more) => this.#counts.owe(this.#place, quota, { id, requests: 1, tokens: tokens + more }),
    );
  }

  /** Admits after the server was asked, without knowing whether it counted the request. */
  #admitUnsure(id: string, tokens: number, explain?: (failure: unknown) => void): Permit {
    const quota = this.#quota;
    const settle = (requests: number, used: number) =>
      this.#counts.settle(this.#place, quota, { id, counted: tokens, tokens: used, unsure: { requests } });
    try {
      return settledAs(this.#admitHere(id, tokens, explain), (more) => settle(1, tokens + more));
    } catch (refusal) {
      settle(0, 0);
      throw refusal;
    }
  }

  #admitHere(id: string, tokens: number, explain?: (failure: unknown) => void): Permit {
    const failure = this.#counts.takeFailure();
    if (failure) explain?.(failure);
    this.#isKnown = true;
    const permit = this.#mirror.admitNow(tokens, this.#counts.gateways);
    if (this.#quota.concurrentRequests !== undefined) this.#counts.hold(this.#place, id);
    return permit;
  }
}

/** The last known usage of the day, plus what this gateway has used since. */
class KnownDay implements DayUse {
  #day = 0;
  #tokens = 0;

  open(): Promise<unknown> {
    return Promise.resolve();
  }

  know(tokens: number): void {
    this.#tokens = tokens;
  }

  spent(_name: string, day: number): number {
    // The server counts by its own days. A new day starts here at 0 until the server answers.
    if (day > this.#day) {
      if (this.#day > 0) this.#tokens = 0;
      this.#day = day;
    }
    return this.#tokens;
  }

  add(name: string, day: number, tokens: number): void {
    this.#tokens = Math.max(0, this.spent(name, day) + tokens);
  }
}

/** The same permit, which also settles elsewhere. */
function settledAs(permit: Permit, settle: (more: number) => void): Permit {
  let isOver = false;
  return {
    settle(more = 0) {
      permit.settle(more);
      if (!isOver) settle(more);
      isOver = true;
    },
  };
}
