/** The capacity of the whole gateway. Requests beyond it are refused immediately, so that those admitted are served well. */
import { builtin } from "../util/builtin.ts";
import { GatewayError } from "../errors.ts";

export interface LoadLimits {
  /** Requests that run a model at the same time. */
  concurrentRequests: number;
  /** Completions at the same time, which are counted apart, because editors ask with every key. By default as many. */
  concurrentCompletions?: number;
  /** The memory in bytes above which no requests are admitted. Defaults to what the process may use. */
  memoryBytes?: number;
}

export interface LoadShedder {
  /** Throws `unavailable` if no request would be admitted. Called before a body is read, because that takes memory. */
  check(limits: LoadLimits, isCompletion?: boolean): void;
  /** Admits a request. The returned function ends it. Throws `unavailable`. */
  acquire(limits: LoadLimits, isCompletion?: boolean): () => void;
  /** How many requests are running a model. */
  running(): number;
  /** The memory in bytes above which no requests are admitted. */
  limitBytes(limits: LoadLimits): number;
}

/** How long a reading of memory and descriptors is valid, in milliseconds. */
const FRESH_MS = 250;
/** A reading also expires after this many more concurrent requests, because each opens a connection to its upstream. */
const FRESH_MORE = 16;
/** A reading also expires after this many requests, including those that have ended, because each leaves garbage. */
const FRESH_REQUESTS = 128;
/** When to retry, in seconds. */
const RETRY_AFTER = "1";

/** Garbage is collected above this share of the limit, if memory has grown by `GROWN` of the limit since; and whenever memory is full. */
const [MUCH, GROWN] = [3 / 4, 1 / 16];
/** The minimum interval between two collections, in milliseconds. A collection blocks everything, so it may take this share of time. */
const [COLLECT_MS, COLLECTING] = [500, 1 / 20];

export interface LoadOptions {
  /** The bytes of memory that the process uses. */
  memory(): number;
  /** The memory that it may use, if known: `LEAST_BYTES` or more. Read once, when the process exceeds that minimum. */
  limit?(): number;
  /** Frees unused memory. A process that admits nothing allocates nothing, so the engine would never do it by itself. */
  collect(): void;
  /** Whether file descriptors are running out, if anybody watches that. */
  areDescriptorsScarce?: (() => boolean) | undefined;
  /** Milliseconds by a monotonic clock. */
  now(): number;
  /** Called for each request that is refused. */
  onShed?(): void;
}

export function createLoadShedder(
  { memory, limit = () => Infinity, collect, areDescriptorsScarce, now, onShed }: LoadOptions,
): LoadShedder {
  let [running, completing] = [0, 0];
  /** How many were running at the latest reading, and how many have been admitted since. */
  let ran = 0;
  let entered = 0;
  let readAt = -Infinity;
  let bytes = 0;
  let isScarce = false;
  const collectIfDue = createCollector({ memory, collect, now });
  let known: number | undefined;

  const limitBytes = ({ memoryBytes }: Pick<LoadLimits, "memoryBytes">) => memoryBytes ?? (known ??= limit());

  /** Reads memory and descriptors. A process that uses little is below any limit, which is not read then. */
  function read(memoryBytes: number | undefined): void {
    ran = running;
    entered = 0;
    bytes = memory();
    if (memoryBytes !== undefined || bytes > LEAST_BYTES) {
      const most = limitBytes({ memoryBytes });
      if (bytes > most * MUCH) bytes = collectIfDue(bytes, most);
    }
    isScarce = areDescriptorsScarce?.() ?? false;
    readAt = now();
  }

  function check(
    { concurrentRequests, concurrentCompletions = concurrentRequests, memoryBytes }: LoadLimits,
    isCompletion = false,
  ): void {
    if (isCompletion ? completing < concurrentCompletions : running - completing < concurrentRequests) {
      if (now() - readAt >= FRESH_MS || running - ran >= FRESH_MORE || entered >= FRESH_REQUESTS) read(memoryBytes);
      const most = memoryBytes ?? (bytes <= LEAST_BYTES ? Infinity : known ??= limit());
      if (!isScarce && bytes <= most) return;
    }
    onShed?.();
    throw new GatewayError("unavailable", "The gateway is at capacity: try again", { retryAfter: RETRY_AFTER });
  }

  return {
    check,
    running: () => running,
    limitBytes,
    acquire(limits, isCompletion = false) {
      check(limits, isCompletion);
      const completions = isCompletion ? 1 : 0;
      running++;
      completing += completions;
      entered++;
      let inside = true;
      return () => {
        if (inside) running--;
        if (inside) completing -= completions;
        inside = false;
      };
    },
  };
}

/** Collects garbage if it is due. `bytes`: the memory in use. Returns what is in use then. */
function createCollector({ memory, collect, now }: Pick<LoadOptions, "memory" | "collect" | "now">) {
  /** The time of the next collection at the earliest, and the memory in use after the last one. */
  let from = -Infinity;
  let left = 0;
  return (bytes: number, limitBytes: number): number => {
    const began = now();
    const isDue = bytes > limitBytes || bytes - left > limitBytes * GROWN;
    if (!isDue || began < from) return bytes;
    collect();
    const ended = now();
    from = ended + Math.max(COLLECT_MS, (ended - began) / COLLECTING);
    return left = memory();
  };
}

/** The share of the memory of the machine or container that the gateway may use. */
const SHARE = 3 / 4;

/**
 * The default memory limit in bytes: a share of the memory of the machine or container, if the process may read it
 * (`--allow-sys=systemMemoryInfo`), and at most the engine's own limit, at which it ends the process. `containerBytes`: the
 * memory of the container, from the program that started the gateway. `processes` share the memory.
 */
export function defaultMemoryBytes(containerBytes = 0, processes = 1): number {
  const share = SHARE / processes;
  const known = [builtin("node:v8").getHeapStatistics().heap_size_limit, containerBytes * share];
  try {
    known.push(builtin("node:os").totalmem() * share, process.constrainedMemory() * share);
  } catch (error) {
    // Deno reports a missing permission like this.
    if ((error as Error).name !== "NotCapable") throw error;
  }
  return Math.floor(Math.max(LEAST_BYTES, Math.min(...known.filter((bytes) => bytes > 0))));
}

/** Slightly more than an idle gateway uses (about 90 MB). With less, a small container would serve nothing. */
const LEAST_BYTES = 112 * 2 ** 20;
