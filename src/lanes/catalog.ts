import type { ModelInfo } from "../canonical/models.ts";
import { GatewayError } from "../errors.ts";
import { settleWithin } from "../util/timeout.ts";
import { within } from "./within.ts";

/** The models that a catalog knows, by name; loaded when they are asked for, and kept. */
export interface CatalogCache {
  /** At once where there is a list, old or new. Throws why there is none. */
  models(): Promise<ReadonlyMap<string, ModelInfo>>;
}

export interface CatalogOptions {
  /** Asks for the whole list. Ends soon after `signal` is aborted. */
  load(signal: AbortSignal): Promise<readonly ModelInfo[]>;
  /** Aborted when the gateway stops. No request's own: what one client asks for serves all. */
  signal: AbortSignal;
  /** Milliseconds by a clock that never steps. */
  now(): number;
  pace?: CatalogPace;
}

/** All in milliseconds. */
export interface CatalogPace {
  /** How long a list is not asked for again. */
  freshMs: number;
  /** How long after a failure nothing is asked for. */
  retryAfterMs: number;
  /** How long clients wait for the first list. */
  patienceMs: number;
  /** How long the source may take. */
  timeoutMs: number;
}

const PACE: CatalogPace = { freshMs: 600_000, retryAfterMs: 30_000, patienceMs: 2_000, timeoutMs: 10_000 };
/** What all hubs together hardly offer; a longer list is no list of models to choose from. */
const MOST_MODELS = 20_000;

/**
 * One list for all who ask. A list that is old is given all the same while a new one is on its way, and while none can be
 * had; one load runs at a time.
 */
export function createCatalogCache({ load, signal, now, pace = PACE }: CatalogOptions): CatalogCache {
  let models: ReadonlyMap<string, ModelInfo> | undefined;
  let failure: GatewayError | undefined;
  let restUntil = -Infinity;
  let running: { done: Promise<void>; waitUntil: number } | undefined;

  async function refresh(): Promise<void> {
    try {
      models = index(await within(pace.timeoutMs, signal, load));
      failure = undefined;
      restUntil = now() + pace.freshMs;
    } catch (thrown) {
      failure = unavailable(thrown);
      restUntil = now() + pace.retryAfterMs;
    } finally {
      running = undefined;
    }
  }

  return {
    async models() {
      if (!running && now() >= restUntil) {
        running = { waitUntil: performance.now() + pace.patienceMs, done: Promise.resolve() };
        running.done = refresh();
      }
      if (!models && running) await settleWithin(running.done, Math.max(0, running.waitUntil - performance.now()));
      if (models) return models;
      throw failure ?? new GatewayError("unavailable", "The catalog has not answered yet");
    },
  };
}

function index(models: readonly ModelInfo[]): Map<string, ModelInfo> {
  if (models.length > MOST_MODELS) {
    throw new GatewayError("upstream_error", `The catalog lists more than ${MOST_MODELS} models`);
  }
  return new Map(models.map((model) => [model.id, model]));
}

function unavailable(thrown: unknown): GatewayError {
  return thrown instanceof GatewayError
    ? thrown
    : new GatewayError("unavailable", "The catalog cannot be read", { cause: thrown });
}
