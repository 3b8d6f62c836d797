import { BoundedMap } from "../util/bounded_map.ts";

/** How long a target rests that fails, in milliseconds. */
export interface BreakerPace {
  /** After this many failures in a row it rests. */
  failures: number;
  /** Its first rest; each further one is twice as long. */
  restMs: number;
  longestRestMs: number;
}

interface State {
  failures: number;
  restMs: number;
  restsUntil: number;
  /** When the request went out that finds out whether it has recovered. */
  probedAt?: number;
}

const PACE: BreakerPace = { failures: 5, restMs: 10_000, longestRestMs: 120_000 };
/** A probe that has not come back by then is ignored, in milliseconds. */
const PROBE_MS = 60_000;
/** How many targets are remembered; the one that failed first is forgotten for a further one. */
const MOST_TARGETS = 10_000;

/**
 * Which targets fail. One that does is not to be asked before others for a while; then one request at a time finds out
 * whether it has recovered. A target is a model at a place with a credential, so that what fails for one does not count
 * against another.
 */
export class Breaker {
  readonly #states = new BoundedMap<string, State>(MOST_TARGETS);
  readonly #now: () => number;
  readonly #pace: BreakerPace;
  readonly #onRest?: (id: string, ms: number) => void;

  /** `onRest`: whoever is to know that a target rests from now on, and for how long. */
  constructor(now: () => number, pace: Partial<BreakerPace> = {}, onRest?: (id: string, ms: number) => void) {
    this.#now = now;
    this.#pace = { ...PACE, ...pace };
    this.#onRest = onRest;
  }

  /** The targets in the order in which to ask them: those that rest come last, because they may be all that is left. */
  order<T>(targets: readonly T[], idOf: (target: T) => string): T[] {
    if (this.#states.size === 0 || targets.length < 2) return [...targets];
    const resting = new Set(targets.filter((target) => this.#rests(idOf(target))));
    const awake = targets.filter((target) => !resting.has(target));
    // Only the first is sure to be asked, so only its probe is one.
    if (awake.length > 0) this.#probe(idOf(awake[0]!));
    return [...awake, ...resting];
  }

  succeeded(id: string): void {
    this.#states.delete(id);
  }

  /** `waitMs`: the wait that the target asks for. */
  failed(id: string, waitMs = 0): void {
    const state = this.#states.get(id) ?? { failures: 0, restMs: this.#pace.restMs, restsUntil: 0 };
    const wasProbed = state.probedAt !== undefined;
    state.failures++;
    state.probedAt = undefined;
    if (wasProbed) state.restMs = Math.min(2 * state.restMs, this.#pace.longestRestMs);
    const restMs = Math.max(state.failures >= this.#pace.failures ? state.restMs : 0, waitMs);
    if (restMs > 0) {
      this.#extend(state, restMs);
      this.#onRest?.(id, state.restsUntil - this.#now());
    }
    this.#states.set(id, state);
  }

  /** Another gateway found out that the target fails: it rests here, too, and then one request finds out whether it has recovered. */
  rest(id: string, ms: number): void {
    const state = this.#states.get(id) ?? { failures: 0, restMs: this.#pace.restMs, restsUntil: 0 };
    state.failures = Math.max(state.failures, this.#pace.failures);
    this.#extend(state, ms);
    this.#states.set(id, state);
  }

  #extend(state: State, ms: number): void {
    state.restsUntil = Math.max(state.restsUntil, this.#now() + Math.min(ms, this.#pace.longestRestMs));
  }

  /** The targets that rest now. */
  resting(): string[] {
    return [...this.#states.keys()].filter((id) => this.#rests(id));
  }

  #rests(id: string): boolean {
    const state = this.#states.get(id);
    if (!state) return false;
    const now = this.#now();
    return now < state.restsUntil || (state.probedAt !== undefined && now < state.probedAt + PROBE_MS);
  }

  #probe(id: string): void {
    const state = this.#states.get(id);
    if (state && state.restsUntil > 0) state.probedAt = this.#now();
  }
}
