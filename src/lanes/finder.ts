import type { Finder, Found } from "../contract/catalog.ts";
import type { Call, Reply } from "../contract/call.ts";
import { withCatalogTimeout } from "./catalog_timeout.ts";

/** Finds the providers of a single model, and caches the result. */
export interface ModelFinder {
  /** What is known about a model. `unknown` if the model does not exist, `unreachable` if the service does not answer. */
  find(name: string): Promise<Found | "unknown" | "unreachable">;
  choose: Finder["choose"];
  guess: Finder["guess"];
}

export interface ModelFinderOptions {
  finder: Finder;
  /** Makes a call and returns the reply, whatever its status. */
  ask(call: Call, signal: AbortSignal): Promise<Reply>;
  /** Aborted when the gateway stops. It is not the signal of one request, because the result serves all clients. */
  signal: AbortSignal;
  /** Milliseconds by a monotonic clock. */
  now(): number;
  pace?: FinderPace;
}

/** In milliseconds, except the last. */
export interface FinderPace {
  /** How long a reply is not requested again. */
  freshMs: number;
  /** The same for a model that does not exist, which is shorter because models may appear. */
  unknownMs: number;
  /** How long to wait after a failure before the next request. Meanwhile an old result is returned. */
  retryAfterMs: number;
  timeoutMs: number;
  /** How many models are cached. The least recently used one is dropped first. */
  mostModels: number;
}

const PACE: FinderPace = {
  freshMs: 600_000,
  unknownMs: 60_000,
  retryAfterMs: 15_000,
  timeoutMs: 5_000,
  mostModels: 2_000,
};

interface Entry {
  found?: Found | "unknown" | "unreachable";
  restUntil: number;
  running?: Promise<void>;
}

export function createModelFinder({ finder, ask, signal, now, pace = PACE }: ModelFinderOptions): ModelFinder {
  const entries = new Map<string, Entry>();

  async function refresh(entry: Entry, call: Call): Promise<void> {
    try {
      const reply = await withCatalogTimeout(pace.timeoutMs, signal, (signal) => ask(call, signal));
      entry.found = finder.parse(reply) ?? "unknown";
      entry.restUntil = now() + (entry.found === "unknown" ? pace.unknownMs : pace.freshMs);
    } catch {
      entry.found ??= "unreachable";
      entry.restUntil = now() + pace.retryAfterMs;
    } finally {
      entry.running = undefined;
    }
  }

  return {
    async find(name) {
      const call = finder.lookup(name);
      const key = call.path ?? call.url;
      const entry: Entry = entries.get(key) ?? { restUntil: -Infinity };
      entries.delete(key);
      entries.set(key, entry);
      for (const oldest of entries.keys()) {
        if (entries.size <= pace.mostModels) break;
        entries.delete(oldest);
      }
      if (now() >= entry.restUntil) entry.running ??= refresh(entry, call);
      // Old locations are used while a new answer is loading, and requests do not wait for a service that has failed. But a
      // model that did not exist may exist now, so that answer is awaited.
      if (entry.found === undefined || entry.found === "unknown") await entry.running;
      return entry.found ?? "unreachable";
    },
    choose: (found, name, task) => finder.choose(found, name, task),
    guess: (name, task) => finder.guess(name, task),
  };
}
