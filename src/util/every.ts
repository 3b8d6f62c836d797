/** What is done again and again for each of very many streams, by one timer for all of them that have the same period. */

interface Round {
  timer: ReturnType<typeof setInterval>;
  runs: Set<() => void>;
}

/** By their periods in milliseconds. */
const rounds = new Map<number, Round>();

/**
 * Calls `run` every `ms` milliseconds, the first time after any part of that: whoever comes later joins a round that goes on.
 * Returns what ends it.
 */
export function every(ms: number, run: () => void): () => void {
  const round = rounds.get(ms) ?? beginRound(ms);
  round.runs.add(run);
  return () => {
    if (!round.runs.delete(run) || round.runs.size > 0) return;
    clearInterval(round.timer);
    rounds.delete(ms);
  };
}

function beginRound(ms: number): Round {
  const runs = new Set<() => void>();
  const timer = setInterval(() => {
    for (const run of runs) run();
  }, ms);
  const round = { timer, runs };
  rounds.set(ms, round);
  return round;
}
