/** What each key uses, as counted by this process. */
import type { Allowance, Gauge, Quota } from "../contract/allowance.ts";
import { GatewayError } from "../errors.ts";
import type { Clocks } from "../util/clocks.ts";
import type { Account, Admission, Permit } from "./admission.ts";
import { TokenBucket } from "./token_bucket.ts";

/** What keys used in a day. `day` counts days since the epoch. */
export interface DayUse {
  /** Resolves when the usage is known, or to the reason why it is not. */
  open(name: string, day: number): Promise<unknown>;
  spent(name: string, day: number): number;
  add(name: string, day: number, tokens: number): void;
}

const DAY_MS = 86_400_000;
/** Longer than the time between looking up an account and admitting the request. */
const IDLE_MS = 60_000;
/** When to retry if too many requests are running. One of them may end at any time. */
const BUSY_MS = 1_000;

/**
 * Days end by the time of day. Buckets fill by the monotonic clock. Otherwise, setting the clock back would lock out everybody
 * until it catches up.
 */
export function createAdmission(clocks: Clocks, days: DayUse): Admission {
  return accountsBy(clocks, (name, quota) => new KeyAccount(name, quota, clocks, days));
}

interface HeldAccount extends Account {
  limit(quota: Quota): void;
  isIdle(now: number): boolean;
}

/** Accounts by name. Each is created on its key's first request, and kept as long as it knows more than a new one would. */
export function accountsBy(
  { monotonic }: Pick<Clocks, "monotonic">,
  make: (name: string, quota: Quota) => HeldAccount,
): Admission {
  const accounts = new Map<string, HeldAccount>();
  let next = accounts.entries();
  /** Any number of callers may have tokens, so two accounts are checked for each new one. */
  const forgetIdle = () => {
    for (let looked = 0; looked < 2; looked++) {
      const { value, done } = next.next();
      if (done) next = accounts.entries();
      else if (value[1].isIdle(monotonic())) accounts.delete(value[0]);
    }
  };
  return ({ name, quota }) => {
    if (!quota) return undefined;
    const account = accounts.get(name) ?? make(name, quota);
    if (!accounts.has(name)) forgetIdle();
    accounts.set(name, account);
    account.limit(quota);
    return account;
  };
}

/** The account of one key. Running requests settle with this same object. */
export class KeyAccount implements Account {
  readonly #name: string;
  readonly #clocks: Clocks;
  readonly #days: DayUse;
  #quota: Quota = {};
  #requests: TokenBucket | undefined;
  #tokens: TokenBucket | undefined;
  #running = 0;
  /** Requests whose bodies are being read. */
  #receiving = 0;
  /** By the monotonic clock. */
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
    return this.#running + this.#receiving === 0 && now - this.#usedAt >= IDLE_MS && isFull(this.#requests) &&
      isFull(this.#tokens);
  }

  /** Limits may change while the gateway runs. Usage remains counted. */
  limit(quota: Quota): void {
    this.#usedAt = this.#clocks.monotonic();
    if (this.#quota === quota) return;
    // When a key is read from the store again, its limits are equal but a new object.
    const isSame = JSON.stringify(this.#quota) === JSON.stringify(quota);
    this.#quota = quota;
    if (isSame) return;
    const bucket = (limit: number | undefined) =>
      limit === undefined ? undefined : new TokenBucket(limit, this.#clocks.monotonic());
    this.#requests = bucket(quota.requestsPerMinute);
    this.#tokens = bucket(quota.tokensPerMinute);
  }

  /** An arrow function, because it is passed on without its account. */
  readonly allowance = (): Allowance => {
    const requests = this.#requests?.gauge(this.#clocks.monotonic());
    const tokens = this.#tightest();
    return { ...(requests && { requests }), ...(tokens && { tokens }) };
  };

  receive(): () => void {
    const { concurrentRequests = Infinity } = this.#quota;
    const begun = this.#running + this.#receiving;
    if (begun > 0 && begun >= concurrentRequests) {
      throw limitReached(this.#name, this.#quota, "concurrentRequests", BUSY_MS);
    }
    this.#receiving++;
    return () => void this.#receiving--;
  }

  /** The first request of a day waits until the day's earlier usage is known. If it cannot be known, the local count is used. */
  admit(tokens: number, explain?: (failure: unknown) => void): Permit | Promise<Permit> {
    if (this.#quota.tokensPerDay === undefined) return this.admitNow(tokens);
    return this.#days.open(this.#name, this.#today()).then((failure) => {
      if (failure !== undefined) explain?.(failure);
      return this.admitNow(tokens);
    });
  }

  /** `weight`: the number of gateways for which this one counts. Each is assumed to use as much as this one. */
  admitNow(tokens: number, weight = 1): Permit {
    const at = this.#clocks.monotonic();
    const reached = this.#findReached(tokens, weight, at);
    if (reached) throw limitReached(this.#name, this.#quota, ...reached);
    this.#requests?.take(weight, at);
    this.#tokens?.take(tokens * weight, at);
    this.#addToDay(tokens * weight);
    return this.begin(weight);
  }

  /** Starts one more request that was admitted and counted elsewhere. */
  begin(weight = 1): Permit {
    this.#running++;
    let isOver = false;
    return {
      settle: (more = 0) => {
        if (isOver) return;
        isOver = true;
        this.#running--;
        this.#tokens?.owe(more * weight, this.#clocks.monotonic());
        this.#addToDay(more * weight);
      },
    };
  }

  takeCall(weight = 1): boolean {
    const at = this.#clocks.monotonic();
    if ((this.#requests?.waitMs(weight, at) ?? 0) > 0) return false;
    this.#requests?.take(weight, at);
    return true;
  }

  /** Takes over the usage of the limits per minute from a count that covers more than this process. */
  know({ requests, tokens }: { requests: number; tokens: number }): void {
    const at = this.#clocks.monotonic();
    this.#requests?.set(requests, at);
    this.#tokens?.set(tokens, at);
  }

  /** The first limit that is reached, and how many milliseconds it remains so. */
  #findReached(tokens: number, weight: number, at: number): [keyof Quota, waitMs: number] | undefined {
    const { concurrentRequests = Infinity, tokensPerDay } = this.#quota;
    // One request may always run.
    if (this.#running > 0 && (this.#running + 1) * weight > concurrentRequests) return ["concurrentRequests", BUSY_MS];
    if (tokensPerDay !== undefined && this.#days.spent(this.#name, this.#today()) >= tokensPerDay) {
      return ["tokensPerDay", this.#untilMidnight()];
    }
    const requestWaitMs = this.#requests?.waitMs(weight, at) ?? 0;
    if (requestWaitMs > 0) return ["requestsPerMinute", requestWaitMs];
    // A request larger than the limit per minute is served once the bucket is full.
    const tokenWaitMs = this.#tokens?.waitMs(Math.max(tokens, 1) * weight, at) ?? 0;
    return tokenWaitMs > 0 ? ["tokensPerMinute", tokenWaitMs] : undefined;
  }

  /** The token limit with the least remaining, which is the relevant one. */
  #tightest(): Gauge | undefined {
    const limit = this.#quota.tokensPerDay;
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
    if (this.#quota.tokensPerDay !== undefined) this.#days.add(this.#name, this.#today(), tokens);
  }

  #today(): number {
    return Math.floor(this.#clocks.now() / DAY_MS);
  }

  #untilMidnight(): number {
    return (this.#today() + 1) * DAY_MS - this.#clocks.now();
  }
}

const WORDS: Record<keyof Quota, string> = {
  requestsPerMinute: "requests per minute",
  tokensPerMinute: "tokens per minute",
  tokensPerDay: "tokens per day",
  concurrentRequests: "concurrent requests",
};

/** The error for a key that has reached a limit. */
export function limitReached(name: string, quota: Quota, reached: keyof Quota, waitMs: number): GatewayError {
  const retryAfter = String(Math.max(1, Math.ceil(waitMs / 1000)));
  const words = quota[reached] === 1 ? WORDS[reached].replace(/(request|token)s/, "$1") : WORDS[reached];
  const message = `Key "${name}" is limited to ${quota[reached]} ${words}`;
  return new GatewayError("rate_limit", message, { retryAfter });
}
