/** Several gateways at one port. The launcher reads this file: it imports nothing but what imports nothing. */
import { keeperSocket } from "../config/permissions.ts";
import { isThere } from "./cached.ts";
import { type Child, send } from "./hang_up.ts";
import type { KeeperTask } from "./keeper.ts";

export interface WorkersOptions {
  count: number;
  /** Starts one. `place` is what it is to find in `LANEWAY_WORKER`. */
  spawn(place: string): Child;
  /** Starts what keeps the store for all; absent where the store is on a server. */
  spawnKeeper?(task: Pick<KeeperTask, "path" | "remembering">): KeeperChild;
  say(text: string): void;
}

/** It ends by itself once its standard input has ended. */
export type KeeperChild = Pick<Deno.ChildProcess, "stdin" | "status" | "kill">;

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
/** How long what keeps the store may take to end, in milliseconds: it writes what is not written yet. */
const END_MS = 10_000;
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
  /** Aborted once no worker needs the store. */
  readonly #over = new AbortController();
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
    const keeping = this.#keepStore();
    await this.#runWorkers();
    this.#over.abort();
    await keeping;
    return this.#exitCode;
  }

  async #runWorkers(): Promise<void> {
    const { count, say } = this.#options;
    const others = Array.from({ length: count - 1 }, (_, index) => index + 2);
    if (!await this.#starts(1)) return;
    const starting = Promise.all(others.map((worker) => this.#starts(worker)));
    starting.then((all) => all.every(Boolean) && say(`Workers: ${count} processes`));
    const kept = others.map(async (worker, index) => (await starting)[index] && await this.#keepRunning(worker));
    await Promise.all([this.#keepRunning(1), ...kept]);
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
    const code = await this.#restart(`Worker ${worker}`, this.#stop.signal, (isFirst) => {
      if (!isFirst) this.#spawn(worker);
      const child = this.#running.get(worker)!;
      child.status.then(() => this.#running.get(worker) === child && this.#running.delete(worker));
      return child;
    });
    this.#exitCode ||= code;
  }

  async #keepStore(): Promise<void> {
    const { count, spawnKeeper } = this.#options;
    if (!spawnKeeper) return;
    const { signal: over } = this.#over;
    await this.#restart("The process that keeps the store", over, (isFirst) => {
      const child = spawnKeeper({ path: keeperSocket(this.#folder), remembering: isFirst ? 0 : count });
      let hanging: ReturnType<typeof setTimeout> | undefined;
      const end = () => {
        child.stdin.close().catch(() => {}); // it may have ended already
        hanging = setTimeout(() => send(child, "SIGKILL"), END_MS);
      };
      over.addEventListener("abort", end, { once: true });
      child.status.then(() => {
        over.removeEventListener("abort", end);
        clearTimeout(hanging);
      });
      return child;
    });
  }

  /** Starts something again whenever it ends. Resolves to its exit code once it has ended for good. */
  async #restart(
    name: string,
    stop: AbortSignal,
    start: (isFirst: boolean) => Pick<Child, "status">,
  ): Promise<number> {
    for (let [waitMs, isFirst] = [SOON_MS, true];; isFirst = false) {
      const since = performance.now();
      const { code, signal } = await start(isFirst).status;
      if (stop.aborted) return code;
      waitMs = performance.now() - since > WELL_MS ? SOON_MS : Math.min(2 * waitMs, LATE_MS);
      this.#options.say(`${name} ended (${signal ?? `code ${code}`}): restarting it`);
      await delay(waitMs, stop);
      if (stop.aborted) return 0;
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
