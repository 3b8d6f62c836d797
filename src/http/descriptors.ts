/** How many more files and connections the process may open. The system counts both and closes neither by itself. */
import type { Platform } from "../platform/platform.ts";
import { builtin } from "../util/builtin.ts";
import { yieldToEventLoop } from "../util/sliced_work.ts";

/** How many to keep free for running work: connections to upstreams and the store. */
export const RESERVE = 64;
/** The descriptors that a request needs if it runs a model: its client's connection and one to an upstream. */
export const PER_REQUEST = 2;

/** How many to open to see how high their numbers are. The system assigns the lowest free numbers. */
const SAMPLE = 8;
/** How many to open before others may run. The first time is slow, because the system enlarges its table. */
const AT_ONCE = 128;

export interface Descriptors {
  /**
   * How many can be opened now, up to `wanted`. `undefined` if the process cannot find out. Others may run meanwhile, and
   * `RESERVE` descriptors stay free for them.
   */
  free(wanted: number): Promise<number | undefined>;
  /** Whether fewer than `RESERVE` are left. Always false before the first call of `free`. Fast if many are left. */
  areScarce(): boolean;
  /** Whether few are left although the running requests do not explain it. */
  areWasted(running: number): boolean;
}

/**
 * `path`: a file that the process may read. The limit itself cannot be read, because it is in `/proc`, to which Deno grants no
 * access.
 */
export function createDescriptors(path: string | undefined): Descriptors {
  /** The highest descriptor number so far. The process may have at least this many. */
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

  /** Opens up to `wanted` descriptors. `undefined` if the process cannot open the file. */
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
        await yieldToEventLoop();
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

/** The process or the machine can open no more. */
function isExhausted(thrown: unknown): boolean {
  return ["EMFILE", "ENFILE"].includes((thrown as { code?: string }).code ?? "");
}

/** A warning at startup if more requests may be admitted than the process has descriptors for. */
export async function scarcityLine({ free }: Descriptors, concurrentRequests: number): Promise<string | undefined> {
  const needed = PER_REQUEST * concurrentRequests + RESERVE;
  const found = await free(needed);
  if (found === undefined || found >= needed) return undefined;
  const served = Math.max(0, Math.floor((found - RESERVE) / PER_REQUEST));
  return `Open files: this process may have ${found} more, but limits.concurrentRequests (${concurrentRequests}) needs ` +
    `${needed}. Beyond about ${served} concurrent requests, further ones get 503. Raise the limit (ulimit -n), or lower concurrentRequests`;
}

/** A file that this process may read, wherever it runs: its own code, or the program where that is one file. */
export function readableFile({ os, executable, isGranted }: Platform): string | undefined {
  if (os === "windows") return undefined;
  const path = executable ?? import.meta.filename;
  return path !== undefined && isGranted({ name: "read", path }) ? path : undefined;
}
