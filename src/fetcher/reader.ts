/** Threads that read pages. */
import process from "node:process";
import { callWhileAlive } from "../util/idle_timer.ts";
import { Slots } from "../util/shares.ts";
import type { PageText } from "./html.ts";
import { Refusal } from "./refusal.ts";
import type { Caller } from "./fetch_queue.ts";
import type { Done, Job } from "./worker.ts";

export interface ReaderPace {
  /** How long one page may take, in milliseconds, not counting the start of a thread. */
  pageMs: number;
  /** How long an idle thread is kept with its memory, in milliseconds. */
  idleMs: number;
  /** How much memory the process may hold. Above it, pages that are being read are given up. */
  memoryBytes: number;
}

const PACE: ReaderPace = { pageMs: 8_000, idleMs: 30_000, memoryBytes: 2 ** 30 };
const THREADS = 2;
/** How often the memory is checked, in milliseconds. */
const LOOK_MS = 50;
/** After a larger page, the thread is ended: its memory goes back to the system only then. */
const LARGE_BYTES = 2 ** 20;

/** A page that was read. */
export interface ReadPage extends PageText {
  /** Whether the page cost a thread, and so the process. It should not be tried again soon. */
  isSpoiling?: true;
}

interface Thread {
  worker: Worker;
  isUp: Promise<void>;
  cancelRest?(): void;
}

/**
 * Reads as many pages at once as it has threads. Other pages wait. A thread that is given up goes on, because Deno (2.9.6) cannot
 * end a busy thread. It ends with the process, so `onSpoiled` is called to end the process.
 */
export class Reader {
  readonly #pace: ReaderPace;
  readonly #onSpoiled: (holdsMuch: boolean) => void;
  readonly #idle: Thread[] = [];
  readonly #slots = new Slots(THREADS);

  constructor(onSpoiled: (holdsMuch: boolean) => void, pace: Partial<ReaderPace> = {}) {
    this.#onSpoiled = onSpoiled;
    this.#pace = { ...PACE, ...pace };
  }

  /**
   * Throws a `Refusal` if the page cannot be read, or the reason of `signal` if it is aborted while the page waits. Once reading has
   * begun, the page is read to its end even if it is no longer wanted: giving it up would cost the process.
   */
  async read(job: Omit<Job, "isHasty">, signal: AbortSignal, caller?: Caller): Promise<ReadPage> {
    return await this.#slots.run(caller, signal, async () => {
      const page = await this.#try({ ...job, isHasty: false });
      if (page) return page;
      // A page that took too long is read once more, in the way that takes no time.
      const isWorthIt = job.kind === "html" && !this.#holdsMuch();
      const hasty = isWorthIt ? await this.#try({ ...job, isHasty: true }) : undefined;
      if (!hasty) throw new Refusal("too_large", "The page takes too much to read", { isSpoiling: true });
      return { ...hasty, isSpoiling: true };
    });
  }

  close(): void {
    for (const thread of this.#idle.splice(0)) end(thread);
  }

  /** Absent if the page took too long or too much memory. */
  async #try(job: Job): Promise<PageText | undefined> {
    const thread = this.#idle.pop() ?? start();
    thread.cancelRest?.();
    const { promise, resolve } = Promise.withResolvers<Done | undefined>();
    const giveUp = () => resolve(undefined);
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
    if (done === undefined || done === "up") {
      end(thread);
      this.#onSpoiled(this.#holdsMuch());
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
  // A literal, so that the bundler sees it.
  const worker = new Worker(new URL("./worker.ts", import.meta.url), options);
  const { promise, resolve } = Promise.withResolvers<void>();
  worker.onmessage = () => resolve();
  return { worker, isUp: promise };
}

function end({ worker, cancelRest }: Thread): void {
  cancelRest?.();
  worker.terminate();
}
