/** Periodic work for very many streams, with one timer for each period. */

interface Round {
  timer: ReturnType<typeof setInterval>;
  runs: Set<() => void>;
}

/** By period in milliseconds. */
const rounds = new Map<number, Round>();

/**
 * Calls `run` every `ms` milliseconds. The first call may come earlier, because new members join a timer that is already
 * running. The returned function ends the calls.
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
