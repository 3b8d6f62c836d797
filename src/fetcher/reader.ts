/** Threads that read pages and documents. */
import process from "node:process";
import { callWhileAlive } from "../util/idle_timer.ts";
import { Slots } from "../util/shares.ts";
import type { PageText } from "./html.ts";
import { Refusal } from "./refusal.ts";
import type { Caller } from "./fetch_queue.ts";
import type { DocumentJob, ReadDocument } from "./document_worker.ts";
import type { Job } from "./worker.ts";

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

/** The answer of a thread: what it read, nothing if it could not, and a word once it is up. */
type Done<Read> = { page?: Read } | "up";

/**
 * Reads as many pages at once as it has threads. Other pages wait. A thread that is given up goes on, because Deno (2.9.6) cannot
 * end a busy thread. It ends with the process, so `onSpoiled` is called to end the process.
 */
class Threads<Work extends { bytes: Uint8Array }, Read extends object> {
  readonly #pace: ReaderPace;
  readonly #newWorker: () => Worker;
  readonly #onSpoiled: (holdsMuch: boolean) => void;
  readonly #idle: Thread[] = [];
  readonly #slots = new Slots(THREADS);

  constructor(newWorker: () => Worker, onSpoiled: (holdsMuch: boolean) => void, pace: Partial<ReaderPace> = {}) {
    this.#newWorker = newWorker;
    this.#onSpoiled = onSpoiled;
    this.#pace = { ...PACE, ...pace };
  }

  /**
   * Throws a `Refusal` if the page cannot be read, or the reason of `signal` if it is aborted while the page waits. Once reading has
   * begun, the page is read to its end even if it is no longer wanted: giving it up would cost the process. `hasty`: the way that
   * takes no time, for a page that took too long.
   */
  protected async run(
    work: Work,
    signal: AbortSignal,
    caller?: Caller,
    hasty?: Work,
  ): Promise<Read & { isSpoiling?: true }> {
    return await this.#slots.run(caller, signal, async () => {
      const page = await this.#try(work);
      if (page) return page;
      const rest = hasty && !this.#holdsMuch() ? await this.#try(hasty) : undefined;
      if (!rest) throw new Refusal("too_large", "The page takes too much to read", { isSpoiling: true });
      return { ...rest, isSpoiling: true };
    });
  }

  close(): void {
    for (const thread of this.#idle.splice(0)) end(thread);
  }

  /** Absent if the page took too long or too much memory. */
  async #try(job: Work): Promise<Read | undefined> {
    const thread = this.#idle.pop() ?? start(this.#newWorker());
    thread.cancelRest?.();
    const { promise, resolve } = Promise.withResolvers<Done<Read> | undefined>();
    const giveUp = () => resolve(undefined);
    thread.worker.onerror = (event) => {
      event.preventDefault();
      giveUp();
    };
    await Promise.race([thread.isUp, promise]);
    const timer = setTimeout(giveUp, this.#pace.pageMs);
    // A thread that runs out of memory would take the process with it.
    const watch = setInterval(() => this.#holdsMuch() && giveUp(), LOOK_MS);
    thread.worker.onmessage = ({ data }: MessageEvent<Done<Read>>) => resolve(data);
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

export class Reader extends Threads<Job, PageText> {
  constructor(onSpoiled: (holdsMuch: boolean) => void, pace?: Partial<ReaderPace>) {
    super(() => new Worker(new URL("./worker.ts", import.meta.url), CONFINED), onSpoiled, pace);
  }

  async read(job: Omit<Job, "isHasty">, signal: AbortSignal, caller?: Caller): Promise<ReadPage> {
    const hasty = job.kind === "html" ? { ...job, isHasty: true } : undefined;
    return await this.run({ ...job, isHasty: false }, signal, caller, hasty);
  }
}

export class DocumentReader extends Threads<DocumentJob, ReadDocument> {
  constructor(onSpoiled: (holdsMuch: boolean) => void, pace?: Partial<ReaderPace>) {
    super(() => new Worker(new URL("./document_worker.ts", import.meta.url), CONFINED), onSpoiled, pace);
  }

  async read(job: DocumentJob, signal: AbortSignal, caller?: Caller): Promise<ReadDocument & { isSpoiling?: true }> {
    return await this.run(job, signal, caller);
  }
}

/** The options of both workers. Their modules stand as literals where they are created, so that the bundler sees them. */
const CONFINED = { type: "module", deno: { permissions: "none" } } as const;

function start(worker: Worker): Thread {
  const { promise, resolve } = Promise.withResolvers<void>();
  worker.onmessage = () => resolve();
  return { worker, isUp: promise };
}

function end({ worker, cancelRest }: Thread): void {
  cancelRest?.();
  worker.terminate();
}
