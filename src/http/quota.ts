/** How much each key may use, and whether it still may. */
import type { Allowance, Gauge } from "../contract/allowance.ts";
import { GatewayError } from "../errors.ts";
import { TokenBucket } from "./token_bucket.ts";

/** What a key may use; anything that is absent is not limited. */
export interface Quota {
  requestsPerMinute?: number;
  /** Tokens of input and output together. */
  tokensPerMinute?: number;
  /** A day ends at midnight UTC. */
  tokensPerDay?: number;
  /** Requests that run at once. */
  concurrentRequests?: number;
}

/** What keys used of a day; `day` counts days since the epoch. */
export interface DayUse {
  /** Resolves once it is known, or to why it is not. */
  open(name: string, day: number): Promise<unknown>;
  spent(name: string, day: number): number;
  add(name: string, day: number, tokens: number): void;
}

/** What one key uses. */
export interface Account {
  /** Resolves once its use of today is known, or to why it is not; absent where that does not matter. */
  ready?(): Promise<unknown>;
  allowance(): Allowance;
  /** Lets a request run that is sure to use so many tokens. Throws `rate_limit`. */
  admit(tokens: number): Permit;
  /** Counts a call that the gateway makes for a request which runs as one more request; false where there is none left. */
  takeCall(): boolean;
}

/** The right of one request to run. */
export interface Permit {
  /** Counts tokens that the request has used beyond those that were counted already; gives back where it is below nothing. */
  charge(tokens: number): void;
  /** The request is over. */
  release(): void;
}

/** The account of a key; nothing where it has no limits. */
export type Admission = (key: { name: string; quota?: Quota }) => Account | undefined;

const DAY_MS = 86_400_000;
/** Longer than a request waits between its account and its admission. */
const IDLE_MS = 60_000;

/** The time of day, in milliseconds since the epoch, and a clock that never steps. */
export interface Clocks {
  now(): number;
  monotonic(): number;
}

/** Days end by the time of day. Buckets fill by the other clock, or a step back would refuse everybody until it is caught up. */
export function createAdmission(clocks: Clocks, days: DayUse): Admission {
  const accounts = new Map<string, KeyAccount>();
  let next = accounts.entries();
  /** Callers with tokens may be any number: for each new account, the next two are looked at. */
  const forgetIdle = () => {
    for (let looked = 0; looked < 2; looked++) {
      const { value, done } = next.next();
      if (done) next = accounts.entries();
      else if (value[1].isIdle(clocks.monotonic())) accounts.delete(value[0]);
    }
  };
  return ({ name, quota }) => {
    if (!quota) return undefined;
    const account = accounts.get(name) ?? new KeyAccount(name, quota, clocks, days);
    if (!accounts.has(name)) forgetIdle();
    accounts.set(name, account);
    account.limit(quota);
    return account;
  };
}

/** One key's account, for good: the requests that run count themselves out of it. */
class KeyAccount implements Account {
  readonly #name: string;
  readonly #clocks: Clocks;
  readonly #days: DayUse;
  #quota: Quota | undefined;
  #requests: TokenBucket | undefined;
  #tokens: TokenBucket | undefined;
  #running = 0;
  /** By the clock that never steps. */
  #usedAt: number;

  constructor(name: string, quota: Quota, clocks: Clocks, days: DayUse) {
    this.#name = name;
    this.#clocks = clocks;
    this.#days = days;
    this.#usedAt = clocks.monotonic();
    this.limit(quota);
  }

  /** Whether a new account would allow the same. */
  isIdle(now: number): boolean {
    const isFull = (bucket: TokenBucket | undefined) => !bucket || bucket.level(now) >= bucket.limit;
    return this.#running === 0 && now - this.#usedAt >= IDLE_MS && isFull(this.#requests) && isFull(this.#tokens);
  }

  /** Limits may change while the gateway runs; what was used stays used. */
  limit(quota: Quota): void {
    this.#usedAt = this.#clocks.monotonic();
    if (this.#quota === quota) return;
    // A key that is read from the store again brings the same limits as another object.
    const isSame = JSON.stringify(this.#quota) === JSON.stringify(quota);
    this.#quota = quota;
    if (isSame) return;
    const bucket = (limit: number | undefined) =>
      limit === undefined ? undefined : new TokenBucket(limit, this.#clocks.monotonic());
    this.#requests = bucket(quota.requestsPerMinute);
    this.#tokens = bucket(quota.tokensPerMinute);
  }

  get ready(): (() => Promise<unknown>) | undefined {
    return this.#quota?.tokensPerDay === undefined ? undefined : () => this.#days.open(this.#name, this.#today());
  }

  /** A function of its own: it is handed on without its account. */
  readonly allowance = (): Allowance => {
    const requests = this.#requests?.gauge(this.#clocks.monotonic());
    const tokens = this.#tightest();
    return { ...(requests && { requests }), ...(tokens && { tokens }) };
  };

  admit(tokens: number): Permit {
    const at = this.#clocks.monotonic();
    const reached = this.#findReached(tokens, at);
    if (reached) {
      const [what, waitMs] = reached;
      const retryAfter = String(Math.max(1, Math.ceil(waitMs / 1000)));
      throw new GatewayError("rate_limit", `Key "${this.#name}" may use no more than ${what}`, { retryAfter });
    }
    this.#requests?.take(1, at);
    this.#tokens?.take(tokens, at);
    this.#addToDay(tokens);
    this.#running++;
    let over = false;
    return {
      charge: (more) => {
        this.#tokens?.owe(more, this.#clocks.monotonic());
        this.#addToDay(more);
      },
      release: () => {
        if (!over) this.#running--;
        over = true;
      },
    };
  }

  takeCall(): boolean {
    const at = this.#clocks.monotonic();
    if ((this.#requests?.waitMs(1, at) ?? 0) > 0) return false;
    this.#requests?.take(1, at);
    return true;
  }

  /** The first limit that is reached, and how long it stays so, in milliseconds. */
  #findReached(tokens: number, at: number): [what: string, waitMs: number] | undefined {
    const { concurrentRequests = Infinity, tokensPerDay } = this.#quota ?? {};
    if (this.#running >= concurrentRequests) return [`${concurrentRequests} requests at once`, 1_000];
    if (tokensPerDay !== undefined && this.#days.spent(this.#name, this.#today()) >= tokensPerDay) {
      return [`${tokensPerDay} tokens a day`, this.#untilMidnight()];
    }
    const requestWaitMs = this.#requests?.waitMs(1, at) ?? 0;
    if (requestWaitMs > 0) return [`${this.#requests!.limit} requests a minute`, requestWaitMs];
    // A request that is larger than a minute's worth is served when all of that is there.
    const tokenWaitMs = this.#tokens?.waitMs(Math.max(tokens, 1), at) ?? 0;
    return tokenWaitMs > 0 ? [`${this.#tokens!.limit} tokens a minute`, tokenWaitMs] : undefined;
  }

  /** Of the limits on tokens, the one that leaves the least: it is the one to go by. */
  #tightest(): Gauge | undefined {
    const limit = this.#quota?.tokensPerDay;
    const gauges = [
      ...(this.#tokens ? [this.#tokens.gauge(this.#clocks.monotonic())] : []),
      ...(limit === undefined ? [] : [this.#dayGauge(limit)]),
    ];
    return gauges.toSorted((a, b) => a.remaining - b.remaining)[0];
  }

  #dayGauge(limit: number): Gauge {
    const remaining = Math.max(0, limit - this.#days.spent(this.#name, this.#today()));
    return { limit, remaining, resetMs: this.#untilMidnight() };
  }

  #addToDay(tokens: number): void {
    if (this.#quota?.tokensPerDay !== undefined) this.#days.add(this.#name, this.#today(), tokens);
  }

  #today(): number {
    return Math.floor(this.#clocks.now() / DAY_MS);
  }

  #untilMidnight(): number {
    return (this.#today() + 1) * DAY_MS - this.#clocks.now();
  }
}
