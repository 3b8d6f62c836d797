import { BoundedMap } from "../util/bounded_map.ts";

/** When and how long a failing target rests, in milliseconds. */
export interface BreakerPace {
  /** The number of failures in a row after which a target rests. */
  failures: number;
  /** The length of the first rest. Each further one is twice as long. */
  restMs: number;
  longestRestMs: number;
}

interface State {
  failures: number;
  restMs: number;
  restsUntil: number;
  /** When the request was sent that tests whether the target has recovered. */
  probedAt?: number;
}

const PACE: BreakerPace = { failures: 5, restMs: 10_000, longestRestMs: 120_000 };
/** A probe that has not returned after this time is ignored, in milliseconds. */
const PROBE_MS = 60_000;
/** How many targets are remembered. The one whose latest failure is oldest is dropped first. */
const MOST_TARGETS = 10_000;

/**
 * Tracks which targets fail. A failing target rests: others are preferred for a while. Then one request at a time tests whether
 * it has recovered. A target is a model at an upstream or provider with a credential, so a failure for one credential does not
 * count against another.
 */
export class Breaker {
  readonly #states = new BoundedMap<string, State>(MOST_TARGETS);
  readonly #now: () => number;
  readonly #pace: BreakerPace;
  readonly #onRest?: (id: string, ms: number) => void;

  /** `onRest` is called when a target starts to rest, with the duration. */
  constructor(now: () => number, pace: Partial<BreakerPace> = {}, onRest?: (id: string, ms: number) => void) {
    this.#now = now;
    this.#pace = { ...PACE, ...pace };
    this.#onRest = onRest;
  }

  /** The order in which to try the targets. Resting targets come last, because nothing else may be left. */
  order<T>(targets: readonly T[], idOf: (target: T) => string): T[] {
    if (this.#states.size === 0 || targets.length < 2) return [...targets];
    const resting = new Set(targets.filter((target) => this.#rests(idOf(target))));
    const awake = targets.filter((target) => !resting.has(target));
    // Only the first target is sure to be tried, so only that one counts as probed.
    if (awake.length > 0) this.#probe(idOf(awake[0]!));
    return [...awake, ...resting];
  }

  succeeded(id: string): void {
    this.#states.delete(id);
  }

  /** `waitMs`: the wait that the target requested. */
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

  /** Another gateway found that the target fails. It rests here as well, and then one request tests whether it has recovered. */
  rest(id: string, ms: number): void {
    const state = this.#states.get(id) ?? { failures: 0, restMs: this.#pace.restMs, restsUntil: 0 };
    state.failures = Math.max(state.failures, this.#pace.failures);
    this.#extend(state, ms);
    this.#states.set(id, state);
  }

  #extend(state: State, ms: number): void {
    state.restsUntil = Math.max(state.restsUntil, this.#now() + Math.min(ms, this.#pace.longestRestMs));
  }

  /** The targets that are resting now. */
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
