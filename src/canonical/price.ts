/** What a model costs, in dollars: of tokens for a million. What is absent of cached, written and reasoning costs as its total. */
export interface Price {
  input?: number;
  output?: number;
  cached?: number;
  cacheWrite?: number;
  reasoning?: number;
  request?: number;
  search?: number;
  audioMinute?: number;
}
