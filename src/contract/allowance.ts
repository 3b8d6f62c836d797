/** How much a caller may use. An absent limit means no limit. */
export interface Quota {
  requestsPerMinute?: number;
  /** Input and output tokens together. */
  tokensPerMinute?: number;
  /** A day ends at midnight UTC. */
  tokensPerDay?: number;
  /** Requests that run at the same time. */
  concurrentRequests?: number;
}

/** The remaining part of one limit. */
export interface Gauge {
  limit: number;
  remaining: number;
  /** Milliseconds until the limit is full again. */
  resetMs: number;
}

/** The remaining part of a budget, in dollars as decimal text. */
export interface DollarGauge {
  limit: string;
  remaining: string;
  /** Absent if the budget never resets. */
  resetMs?: number;
}

/** The amounts that a caller may still use. Each protocol reports them in its own headers. */
export interface Allowance {
  requests?: Gauge;
  tokens?: Gauge;
  dollars?: DollarGauge;
}
