import type { Prompt } from "../contract/driver.ts";
import { GatewayError, toGatewayError } from "../errors.ts";
import { settleWithin } from "../util/timeout.ts";
import type { TokenizerFiles, TokenizerFolder } from "./tokenizer_files.ts";
import type { Done, Job } from "./worker.ts";
import { callWhileAlive } from "../util/idle_timer.ts";

export interface TokenizersOptions {
  /** Downloads the files of a model from the service with this name. */
  download(service: string, model: string): Promise<TokenizerFiles>;
  /** Caches the files. Without it they are downloaded after every start. */
  folder?: TokenizerFolder;
  /** Milliseconds by a monotonic clock. */
  now(): number;
  pace?: Partial<TokenizersPace>;
}

/** In milliseconds, except the last two. */
export interface TokenizersPace {
  /** How long a count waits for a model to load, measured from the start of loading. */
  patienceMs: number;
  /** How long the worker may spend on one job. */
  jobMs: number;
  /** How long a model is not tried again if it is not available: missing, not accessible or unreadable. */
  unavailableMs: number;
  /** How long a model is not tried again after a failure that may be temporary. */
  retryAfterMs: number;
  /** How long the worker may be idle before it is ended to free its memory. */
  idleMs: number;
  /** How many models are loaded at the same time. */
  mostLoaded: number;
  /** How many models are remembered. The least recently used one is dropped first. */
  mostKnown: number;
}

const PACE: TokenizersPace = {
  patienceMs: 1_000,
  jobMs: 20_000,
  unavailableMs: 3_600_000,
  retryAfterMs: 60_000,
  idleMs: 600_000,
  mostLoaded: 2,
  mostKnown: 1_000,
};

/** How many models may wait to be loaded. */
const MOST_LOADING = 8;

interface Known {
  state: "loading" | "loaded" | "away";
  loading?: Promise<void>;
  /** When loading began, by `performance.now()`. */
  since: number;
  restUntil: number;
}

type Asked<Type extends Job["type"]> = Omit<Extract<Job, { type: Type }>, "id" | "ms">;

interface Pending {
  model: string;
  done(result: Done): void;
  fail(error: Error): void;
}

/** Counts with the models' own chat templates and vocabularies, which are loaded on first use. */
export class Tokenizers {
  readonly #options: TokenizersOptions;
  readonly #pace: TokenizersPace;
  readonly #known = new Map<string, Known>();
  /** The models that the worker has loaded, least recently used first. */
  readonly #held = new Set<string>();
  /** In the order in which the worker does them. */
  readonly #pending = new Map<number, Pending>();
  #worker: Worker | undefined;
  /** Whether the worker's code is loaded. That takes long on a busy machine and is not part of a job. */
  #isUp = false;
  #jobs = 0;
  #watch: ReturnType<typeof setTimeout> | undefined;
  #cancelRest: (() => void) | undefined;
  /** Models are loaded one at a time. */
  #queue: Promise<void> = Promise.resolve();
  #waiting = 0;
  #closed = false;

  constructor(options: TokenizersOptions) {
    this.#options = options;
    this.#pace = { ...PACE, ...options.pace };
  }

  /** Throws `unavailable` if the model cannot be counted with, or not yet. */
  async count(service: string, model: string, prompt: Prompt): Promise<number> {
    const name = `${service}/${model}`;
    const known = this.#known.get(name) ?? { state: "away", since: 0, restUntil: -Infinity };
    this.#known.delete(name);
    this.#known.set(name, known);
    for (const oldest of this.#known.keys()) {
      if (this.#known.size <= this.#pace.mostKnown) break;
      if (!this.#held.has(oldest)) this.#known.delete(oldest);
    }
    if (known.state === "away") this.#begin(name, known, service, model);
    if (known.state === "loading") {
      const left = known.since + this.#pace.patienceMs - performance.now();
      if (left > 0 && known.loading) await settleWithin(known.loading, left);
    }
    if (known.state !== "loaded") throw unavailable(`The tokenizer of "${model}" is not loaded`);
    this.#held.delete(name);
    this.#held.add(name);
    const { tokens, isOverdue } = await this.#post({ type: "count", model: name, prompt: JSON.stringify(prompt) });
    if (isOverdue) this.#leaveAlone(name);
    if (tokens === undefined) throw unavailable(`The tokenizer of "${model}" cannot count this`);
    return tokens;
  }

  /** A template that does not end, or a vocabulary that is too large, is not tried again soon. */
  #leaveAlone(name: string): void {
    this.#held.delete(name);
    const known = this.#known.get(name);
    if (!known) return;
    known.state = "away";
    known.restUntil = this.#options.now() + this.#pace.unavailableMs;
  }

  /** Ends the worker. */
  close(): void {
    this.#closed = true;
    this.#end(unavailable("The gateway is shutting down"));
  }

  #begin(name: string, known: Known, service: string, model: string): void {
    const { now } = this.#options;
    if (this.#closed || now() < known.restUntil || this.#waiting >= MOST_LOADING || typeof Worker === "undefined") {
      return;
    }
    known.state = "loading";
    known.since = performance.now();
    this.#waiting++;
    known.loading = this.#queue = this.#queue.then(async () => {
      try {
        await this.#load(name, service, model);
        known.state = "loaded";
      } catch (thrown) {
        const { upstreamStatus } = toGatewayError(thrown).details;
        const isThere = upstreamStatus === undefined ? !(thrown instanceof Unreadable) : upstreamStatus >= 429;
        known.restUntil = now() + (isThere ? this.#pace.retryAfterMs : this.#pace.unavailableMs);
        known.state = "away";
      } finally {
        known.loading = undefined;
        this.#waiting--;
      }
    });
  }

  async #load(name: string, service: string, model: string): Promise<void> {
    const { folder, download } = this.#options;
    const kept = await folder?.read(name);
    const fresh = kept && !kept.isOld ? undefined : await download(service, model).catch((thrown) => {
      if (kept) return undefined; // an old one is better than none
      throw thrown;
    });
    const files = fresh ?? kept!.files;
    if (fresh) await folder?.write(name, fresh);
    if (this.#closed) throw unavailable("The gateway is shutting down");
    for (const held of this.#held) {
      if (this.#held.size < this.#pace.mostLoaded) break;
      this.#held.delete(held);
      this.#worker?.postMessage({ type: "drop", model: held } satisfies Job);
      const dropped = this.#known.get(held);
      if (dropped) {
        dropped.state = "away";
        // Conversations that alternate between many models must not load them over and over.
        dropped.restUntil = this.#options.now() + this.#pace.retryAfterMs;
      }
    }
    this.#held.add(name);
    try {
      const { error } = await this.#post({ type: "load", model: name, files });
      if (error !== undefined) throw new Unreadable(error);
    } catch (thrown) {
      this.#held.delete(name);
      if (thrown instanceof Unreadable) await folder?.remove(name);
      throw thrown;
    }
  }

  #post(job: Asked<"load"> | Asked<"count">): Promise<Done> {
    const id = ++this.#jobs;
    const { promise, resolve, reject } = Promise.withResolvers<Done>();
    if (this.#closed) return Promise.reject(unavailable("The gateway is shutting down"));
    this.#worker ??= this.#start();
    this.#pending.set(id, { model: job.model, done: resolve, fail: reject });
    if (this.#pending.size === 1) this.#rewatch();
    const transfer = job.type === "load" ? Object.values(job.files).flatMap((bytes) => bytes?.buffer ?? []) : [];
    this.#worker.postMessage({ ...job, id, ms: this.#pace.jobMs } satisfies Job, transfer);
    return promise;
  }

  #start(): Worker {
    // A literal, so that bundlers find it.
    const worker = new Worker(new URL("./worker.ts", import.meta.url), { type: "module" });
    this.#isUp = false;
    worker.onmessage = ({ data }: MessageEvent<Done>) => {
      this.#isUp = true;
      const job = this.#pending.get(data.id);
      this.#pending.delete(data.id);
      this.#rewatch();
      job?.done(data);
    };
    worker.onerror = (event) => {
      event.preventDefault();
      this.#giveUp();
    };
    return worker;
  }

  /** Restarts the timer for the worker's current job, or for its idle time if there is none. */
  #rewatch(): void {
    clearTimeout(this.#watch);
    this.#cancelRest?.();
    this.#watch = this.#cancelRest = undefined;
    if (this.#pending.size > 0) {
      if (this.#isUp) this.#watch = setTimeout(() => this.#giveUp(), 2 * this.#pace.jobMs);
    } else {
      const rest = () => this.#end(unavailable("The worker was not needed"));
      this.#cancelRest = callWhileAlive(this.#pace.idleMs, rest);
    }
  }

  /**
   * The worker failed or exceeded its time limit. Its current model is not tried again soon. Other models are loaded again on
   * demand.
   */
  #giveUp(): void {
    const [first] = this.#pending.values();
    first?.fail(new Unreadable("The worker did not answer"));
    this.#end(unavailable("The worker had to be ended"));
    if (first) this.#leaveAlone(first.model);
  }

  #end(reason: GatewayError): void {
    clearTimeout(this.#watch);
    this.#cancelRest?.();
    this.#worker?.terminate();
    this.#worker = undefined;
    for (const name of this.#held) {
      const known = this.#known.get(name);
      if (known?.state === "loaded") known.state = "away";
    }
    this.#held.clear();
    const pending = [...this.#pending.values()];
    this.#pending.clear();
    for (const { fail } of pending) fail(reason);
  }
}

/** Files that are not a tokenizer's, or belong to an unsupported kind. */
class Unreadable extends Error {}

function unavailable(message: string): GatewayError {
  return new GatewayError("unavailable", message);
}
