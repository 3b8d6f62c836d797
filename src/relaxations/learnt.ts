/**
 * Remembers what the models of one upstream were found to refuse. What one key's request taught holds for that key alone until a
 * request of a second key is refused in the same way, so that no key takes a feature from the others.
 */
import { BoundedMap } from "../util/bounded_map.ts";
import type { Relaxation } from "./relaxation.ts";

const KEPT_MS = 24 * 3_600_000;
/** After that time one request asks in the full form. The others do so only if none is refused for this long. */
const TRIAL_MS = 60_000;
/** How many models are remembered, and how much of each. What was learnt first makes room. */
const MOST_MODELS = 1_000;
const MOST_OF_MODEL = 50;
const MOST_SEARCHES = 1_000;

/** A relaxation, or the name of a part of requests that drivers leave out themselves. */
export type Learnable = Relaxation | string;

interface Entry {
  learnt: Learnable;
  /** Those whose requests were refused: at most two, since two stand for all. */
  keys: Set<string>;
  until: number;
  isOnTrial: boolean;
}

/** Which of several relaxations are needed, found by leaving some of them out of each request (delta debugging). */
export interface Search {
  /** With all of these the host accepts. */
  enough: readonly Relaxation[];
  /** How many are left out at once, and before how many at the end. */
  size: number;
  at: number;
}

export class LearntRelaxations {
  readonly #models = new BoundedMap<string, Map<string, Entry>>(MOST_MODELS);
  readonly #searches = new BoundedMap<string, Search>(MOST_SEARCHES);
  readonly #now: () => number;
  readonly #isTrusted: boolean;
  /** Whether any were ever learnt, which is rare. */
  hasAny = false;

  /** `isTrusted`: whether what one key's request taught holds for all at once. */
  constructor(now: () => number, isTrusted = false) {
    this.#now = now;
    this.#isTrusted = isTrusted;
  }

  /** Returns what a model refuses of the requests of a key. */
  of(model: string, key = ""): Learnable[] {
    if (!this.hasAny) return [];
    const now = this.#now();
    const held = [...this.#models.get(model)?.values() ?? []].filter((entry) => this.#holdsFor(entry, key));
    return held.filter(({ until }) => now < until).map(({ learnt }) => learnt);
  }

  /** Those of drivers alone. */
  names(model: string, key = ""): string[] {
    return this.of(model, key).filter((one) => typeof one === "string");
  }

  /** Must be called when a request has been written without what `of` returns: it may be the one that tries again. */
  asked(model: string, key = ""): void {
    const now = this.#now();
    const entries = this.#models.get(model);
    if (!entries) return;
    for (const [name, entry] of entries) {
      if (now < entry.until || !this.#holdsFor(entry, key)) continue;
      if (entry.isOnTrial) entries.delete(name);
      else [entry.isOnTrial, entry.until] = [true, now + TRIAL_MS];
    }
  }

  add(model: string, learnt: readonly Learnable[], key = ""): void {
    if (learnt.length === 0) return;
    this.hasAny = true;
    const entries = this.#models.get(model) ?? new BoundedMap<string, Entry>(MOST_OF_MODEL);
    this.#models.set(model, entries);
    const until = this.#now() + KEPT_MS;
    for (const one of learnt) {
      const name = typeof one === "string" ? one : JSON.stringify(one);
      const known = entries.get(name);
      if (!known) entries.set(name, { learnt: one, keys: new Set([key]), until, isOnTrial: false });
      else {
        if (known.keys.size < 2) known.keys.add(key);
        [known.until, known.isOnTrial] = [until, false];
      }
    }
  }

  #holdsFor({ keys }: Entry, key: string): boolean {
    return this.#isTrusted || keys.size > 1 || keys.has(key);
  }

  /** All that is remembered, by model. */
  all(): { model: string; learnt: Learnable; keys: number }[] {
    const now = this.#now();
    return [...this.#models].flatMap(([model, entries]) =>
      [...entries.values()].filter(({ until }) => now < until).map(({ learnt, keys }) => ({
        model,
        learnt,
        keys: keys.size,
      }))
    );
  }

  forget(): void {
    this.#models.clear();
    this.#searches.clear();
    this.hasAny = false;
  }

  /** Begins to find out which of the relaxations are needed. */
  search(model: string, enough: readonly Relaxation[], key = ""): void {
    this.hasAny = true;
    const size = Math.ceil(enough.length / 2);
    this.#continue(model, key, { enough, size, at: 0 });
  }

  searchOf(model: string, key = ""): Search | undefined {
    return this.#searches.get(searchKey(model, key));
  }

  /** The request without some of the relaxations was accepted or refused. */
  tried(model: string, search: Search, isAccepted: boolean, key = ""): void {
    // Another request of the key, at the same time, was ahead.
    if (this.searchOf(model, key) !== search) return;
    const { enough, size, at } = search;
    if (isAccepted) {
      const left = without(search);
      const fewer = Math.min(size, Math.ceil(left.length / 2));
      this.#continue(model, key, { enough: left, size: fewer, at: fewer < size ? 0 : at });
    } else this.#continue(model, key, { enough, size, at: at + size });
  }

  #continue(model: string, key: string, search: Search): void {
    let { enough, size, at } = search;
    if (at >= enough.length && size > 1) [size, at] = [Math.ceil(size / 2), 0];
    const isOver = enough.length === 0 || at >= enough.length;
    if (!isOver && enough.length > 1) {
      this.#searches.set(searchKey(model, key), { enough, size, at });
      return;
    }
    this.#searches.delete(searchKey(model, key));
    this.add(model, enough, key);
  }
}

/** The relaxations of the next request. The last ones are left out first. */
export function without({ enough, size, at }: Search): Relaxation[] {
  const end = enough.length - at;
  return enough.filter((_, index) => index >= end || index < end - size);
}

function searchKey(model: string, key: string): string {
  return JSON.stringify([model, key]);
}
