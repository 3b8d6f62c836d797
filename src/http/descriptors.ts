/** How many more files and connections the process may open: the system counts both, and ends neither by itself. */
import { builtin } from "../util/builtin.ts";
import { othersTurn } from "../util/work.ts";

/** How many are to be left for what runs already: connections to upstreams, the store. */
export const RESERVE = 64;
/** What a request takes that runs a model: its client's connection and one to an upstream. */
export const PER_REQUEST = 2;

/** So many are opened to see how high their numbers are; the system gives the lowest that are free. */
const SAMPLE = 8;
/** How many are opened before others have a turn. The first time, the system makes room for more of them, which takes long. */
const AT_ONCE = 128;

export interface Descriptors {
  /**
   * How many may be opened now, as far as `wanted`; nothing where the process may not find out. Others have their turns
   * meanwhile, and `RESERVE` for them.
   */
  free(wanted: number): Promise<number | undefined>;
  /** Whether fewer are left than are to be, as far as `free` was ever asked. Takes little time where many are. */
  areScarce(): boolean;
  /** Whether fewer are left, and so many running requests do not explain it. */
  areWasted(running: number): boolean;
}

/** `path`: a file that the process may read. The limit itself cannot be asked for: it stands in `/proc`, which Deno opens to nobody. */
export function createDescriptors(path: string | undefined): Descriptors {
  /** The highest number that there ever was: the process may have so many. */
  let highest = 0;
  const areScarce = () => {
    if (highest === 0) return false; // not counted yet
    const sample = open(SAMPLE);
    if (!sample) return false;
    if (sample.count === SAMPLE && sample.last + 2 * RESERVE < highest) return false;
    return (open(RESERVE)?.count ?? RESERVE) < RESERVE;
  };

  function open(wanted: number): { count: number; last: number } | undefined {
    const opened = openUpTo(wanted);
    if (!opened) return undefined;
    close(opened);
    return { count: opened.length, last: lastOf(opened) };
  }

  /** As many as there are; nothing where the process may not open the file. */
  function openUpTo(wanted: number): number[] | undefined {
    if (path === undefined) return undefined;
    const { openSync } = builtin("node:fs");
    const opened: number[] = [];
    try {
      while (opened.length < wanted) opened.push(openSync(path, "r"));
    } catch (error) {
      if (!isExhausted(error)) return void close(opened);
    }
    highest = Math.max(highest, lastOf(opened));
    return opened;
  }

  async function free(wanted: number): Promise<number | undefined> {
    const held: number[] = [];
    try {
      while (held.length + RESERVE < wanted) {
        const opened = openUpTo(AT_ONCE + RESERVE);
        if (!opened) return undefined;
        const isEnd = opened.length < AT_ONCE + RESERVE;
        const count = held.length + opened.length;
        held.push(...opened.splice(0, isEnd ? 0 : AT_ONCE));
        close(opened);
        if (isEnd) return Math.min(wanted, count);
        await othersTurn();
      }
      return wanted;
    } finally {
      close(held);
    }
  }

  return {
    free,
    areScarce,
    areWasted: (running) => PER_REQUEST * running < highest / 2 && areScarce(),
  };
}

function lastOf(opened: number[]): number {
  return Math.max(0, ...opened.slice(-SAMPLE));
}

function close(opened: number[]): void {
  const { closeSync } = builtin("node:fs");
  for (const descriptor of opened) closeSync(descriptor);
}

/** The process may open no more, or the machine. */
function isExhausted(thrown: unknown): boolean {
  return ["EMFILE", "ENFILE"].includes((thrown as { code?: string }).code ?? "");
}

/** What a person is to know at the start: that more requests are let in than the process has descriptors for. */
export async function scarcityLine({ free }: Descriptors, concurrentRequests: number): Promise<string | undefined> {
  const needed = PER_REQUEST * concurrentRequests + RESERVE;
  const found = await free(needed);
  if (found === undefined || found >= needed) return undefined;
  const served = Math.max(0, Math.floor((found - RESERVE) / PER_REQUEST));
  return `Open files: this process may have ${found} more, but limits.concurrentRequests (${concurrentRequests}) needs ` +
    `${needed}. Beyond about ${served} concurrent requests, further ones get 503. Raise the limit (ulimit -n), or lower concurrentRequests`;
}
