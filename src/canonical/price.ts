/**
 * Prices in dollars, those of tokens per million. Missing prices of cached, written and reasoning tokens default to
 * that of their total.
 */
export interface Price {
  input?: number;
  output?: number;
  cached?: number;
  cacheWrite?: number;
  reasoning?: number;
  request?: number;
  search?: number;
  audioMinute?: number;
  image?: number;
}
