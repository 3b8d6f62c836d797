import { builtin } from "../util/builtin.ts";
import type { JsonValue } from "../canonical/json.ts";
import { type ErrorCode, toGatewayError } from "../errors.ts";
import { BoundedMap } from "../util/bounded_map.ts";
import { settleWithin } from "../util/timeout.ts";

export interface ExactOptions {
  /** Milliseconds by a monotonic clock. */
  now(): number;
  pace?: Partial<ExactPace>;
}

/** In milliseconds, except the plain numbers. */
export interface ExactPace {
  /** How long a request waits for its count, including its time in the queue. */
  patienceMs: number;
  /** How long a count is valid. A restarted server may count differently. */
  freshMs: number;
  /** How long a service is not asked again after a failure, so that further requests do not wait in vain. */
  restMs: number;
  mostAtOnce: number;
  mostWaiting: number;
  /** How many counts, and how many services, are kept. */
  mostKept: number;
}

const PACE: ExactPace = {
  patienceMs: 2_000,
  freshMs: 300_000,
  restMs: 30_000,
  mostAtOnce: 4,
  mostWaiting: 64,
  mostKept: 500,
};

interface Kept {
  count: Promise<number | undefined>;
  /** Set once the count is known. */
  tokens?: number;
  until: number;
}

/** Errors of a single request, or of its caller's own token. */
const REFUSALS: ReadonlySet<ErrorCode> = new Set([
  "invalid_request",
  "context_length_exceeded",
  "authentication",
  "permission",
]);

interface TargetQueue {
  running: number;
  waiting: (() => void)[];
  restUntil: number;
}

/**
 * Counts that another service makes, which may fail. Agents send two dozen requests at the same moment, many of them equal.
 * Equal ones are sent once, and the others a few at a time.
 */
export class ExactCounts {
  readonly #now: () => number;
  readonly #pace: ExactPace;
  readonly #places = new Map<string, TargetQueue>();
  readonly #kept: BoundedMap<string, Kept>;

  constructor({ now, pace }: ExactOptions) {
    this.#now = now;
    this.#pace = { ...PACE, ...pace };
    this.#kept = new BoundedMap(this.#pace.mostKept);
  }

  /** The tokens of `text` as counted by `ask` at `place`. `undefined` if that fails or takes too long. */
  async of(place: string, text: JsonValue, ask: () => Promise<number>): Promise<number | undefined> {
    const key = keyOf(place, text);
    const known = this.#placeOf(place);
    const kept = this.#fresh(key) ?? {
      count: this.#begin(known, ask),
      until: this.#now() + this.#pace.freshMs,
    };
    this.#kept.set(key, kept);
    kept.tokens ??= await settleWithin(kept.count, this.#pace.patienceMs);
    if (kept.tokens === undefined && this.#kept.get(key) === kept) this.#kept.delete(key);
    return kept.tokens;
  }

  /** The count if it was made recently. */
  known(place: string, text: () => JsonValue): number | undefined {
    return this.#places.has(place) ? this.#fresh(keyOf(place, text()))?.tokens : undefined;
  }

  #fresh(key: string): Kept | undefined {
    const kept = this.#kept.get(key);
    return kept && this.#now() < kept.until ? kept : undefined;
  }

  /** Clients choose the names of places, so the least recently used ones are dropped. */
  #placeOf(name: string): TargetQueue {
    const place = this.#places.get(name) ?? { running: 0, waiting: [], restUntil: -Infinity };
    this.#places.delete(name);
    this.#places.set(name, place);
    for (const [other, { running }] of this.#places) {
      if (this.#places.size <= this.#pace.mostKept) break;
      if (running === 0) this.#places.delete(other);
    }
    return place;
  }

  async #begin(place: TargetQueue, ask: () => Promise<number>): Promise<number | undefined> {
    const { mostAtOnce, mostWaiting, restMs } = this.#pace;
    if (this.#now() < place.restUntil || place.waiting.length >= mostWaiting) return undefined;
    if (place.running >= mostAtOnce) await new Promise<void>((resolve) => place.waiting.push(resolve));
    else place.running++;
    try {
      // Requests that waited behind a failure would fail as well.
      return this.#now() < place.restUntil ? undefined : await ask().catch((thrown) => again(thrown, ask));
    } catch (thrown) {
      const { code, details } = toGatewayError(thrown);
      if (!REFUSALS.has(code) && !details.own) place.restUntil = this.#now() + restMs;
      return undefined;
    } finally {
      const next = place.waiting.shift();
      if (next) next();
      else place.running--;
    }
  }
}

function keyOf(place: string, text: JsonValue): string {
  return builtin("node:crypto").hash("sha256", JSON.stringify([place, text]), "base64");
}

/** A server may close a kept connection just as it is used again. Counting twice is harmless. */
function again(thrown: unknown, ask: () => Promise<number>): Promise<number> {
  const { code, details } = toGatewayError(thrown);
  if (code !== "upstream_error" || details.upstreamStatus !== undefined || details.retryable === false) throw thrown;
  return ask();
}
