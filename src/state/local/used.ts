/** The usage of per-minute limits, as the keeper and the workers exchange it. */

/** The content of a bucket that drains evenly, and the time at which it was so. */
export interface Level {
  amount: number;
  at: number;
}

/** The usage of per-minute limits after `changes` changes. Between processes, levels have ages instead of times. */
export interface Used {
  changes: number;
  requests?: Level;
  tokens?: Level;
}

/** The levels with other times, such as ages instead of moments. */
export function withTimes({ changes, requests, tokens }: Used, timeOf: (at: number) => number): Used {
  const timed = (level: Level | undefined) => level && { ...level, at: timeOf(level.at) };
  return { changes, requests: timed(requests), tokens: timed(tokens) };
}
