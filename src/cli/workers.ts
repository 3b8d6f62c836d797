/** Several gateways at one port. The launcher reads this file: it imports nothing but what imports nothing. */
import { isThere } from "./cached.ts";
import { type Child, send } from "./hang_up.ts";

export interface WorkersOptions {
  count: number;
  /** Starts one. `place` is what it is to find in `LANEWAY_WORKER`. */
  spawn(place: string): Child;
  say(text: string): void;
}

export interface Supervisor {
  /** Passes a signal on to all. One that ends them ends what starts them again, too. */
  forward(signal: Deno.Signal): void;
  /** The exit code, once all have ended. */
  ended: Promise<number>;
}

/** How often it is looked whether one serves that was started, in milliseconds. */
const LOOK_MS = 20;
/** How long one has to live to have started well, in milliseconds. */
const WELL_MS = 5_000;
/** How soon one is started again, and how late at most where it ends at once each time, in milliseconds. */
const [SOON_MS, LATE_MS] = [100, 30_000];

/**
 * Makes a folder that only this user opens, in which they find each other. What they may do is known before they start, so the
 * folder has to be there by then, and who makes and removes it is a program: the launcher itself may write nothing.
 */
export async function makeFolder(): Promise<string> {
  const { success, stdout } = await new Deno.Command("mktemp", { args: ["-d", "-t", "laneway-XXXXXXXXXX"] }).output();
  const folder = new TextDecoder().decode(stdout).trim();
  if (!success || folder === "") throw new Error("Cannot create a temporary folder for several workers: set TMPDIR");
  return folder;
}

export async function removeFolder(folder: string): Promise<void> {
  await new Deno.Command("rm", { args: ["-rf", "--", folder] }).output();
}

/**
 * Starts them, and starts each again whenever it ends. The first one is alone at first: what is wrong with the configuration is
 * reported once. Where one cannot start, all end.
 */
export function supervise(folder: string, options: WorkersOptions): Supervisor {
  const supervised = new Supervised(folder, options);
  return { forward: (signal) => supervised.forward(signal), ended: supervised.run() };
}

class Supervised {
  readonly #folder: string;
  readonly #options: WorkersOptions;
  readonly #running = new Map<number, Child>();
  readonly #stop = new AbortController();
  #exitCode = 0;

  constructor(folder: string, options: WorkersOptions) {
    this.#folder = folder;
    this.#options = options;
  }

  forward(signal: Deno.Signal): void {
    if (signal !== "SIGHUP") this.#stop.abort();
    for (const child of this.#running.values()) send(child, signal);
  }

  async run(): Promise<number> {
    const { count, say } = this.#options;
    const others = Array.from({ length: count - 1 }, (_, index) => index + 2);
    if (!await this.#starts(1)) return this.#exitCode;
    const starting = Promise.all(others.map((worker) => this.#starts(worker)));
    starting.then((all) => all.every(Boolean) && say(`Workers: ${count} processes`));
    const kept = others.map(async (worker, index) => (await starting)[index] && await this.#keepRunning(worker));
    await Promise.all([this.#keepRunning(1), ...kept]);
    return this.#exitCode;
  }

  #spawn(worker: number): Child {
    const child = this.#options.spawn(`${this.#folder}/${worker}`);
    this.#running.set(worker, child);
    return child;
  }

  /** Whether it came to serve. One that did not ends all. */
  async #starts(worker: number): Promise<boolean> {
    if (this.#stop.signal.aborted) return false;
    const { status } = this.#spawn(worker);
    let hasEnded = false;
    status.then(() => hasEnded = true);
    while (!hasEnded) {
      if (isThere(`${this.#folder}/${worker}.json`)) return true;
      await delay(LOOK_MS);
    }
    this.#running.delete(worker);
    this.#exitCode ||= (await status).code || 1;
    this.forward("SIGINT");
    return false;
  }

  async #keepRunning(worker: number): Promise<void> {
    const { signal: stop } = this.#stop;
    let since = performance.now();
    for (let waitMs = SOON_MS;;) {
      const { code, signal } = await this.#running.get(worker)!.status;
      this.#running.delete(worker);
      if (stop.aborted) return void (this.#exitCode ||= code);
      waitMs = performance.now() - since > WELL_MS ? SOON_MS : Math.min(2 * waitMs, LATE_MS);
      this.#options.say(`Worker ${worker} ended (${signal ?? `code ${code}`}): restarting it`);
      await delay(waitMs, stop);
      if (stop.aborted) return;
      since = performance.now();
      this.#spawn(worker);
    }
  }
}

function delay(ms: number, stop?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    stop?.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    }, { once: true });
  });
}
