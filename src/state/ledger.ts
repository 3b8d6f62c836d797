/** What each key used of its day: it outlives a restart, and gateways on one store add it up. */
import type { Store } from "./store.ts";
import { withStoreTimeout } from "./store_timeout.ts";
import { callWhileAlive } from "../util/idle_timer.ts";

/** `day`: days since the epoch. */
export interface Ledger {
  /** Resolves once the store has answered what the key used that day; where it fails, to the failure. */
  open(name: string, day: number): Promise<unknown>;
  /** Tokens that the key used that day, as far as is known here. */
  spent(name: string, day: number): number;
  /** Adds tokens, or takes some back that were added for nothing. They are saved within a second. */
  add(name: string, day: number, tokens: number): void;
  /** Resolves once the store knows all, or has failed. */
  close(): Promise<void>;
}

export interface LedgerOptions {
  store: Pick<Store, "get" | "update">;
  /** How long the store may take, in milliseconds: the first request of a key's day waits for it. */
  patienceMs: number;
  /** How long what was used may wait for what is used next, in milliseconds. */
  gatherMs?: number;
}

const GATHER_MS = 1_000;

/** From how many pages on those are forgotten that are saved and not in use. */
const MOST_PAGES = 20_000;

/** The form of the records. Whoever adds to one of a later form leaves in it what it does not know. */
const VERSION = 1;

const NOTHING = Promise.resolve(undefined);

/** One key's day. */
interface Page {
  day: number;
  /** What the store knew when it last answered. */
  saved: number;
  /** What is not saved yet; negative where too much was saved. */
  unsaved: number;
  opened?: Promise<unknown>;
  /** Whether it was asked for since it was last looked at. */
  isInUse: boolean;
}

export function createLedger(options: LedgerOptions): Ledger {
  return new StoredLedger(options);
}

class StoredLedger implements Ledger {
  readonly #options: LedgerOptions;
  readonly #pages = new Map<string, Page>();
  /** Where to go on looking for what is not in use. */
  #next = this.#pages.entries();
  #cancelSave: (() => void) | undefined;
  /** One at a time, or what is on its way would be added twice. */
  #saving: Promise<void> | undefined;

  constructor(options: LedgerOptions) {
    this.#options = options;
  }

  open(name: string, day: number): Promise<unknown> {
    const page = this.#pageOf(name, day);
    page.isInUse = true;
    return page.opened ??= this.#read(name, page);
  }

  spent(name: string, day: number): number {
    const { saved, unsaved } = this.#pageOf(name, day);
    return Math.max(0, saved + unsaved);
  }

  add(name: string, day: number, tokens: number): void {
    const page = this.#pageOf(name, day);
    // What is given back of the day before is nothing to use today.
    page.unsaved = Math.max(-page.saved, page.unsaved + tokens);
    if (this.#cancelSave) return;
    this.#cancelSave = callWhileAlive(this.#options.gatherMs ?? GATHER_MS, () => {
      this.#cancelSave = undefined;
      this.#saving ??= this.#saveAll();
    });
  }

  async close(): Promise<void> {
    this.#cancelSave?.();
    this.#cancelSave = undefined;
    const saved = async () => {
      await this.#saving;
      await this.#saveAll();
    };
    // Without the store's answer, the end comes all the same.
    await withStoreTimeout(this.#options.patienceMs, saved()).catch(() => {});
  }

  #pageOf(name: string, day: number): Page {
    const known = this.#pages.get(name);
    // What is given back may have been used the day before.
    if (known && known.day >= day) return known;
    const page: Page = { day, saved: 0, unsaved: 0, isInUse: true };
    if (this.#pages.size >= MOST_PAGES) this.#forgetUnused();
    this.#pages.set(name, page);
    return page;
  }

  /** Callers with tokens may be any number. What is forgotten is read again. */
  #forgetUnused(): void {
    for (let looked = 0; looked < 2; looked++) {
      const { value, done } = this.#next.next();
      if (done) {
        this.#next = this.#pages.entries();
        continue;
      }
      const [name, page] = value;
      if (!page.isInUse && page.unsaved === 0) this.#pages.delete(name);
      page.isInUse = false;
    }
  }

  async #read(name: string, page: Page): Promise<unknown> {
    const { store, patienceMs } = this.#options;
    try {
      const saved = totalOf(await withStoreTimeout(patienceMs, store.get(placeOf(name))), page.day);
      // What was used since may have been saved meanwhile, and the store knew more then.
      page.saved = Math.max(page.saved, saved);
    } catch (failure) {
      // Once it answers again, what it knows comes back when what was used is saved.
      page.opened = NOTHING;
      return failure;
    }
  }

  async #save(name: string, page: Page): Promise<void> {
    const { day, unsaved } = page;
    let total = 0;
    await this.#options.store.update(placeOf(name), (value) => {
      total = Math.max(0, totalOf(value, day) + unsaved);
      // Another gateway's clock may be in the next day already; another version may know more of a page.
      return isPage(value) && value.day > day
        ? value
        : { version: VERSION, ...(isPage(value) && value), day, tokens: total };
    });
    page.saved = total;
    page.unsaved -= unsaved;
  }

  /** What cannot be saved now is saved with what is used next. */
  async #saveAll(): Promise<void> {
    const unsaved = [...this.#pages].filter(([, page]) => page.unsaved !== 0);
    await Promise.allSettled(unsaved.map(([name, page]) => this.#save(name, page)));
    this.#saving = undefined;
  }
}

function placeOf(name: string): string[] {
  return ["used", name];
}

function totalOf(value: unknown, day: number): number {
  return isPage(value) && value.day === day ? value.tokens : 0;
}

function isPage(value: unknown): value is { day: number; tokens: number } {
  return typeof value === "object" && value !== null && "day" in value && "tokens" in value;
}
