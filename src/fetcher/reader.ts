/** Threads that read pages. */
import process from "node:process";
import { callWhileAlive } from "../util/idle_timer.ts";
import type { PageText } from "./html.ts";
import { Refusal } from "./refusal.ts";
import type { Done, Job } from "./worker.ts";

export interface ReaderPace {
  /** How long one page may take, in milliseconds, not counting the start of a thread. */
  pageMs: number;
  /** How long a thread that nobody needs is kept, with the memory that it holds. */
  idleMs: number;
  /** How much memory the process may hold; above it, what is being read is given up. */
  memoryBytes: number;
}

const PACE: ReaderPace = { pageMs: 8_000, idleMs: 30_000, memoryBytes: 2 ** 30 };
const THREADS = 2;
/** How often the memory is looked at, in milliseconds. */
const LOOK_MS = 50;
/** What a thread holds after a larger page goes back to the system only with the thread. */
const LARGE_BYTES = 2 ** 20;

interface Thread {
  worker: Worker;
  isUp: Promise<void>;
  cancelRest?(): void;
}

/**
 * Reads as many pages at once as it has threads; others wait. A thread that is given up goes on: Deno (2.9.6) ends none that is at
 * work. It ends with the process, so `onSpoiled` is called, which is to bring that about.
 */
export class Reader {
  readonly #pace: ReaderPace;
  readonly #onSpoiled: (holdsMuch: boolean) => void;
  readonly #idle: Thread[] = [];
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(onSpoiled: (holdsMuch: boolean) => void, pace: Partial<ReaderPace> = {}) {
    this.#onSpoiled = onSpoiled;
    this.#pace = { ...PACE, ...pace };
  }

  /** Throws a `Refusal` where the page cannot be read, and the reason of `signal`. */
  async read(job: Omit<Job, "isHasty">, signal: AbortSignal): Promise<PageText> {
    await this.#turn(signal);
    try {
      const page = await this.#try({ ...job, isHasty: false }, signal) ??
        // What took too long is read once more in the way that takes no time.
        (job.kind === "html" && !this.#holdsMuch() ? await this.#try({ ...job, isHasty: true }, signal) : undefined);
      if (!page) throw new Refusal("too_large", "The page takes too much to read");
      return page;
    } finally {
      this.#running--;
      this.#waiting.shift()?.();
    }
  }

  close(): void {
    for (const thread of this.#idle.splice(0)) end(thread);
  }

  async #turn(signal: AbortSignal): Promise<void> {
    while (this.#running >= THREADS) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#waiting.push(resolve);
      signal.addEventListener("abort", () => resolve(), { once: true });
      await promise;
      const at = this.#waiting.indexOf(resolve);
      if (at >= 0) this.#waiting.splice(at, 1);
      signal.throwIfAborted();
    }
    this.#running++;
  }

  /** Nothing where it took too long, or more than a thread may have. */
  async #try(job: Job, signal: AbortSignal): Promise<PageText | undefined> {
    signal.throwIfAborted();
    const thread = this.#idle.pop() ?? start();
    thread.cancelRest?.();
    const { promise, resolve } = Promise.withResolvers<Done | undefined>();
    const giveUp = () => resolve(undefined);
    signal.addEventListener("abort", giveUp, { once: true });
    thread.worker.onerror = (event) => {
      event.preventDefault();
      giveUp();
    };
    await Promise.race([thread.isUp, promise]);
    const timer = setTimeout(giveUp, this.#pace.pageMs);
    // A thread that runs out of memory would take the process with it.
    const watch = setInterval(() => this.#holdsMuch() && giveUp(), LOOK_MS);
    thread.worker.onmessage = ({ data }: MessageEvent<Done>) => resolve(data);
    thread.worker.postMessage(job);
    const done = await promise;
    clearTimeout(timer);
    clearInterval(watch);
    signal.removeEventListener("abort", giveUp);
    if (done === undefined || done === "up") {
      end(thread);
      this.#onSpoiled(this.#holdsMuch());
      signal.throwIfAborted();
      return undefined;
    }
    if (job.bytes.length > LARGE_BYTES) end(thread);
    else this.#rest(thread);
    if (!done.page) throw new Refusal("unsupported_type", "The page is not what its type says");
    return done.page;
  }

  #holdsMuch(): boolean {
    return process.memoryUsage.rss() > this.#pace.memoryBytes;
  }

  #rest(thread: Thread): void {
    this.#idle.push(thread);
    thread.cancelRest = callWhileAlive(this.#pace.idleMs, () => {
      this.#idle.splice(this.#idle.indexOf(thread), 1);
      end(thread);
    });
  }
}

function start(): Thread {
  const options = { type: "module", deno: { permissions: "none" } } as const;
  // A literal, so that what makes one file of the program sees it.
  const worker = new Worker(new URL("./worker.ts", import.meta.url), options);
  const { promise, resolve } = Promise.withResolvers<void>();
  worker.onmessage = () => resolve();
  return { worker, isUp: promise };
}

function end({ worker, cancelRest }: Thread): void {
  cancelRest?.();
  worker.terminate();
}
