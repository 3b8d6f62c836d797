import type { Finder, Found } from "../contract/catalog.ts";
import type { Call, Reply } from "../contract/call.ts";
import { within } from "./within.ts";

/** Finds where a single model is, and remembers it for a while. */
export interface ModelFinder {
  /** What is known of a model; `unknown` where there is no such model, `unreachable` where nobody can say. */
  find(name: string): Promise<Found | "unknown" | "unreachable">;
  choose: Finder["choose"];
  guess: Finder["guess"];
}

export interface ModelFinderOptions {
  finder: Finder;
  /** Makes a call, and gives the answer whatever its status. */
  ask(call: Call, signal: AbortSignal): Promise<Reply>;
  /** Aborted when the gateway stops. No request's own: what one client asks for serves all. */
  signal: AbortSignal;
  /** Milliseconds by a clock that never steps. */
  now(): number;
  pace?: FinderPace;
}

/** Milliseconds, but for the last. */
export interface FinderPace {
  /** How long an answer is not asked for again. */
  freshMs: number;
  /** The same for "there is no such model", because models appear. */
  unknownMs: number;
  /** How long after a failure nothing is asked for; an old answer is given meanwhile. */
  retryAfterMs: number;
  timeoutMs: number;
  /** How many models are kept in mind; the one that was asked for longest ago is forgotten first. */
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
      const reply = await within(pace.timeoutMs, signal, (signal) => ask(call, signal));
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
      // An old place is good while a new answer is on its way, and nobody waits for a service that failed; but a model that
      // was not there may be there now.
      if (entry.found === undefined || entry.found === "unknown") await entry.running;
      return entry.found ?? "unreachable";
    },
    choose: (found, name, task) => finder.choose(found, name, task),
    guess: (name, task) => finder.guess(name, task),
  };
}
