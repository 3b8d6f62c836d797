/**
 * Remembers what the models of one upstream were found to refuse. What one key's request taught holds for that key alone until a
 * request of a second key is refused in the same way, so that no key takes a feature from the others.
 */
import { BoundedMap } from "../util/bounded_map.ts";
import type { Relaxation } from "./relaxation.ts";

export const KEPT_MS = 24 * 3_600_000;
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
  /** When a request was last refused because of it, in milliseconds since the epoch. */
  at: number;
  until: number;
  isOnTrial: boolean;
}

/** An entry as other gateways get it. */
export interface LearntEntry {
  /** The model, after the base URL and a space. */
  place: string;
  learnt: Learnable;
  keys: readonly string[];
  at: number;
}

/** The record of one upstream that all gateways on the same store share. */
export interface SharedRecord {
  get(): Promise<unknown>;
  update(change: (record: unknown) => unknown): Promise<void>;
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
  readonly now: () => number;
  readonly #isTrusted: boolean;
  /** Absent if this gateway learns alone. */
  readonly shared?: SharedRecord;
  /** Whether any were ever learnt, which is rare. */
  hasAny = false;
  onAdd?: (entries: LearntEntry[]) => void;

  /** `now`: milliseconds since the epoch. `isTrusted`: whether what one key's request taught holds for all at once. */
  constructor(now: () => number, isTrusted = false, shared?: SharedRecord) {
    this.now = now;
    this.#isTrusted = isTrusted;
    this.shared = shared;
  }

  /** Returns what a model refuses of the requests of a key. */
  of(model: string, key = ""): Learnable[] {
    if (!this.hasAny) return [];
    const now = this.now();
    const held = [...this.#models.get(model)?.values() ?? []].filter((entry) => this.#holdsFor(entry, key));
    return held.filter(({ until }) => now < until).map(({ learnt }) => learnt);
  }

  /** Those of drivers alone. */
  names(model: string, key = ""): string[] {
    return this.of(model, key).filter((one) => typeof one === "string");
  }

  /** Must be called when a request has been written without what `of` returns: it may be the one that tries again. */
  asked(model: string, key = ""): void {
    const now = this.now();
    const entries = this.#models.get(model);
    if (!entries) return;
    for (const [name, entry] of entries) {
      if (now < entry.until || !this.#holdsFor(entry, key)) continue;
      if (entry.isOnTrial) entries.delete(name);
      else [entry.isOnTrial, entry.until] = [true, now + TRIAL_MS];
    }
  }

  add(model: string, learnt: readonly Learnable[], key = ""): void {
    const at = this.now();
    const added = learnt.map((one): LearntEntry => ({ place: model, learnt: one, keys: [key], at }));
    this.merge(added);
    if (added.length > 0) this.onAdd?.(added);
  }

  /** Adds what was learnt here or by other gateways. Returns whether any of it is new. */
  merge(entries: readonly LearntEntry[]): boolean {
    const news = entries.filter((entry) => this.#merge(entry));
    if (news.length > 0) this.hasAny = true;
    return news.length > 0;
  }

  #merge({ place, learnt, keys, at }: LearntEntry): boolean {
    const until = at + KEPT_MS;
    if (until <= this.now()) return false;
    const entries = this.#models.get(place) ?? new BoundedMap<string, Entry>(MOST_OF_MODEL);
    this.#models.set(place, entries);
    const name = nameOfLearnt(learnt);
    const known = entries.get(name);
    if (!known) {
      entries.set(name, { learnt, keys: new Set(keys), at, until, isOnTrial: false });
      return true;
    }
    const before = known.keys.size;
    for (const key of keys) if (known.keys.size < 2) known.keys.add(key);
    const isLater = until > known.until;
    if (isLater) [known.at, known.until, known.isOnTrial] = [at, until, false];
    return isLater || known.keys.size > before;
  }

  #holdsFor({ keys }: Entry, key: string): boolean {
    return this.#isTrusted || keys.size > 1 || keys.has(key);
  }

  /** All that is remembered. `isForAll`: whether it holds for all keys. */
  all(): (LearntEntry & { until: number; isForAll: boolean })[] {
    const now = this.now();
    return [...this.#models].flatMap(([place, entries]) =>
      [...entries.values()].filter(({ until }) => now < until).map(({ keys, learnt, at, until }) => {
        return { place, learnt, keys: [...keys], at, until, isForAll: this.#isTrusted || keys.size > 1 };
      })
    );
  }

  /** Forgets what was learnt of a model, or of all of them if none is named, up to a time. */
  forget(model?: string, until = Infinity): void {
    const isMeant = (place: string) => model === undefined || modelAt(place) === model;
    for (const [place, entries] of this.#models) {
      if (!isMeant(place)) continue;
      for (const [learnt, { at }] of entries) if (at <= until) entries.delete(learnt);
    }
    if (until < this.now()) return;
    for (const key of this.#searches.keys()) if (isMeant(JSON.parse(key)[0])) this.#searches.delete(key);
  }

  /** Begins to find out which of the relaxations are needed. */
  search(model: string, enough: readonly Relaxation[], key = ""): void {
    this.hasAny = true;
    const size = Math.ceil(enough.length / 2);
    this.#continue(model, key, { enough, size, at: 0 });
  }

  searchOf(model: string, key = ""): Search | undefined {
    const search = this.#searches.get(searchKey(model, key));
    if (!search) return undefined;
    // Another request, here or at another gateway, has found one of them. The others may not be needed.
    const known = new Set(this.of(model, key).map(partOf));
    if (!search.enough.some((one) => known.has(partOf(one)))) return search;
    this.#searches.delete(searchKey(model, key));
    return undefined;
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

/** Tells what was learnt from all else that was. */
export function nameOfLearnt(learnt: Learnable): string {
  return typeof learnt === "string" ? learnt : JSON.stringify(learnt);
}

/** A field has the same name, whether it was found by a driver or not. */
function partOf(learnt: Learnable): string {
  return typeof learnt === "object" && learnt.does === "omit" ? learnt.path : nameOfLearnt(learnt);
}

/** The model of a place. */
export function modelAt(place: string): string {
  return place.slice(place.indexOf(" ") + 1).replace(/ completions$/, "");
}

function searchKey(model: string, key: string): string {
  return JSON.stringify([model, key]);
}
