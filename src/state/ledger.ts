/** The tokens that each key used today. They outlive a restart, and gateways on one store add them up. */
import type { Store } from "./store.ts";
import { withStoreTimeout } from "./store_timeout.ts";
import { callWhileAlive } from "../util/idle_timer.ts";

/** `day`: days since the epoch. */
export interface Ledger {
  /** Resolves once the store has said what the key used that day. If the store fails, it resolves to the failure. */
  open(name: string, day: number): Promise<unknown>;
  /** The tokens that the key used that day, as far as this process knows. */
  spent(name: string, day: number): number;
  /** Adds tokens. A negative number takes back tokens that were not used. They are saved within a second. */
  add(name: string, day: number, tokens: number): void;
  /** Resolves once everything is in the store, or the store has failed. */
  close(): Promise<void>;
}

export interface LedgerOptions {
  store: Pick<Store, "get" | "update">;
  /** How long the store may take, in milliseconds: the first request of a key's day waits for it. */
  patienceMs: number;
  /** How long used tokens gather before they are saved, in milliseconds. */
  gatherMs?: number;
}

const GATHER_MS = 1_000;

/** With this many pages, those that are saved and not in use are forgotten. */
const MOST_PAGES = 20_000;

/** The version of the record format. A writer keeps fields that it does not know. */
const VERSION = 1;

const NOTHING = Promise.resolve(undefined);

/** The tokens of one key on one day. */
interface Page {
  day: number;
  /** The total in the store's last answer. */
  saved: number;
  /** The tokens that are not saved yet. Negative if too many were saved. */
  unsaved: number;
  opened?: Promise<unknown>;
  /** Whether it was used since the last search for unused pages. */
  isInUse: boolean;
}

export function createLedger(options: LedgerOptions): Ledger {
  return new StoredLedger(options);
}

class StoredLedger implements Ledger {
  readonly #options: LedgerOptions;
  readonly #pages = new Map<string, Page>();
  /** The next search for unused pages continues from here. */
  #next = this.#pages.entries();
  #cancelSave: (() => void) | undefined;
  /** Only one save runs at a time, or what is on its way would be added twice. */
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
    // Tokens that are given back from the day before must not add to today's.
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
    // The gateway ends even if the store does not answer.
    await withStoreTimeout(this.#options.patienceMs, saved()).catch(() => {});
  }

  #pageOf(name: string, day: number): Page {
    const known = this.#pages.get(name);
    // Tokens that are given back may have been used the day before.
    if (known && known.day >= day) return known;
    const page: Page = { day, saved: 0, unsaved: 0, isInUse: true };
    if (this.#pages.size >= MOST_PAGES) this.#forgetUnused();
    this.#pages.set(name, page);
    return page;
  }

  /** There may be any number of callers with tokens. A page that was forgotten is read again. */
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
      // A save meanwhile may have learned a newer total.
      page.saved = Math.max(page.saved, saved);
    } catch (failure) {
      // Once the store answers again, the next save learns the total.
      page.opened = NOTHING;
      return failure;
    }
  }

  async #save(name: string, page: Page): Promise<void> {
    const { day, unsaved } = page;
    let total = 0;
    await this.#options.store.update(placeOf(name), (value) => {
      total = Math.max(0, totalOf(value, day) + unsaved);
      // Another gateway's clock may be in the next day already. Another version may have added fields to a page.
      return isPage(value) && value.day > day
        ? value
        : { version: VERSION, ...(isPage(value) && value), day, tokens: total };
    });
    page.saved = total;
    page.unsaved -= unsaved;
  }

  /** Tokens that cannot be saved now are saved with the next ones. */
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
