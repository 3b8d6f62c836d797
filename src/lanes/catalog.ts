import type { ModelInfo } from "../canonical/models.ts";
import { type ErrorCode, GatewayError } from "../errors.ts";
import { settleWithin } from "../util/timeout.ts";
import { withCatalogTimeout } from "./catalog_timeout.ts";

/** The models of a catalog by name, loaded on demand and cached. */
export interface CatalogCache {
  /** Resolves immediately if there is a list, even an old one. Throws the reason if there is none. */
  models(): Promise<ReadonlyMap<string, ModelInfo>>;
}

/** A list that says how old it is. */
export interface AgeingCatalog extends CatalogCache {
  state(): CatalogState;
}

export interface CatalogState {
  /** How many models it lists. Absent if it was never loaded. */
  models?: number;
  /** How long ago it was loaded. */
  ageSeconds?: number;
  /** The error of the latest try, if that failed. */
  lastError?: ErrorCode;
}

export interface CatalogOptions {
  /** Requests the whole list. Ends soon after `signal` is aborted. */
  load(signal: AbortSignal): Promise<readonly ModelInfo[]>;
  /** Aborted when the gateway stops. It is not the signal of one request, because the result serves all clients. */
  signal: AbortSignal;
  /** Milliseconds by a monotonic clock. */
  now(): number;
  pace?: CatalogPace;
}

/** All in milliseconds. */
export interface CatalogPace {
  /** How long a list is not requested again. */
  freshMs: number;
  /** How long to wait after a failure before the next request. */
  retryAfterMs: number;
  /** How long clients wait for the first list. */
  patienceMs: number;
  /** The time limit for loading a list. */
  timeoutMs: number;
}

const PACE: CatalogPace = { freshMs: 600_000, retryAfterMs: 30_000, patienceMs: 2_000, timeoutMs: 10_000 };
/** More than all hubs together offer. A longer list cannot be a list of models to choose from. */
const MOST_MODELS = 20_000;

/**
 * One list for all clients. An old list is still returned while a new one is being loaded or cannot be loaded. Only one load
 * runs at a time.
 */
export function createCatalogCache({ load, signal, now, pace = PACE }: CatalogOptions): AgeingCatalog {
  let models: ReadonlyMap<string, ModelInfo> | undefined;
  let loadedAt = 0;
  let failure: GatewayError | undefined;
  let restUntil = -Infinity;
  let running: { done: Promise<void>; waitUntil: number } | undefined;

  async function refresh(): Promise<void> {
    try {
      models = index(await withCatalogTimeout(pace.timeoutMs, signal, load));
      failure = undefined;
      loadedAt = now();
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
    state: () => ({
      ...(models && { models: models.size, ageSeconds: Math.round((now() - loadedAt) / 1000) }),
      ...(failure && { lastError: failure.code }),
    }),
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
