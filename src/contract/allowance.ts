/** How much a caller may use; anything that is absent is not limited. */
export interface Quota {
  requestsPerMinute?: number;
  /** Tokens of input and output together. */
  tokensPerMinute?: number;
  /** A day ends at midnight UTC. */
  tokensPerDay?: number;
  /** Requests that run at once. */
  concurrentRequests?: number;
}

/** What is left of one limit. */
export interface Gauge {
  limit: number;
  remaining: number;
  /** When all of it is there again, in milliseconds from now. */
  resetMs: number;
}

/** The same of money, in dollars as decimal texts. */
export interface DollarGauge {
  limit: string;
  remaining: string;
  /** Absent where it is never there again. */
  resetMs?: number;
}

/** What a caller may still do; protocols send it in headers of their own. */
export interface Allowance {
  requests?: Gauge;
  tokens?: Gauge;
  dollars?: DollarGauge;
}
