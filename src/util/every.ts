/** Periodic work for very many streams, with one timer for each period. */

export interface Round {
  timer: ReturnType<typeof setInterval>;
  members: Set<Member>;
}

/** Its `run` is removed when it leaves: see `Dependent` in `abort.ts`. */
interface Member {
  run: (() => void) | undefined;
}

/** The rounds by their period in milliseconds. Tests with a clock of their own replace them. */
export const rounds: Map<number, Round> = new Map<number, Round>();

/**
 * Calls `run` every `ms` milliseconds. The first call may come earlier, because new members join a timer that is already
 * running. The returned function ends the calls.
 */
export function every(ms: number, run: () => void): () => void {
  const round = rounds.get(ms) ?? beginRound(ms);
  const member: Member = { run };
  round.members.add(member);
  return () => {
    member.run = undefined;
    if (!round.members.delete(member) || round.members.size > 0) return;
    clearInterval(round.timer);
    rounds.delete(ms);
  };
}

function beginRound(ms: number): Round {
  const members = new Set<Member>();
  const timer = setInterval(() => {
    for (const { run } of members) run?.();
  }, ms);
  const round = { timer, members };
  rounds.set(ms, round);
  return round;
}
