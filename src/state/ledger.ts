/** What each key used of its day: it outlives a restart, and gateways on one store add it up. */
import type { Store } from "./store.ts";
import { within } from "./within.ts";

/** `day`: days since the epoch. */
export interface Ledger {
  /** Resolves once the store has told what the key used that day; where the store fails, to why it has not. */
  open(name: string, day: number): Promise<unknown>;
  /** Tokens that the key used that day, as far as is known here. */
  spent(name: string, day: number): number;
  /** Adds tokens, or takes some back that were added for nothing. The store is told within a second. */
  add(name: string, day: number, tokens: number): void;
  /** Resolves once the store knows all, or has failed. */
  close(): Promise<void>;
}

export interface LedgerOptions {
  store: Store;
  /** How long the store may take, in milliseconds: the first request of a key's day waits for it. */
  patienceMs: number;
}

/** How long what was used may wait for what is used next, in milliseconds. */
const GATHER_MS = 1_000;

const NOTHING = Promise.resolve(undefined);

/** One key's day. */
interface Page {
  day: number;
  /** What the store knew when it was last heard. */
  saved: number;
  /** What it has not been told yet; below nothing where too much was. */
  unsaved: number;
  opened?: Promise<unknown>;
}

export function createLedger({ store, patienceMs }: LedgerOptions): Ledger {
  const pages = new Map<string, Page>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  /** One at a time, or what is on its way would be told twice. */
  let saving: Promise<void> | undefined;

  function pageOf(name: string, day: number): Page {
    const known = pages.get(name);
    // What is given back may have been used the day before.
    if (known && known.day >= day) return known;
    const page: Page = { day, saved: 0, unsaved: 0 };
    pages.set(name, page);
    return page;
  }

  async function read(name: string, page: Page): Promise<unknown> {
    try {
      const saved = totalOf(await within(patienceMs, store.get(placeOf(name))), page.day);
      // The store may have been told of this day meanwhile, and knew more.
      page.saved = Math.max(page.saved, saved);
    } catch (failure) {
      // Once it answers again, it tells what it knows when it is told what was used.
      page.opened = NOTHING;
      return failure;
    }
  }

  async function save(name: string, page: Page): Promise<void> {
    const { day, unsaved } = page;
    let total = 0;
    await store.update(placeOf(name), (value) => {
      total = Math.max(0, totalOf(value, day) + unsaved);
      // Another gateway's clock may be in the next day already.
      return isPage(value) && value.day > day ? value : { day, tokens: total };
    });
    page.saved = total;
    page.unsaved -= unsaved;
  }

  /** What the store cannot be told now, it is told with what is used next. */
  async function saveAll(): Promise<void> {
    const unsaved = [...pages].filter(([, page]) => page.unsaved !== 0);
    await Promise.allSettled(unsaved.map(([name, page]) => save(name, page)));
    saving = undefined;
  }

  return {
    open(name, day) {
      const page = pageOf(name, day);
      return page.opened ??= read(name, page);
    },
    spent(name, day) {
      const { saved, unsaved } = pageOf(name, day);
      return Math.max(0, saved + unsaved);
    },
    add(name, day, tokens) {
      const page = pageOf(name, day);
      // What is given back of the day before is nothing to use today.
      page.unsaved = Math.max(-page.saved, page.unsaved + tokens);
      if (timer !== undefined) return;
      timer = setTimeout(() => {
        timer = undefined;
        saving ??= saveAll();
      }, GATHER_MS);
      Deno.unrefTimer(timer);
    },
    async close() {
      clearTimeout(timer);
      timer = undefined;
      const told = async () => {
        await saving;
        await saveAll();
      };
      // Without the store's answer, the end comes all the same.
      await within(patienceMs, told()).catch(() => {});
    },
  };
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
