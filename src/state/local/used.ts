/** What is used of limits per minute, as it passes between the keeper and the workers. */

/** What is in a bucket that drains evenly, and when that was so. */
export interface Level {
  amount: number;
  at: number;
}

/** What is used of the limits of a minute, after so many changes. Between processes each level has its age for a time. */
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
