/** How much each key may use, and whether it still may. */
import type { Allowance, Gauge } from "../contract/allowance.ts";
import { GatewayError } from "../errors.ts";

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

/** What keys used of a day, which is told in days since the epoch. */
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

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

/** Fills up evenly, so that a minute's worth can be used at once and then as it comes. */
class Bucket {
  #level: number;
  #at: number;

  constructor(readonly limit: number, now: number) {
    this.#level = limit;
    this.#at = now;
  }

  level(now: number): number {
    this.#level = Math.min(this.limit, this.#level + (now - this.#at) * this.limit / MINUTE_MS);
    this.#at = now;
    return this.#level;
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

interface Use {
  quota: Quota;
  requests?: Bucket;
  tokens?: Bucket;
  running: number;
}

/** The time of day, in milliseconds since the epoch, and a clock that never steps. */
export interface Clocks {
  now(): number;
  monotonic(): number;
}

/** Days end by the time of day. Buckets fill by the other clock, or a step back would refuse everybody until it is caught up. */
export function createAdmission({ now, monotonic }: Clocks, days: DayUse): Admission {
  const today = () => Math.floor(now() / DAY_MS);
  const uses = new Map<string, Use>();

  /** Limits may change while the gateway runs; what was used stays used. */
  function useOf(name: string, quota: Quota): Use {
    const known = uses.get(name);
    if (known?.quota === quota) return known;
    // A key that is read from the store again brings the same limits as another object.
    if (known && JSON.stringify(known.quota) === JSON.stringify(quota)) return Object.assign(known, { quota });
    const bucket = (limit: number | undefined) => limit === undefined ? undefined : new Bucket(limit, monotonic());
    const { requestsPerMinute, tokensPerMinute } = quota;
    const limits = { quota, requests: bucket(requestsPerMinute), tokens: bucket(tokensPerMinute) };
    // One object for good: the requests that run count themselves out of it.
    const use = Object.assign(known ?? { running: 0 }, limits);
    uses.set(name, use);
    return use;
  }

  return ({ name, quota }) => {
    if (!quota) return undefined;
    const use = useOf(name, quota);
    const { requests, tokens: minute } = use;
    const { concurrentRequests = Infinity, tokensPerDay } = quota;

    /** The first limit that is reached, and how long it stays so, in milliseconds. */
    function findReached(tokens: number, at: number): [what: string, waitMs: number] | undefined {
      if (use.running >= concurrentRequests) return [`${concurrentRequests} requests at once`, 1_000];
      if (tokensPerDay !== undefined && days.spent(name, today()) >= tokensPerDay) {
        return [`${tokensPerDay} tokens a day`, (today() + 1) * DAY_MS - now()];
      }
      const requestWaitMs = requests?.waitMs(1, at) ?? 0;
      if (requestWaitMs > 0) return [`${requests!.limit} requests a minute`, requestWaitMs];
      // A request that is larger than a minute's worth is served when all of that is there.
      const tokenWaitMs = minute?.waitMs(Math.max(tokens, 1), at) ?? 0;
      return tokenWaitMs > 0 ? [`${minute!.limit} tokens a minute`, tokenWaitMs] : undefined;
    }

    function addToDay(tokens: number): void {
      if (tokensPerDay !== undefined) days.add(name, today(), tokens);
    }

    /** What is left of the day's tokens. */
    function dayGauge(limit: number): Gauge {
      const remaining = Math.max(0, limit - days.spent(name, today()));
      return { limit, remaining, resetMs: (today() + 1) * DAY_MS - now() };
    }

    /** Of the limits on tokens, the one that leaves the least: it is the one to go by. */
    function tightest(): Gauge | undefined {
      const gauges = [
        ...(minute ? [minute.gauge(monotonic())] : []),
        ...(tokensPerDay === undefined ? [] : [dayGauge(tokensPerDay)]),
      ];
      return gauges.toSorted((a, b) => a.remaining - b.remaining)[0];
    }

    return {
      ...(tokensPerDay !== undefined && { ready: () => days.open(name, today()) }),
      allowance() {
        const tokens = tightest();
        return { ...(requests && { requests: requests.gauge(monotonic()) }), ...(tokens && { tokens }) };
      },
      admit(tokens) {
        const at = monotonic();
        const reached = findReached(tokens, at);
        if (reached) {
          const [what, waitMs] = reached;
          const retryAfter = String(Math.max(1, Math.ceil(waitMs / 1000)));
          throw new GatewayError("rate_limit", `Key "${name}" may use no more than ${what}`, { retryAfter });
        }
        requests?.take(1, at);
        minute?.take(tokens, at);
        addToDay(tokens);
        use.running++;
        let over = false;
        return {
          charge(more) {
            minute?.owe(more, monotonic());
            addToDay(more);
          },
          release() {
            if (!over) use.running--;
            over = true;
          },
        };
      },
    };
  };
}
