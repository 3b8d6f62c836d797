/** What the gateway as a whole can take: beyond it, it refuses at once, so that what it has taken goes well. */
import { builtin } from "../util/builtin.ts";
import { GatewayError } from "../errors.ts";

export interface LoadLimits {
  /** Requests that run a model at once. */
  concurrentRequests: number;
  /** Bytes of memory above which no more are taken; what the process may have where absent. */
  memoryBytes?: number;
}

export interface Load {
  /** Throws `unavailable` where nobody would be let in: asked before a body is read, which takes memory. */
  check(limits: LoadLimits): void;
  /** Lets a request in; what it gives lets it out again. Throws `unavailable`. */
  acquire(limits: LoadLimits): () => void;
  /** How many requests run a model now. */
  running(): number;
}

/** How long a reading of the memory and of the descriptors holds, in milliseconds. */
const FRESH_MS = 250;
/** By how many more requests at once it holds: each opens a connection to its upstream. */
const FRESH_MORE = 16;
/** For how many requests it holds, those included that have ended: each leaves garbage. */
const FRESH_REQUESTS = 128;
/** When to come back, in seconds. */
const RETRY_AFTER = "1";

/** How often garbage is collected at most where memory is full, in milliseconds: it holds everybody up for a moment. */
const COLLECT_MS = 5_000;

export interface LoadOptions {
  /** The bytes of memory that the process takes. */
  memory(): number;
  /** What it may have, as far as it can be known: `LEAST_BYTES` or more. Asked once, when it has more than those. */
  limit?(): number;
  /** Gives back what nobody holds. A process that lets nobody in makes nothing, and so the engine would never do it by itself. */
  collect(): void;
  /** Whether few files and connections can be opened yet. */
  areDescriptorsScarce(): boolean;
  /** Milliseconds by a clock that never steps. */
  now(): number;
  /** Called for each request that found no room. */
  onShed?(): void;
}

export function createLoad(
  { memory, limit = () => Infinity, collect, areDescriptorsScarce, now, onShed }: LoadOptions,
): Load {
  let running = 0;
  /** How many ran at the latest reading, and how many have entered since. */
  let ran = 0;
  let entered = 0;
  let readAt = -Infinity;
  let bytes = 0;
  let isScarce = false;
  let collectedAt = -Infinity;
  let known: number | undefined;

  function isOver(memoryBytes?: number): boolean {
    if (memoryBytes !== undefined) return bytes > memoryBytes;
    return bytes > LEAST_BYTES && bytes > (known ??= limit());
  }

  function isFull(memoryBytes?: number): boolean {
    if (now() - readAt >= FRESH_MS || running - ran >= FRESH_MORE || entered >= FRESH_REQUESTS) {
      ran = running;
      entered = 0;
      bytes = memory();
      if (isOver(memoryBytes) && now() - collectedAt >= COLLECT_MS) {
        collectedAt = now();
        collect();
        bytes = memory();
      }
      isScarce = areDescriptorsScarce();
      readAt = now();
    }
    return isScarce || isOver(memoryBytes);
  }

  function check({ concurrentRequests, memoryBytes }: LoadLimits): void {
    if (running < concurrentRequests && !isFull(memoryBytes)) return;
    onShed?.();
    throw new GatewayError("unavailable", "The gateway is at capacity: try again", {
      retryAfter: RETRY_AFTER,
    });
  }

  return {
    check,
    running: () => running,
    acquire(limits) {
      check(limits);
      running++;
      entered++;
      let inside = true;
      return () => {
        if (inside) running--;
        inside = false;
      };
    },
  };
}

/** What of the machine's or the container's memory the gateway may take. */
const SHARE = 3 / 4;

/**
 * The limit of memory where none is configured, in bytes: a share of what the machine has, or its container, as far as that
 * may be asked (`--allow-sys=systemMemoryInfo`), and no more than the engine's own limit, beyond which it ends the process.
 * `containerBytes`: what the container may have, by whoever has started it. `processes` share it.
 */
export function defaultMemoryBytes(containerBytes = 0, processes = 1): number {
  const share = SHARE / processes;
  const known = [builtin("node:v8").getHeapStatistics().heap_size_limit, containerBytes * share];
  try {
    known.push(builtin("node:os").totalmem() * share, process.constrainedMemory() * share);
  } catch (error) {
    // Deno says so where the permission is lacking.
    if ((error as Error).name !== "NotCapable") throw error;
  }
  return Math.floor(Math.max(LEAST_BYTES, Math.min(...known.filter((bytes) => bytes > 0))));
}

/** What the gateway takes when it has nothing to do (some 90 MB), and a little: below it, a small container would serve nobody. */
const LEAST_BYTES = 112 * 2 ** 20;

/** Collects garbage, which the engine otherwise does when it is asked for memory. Does nothing on a host that does not let it. */
export function collectGarbage(): void {
  try {
    builtin("node:v8").setFlagsFromString("--expose-gc");
    (builtin("node:vm").runInNewContext("gc") as () => void)();
  } catch {
    // The engine does it in its own time.
  }
}
