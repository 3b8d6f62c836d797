/** Runs several gateways at one port. The launcher loads this file, so it imports only files that import nothing. */
import { keeperSocket } from "../config/permissions.ts";
import { isThere } from "./cached.ts";
import { type Child, send } from "./hang_up.ts";
import type { KeeperTask } from "./keeper.ts";
import { type ChildProcess, command } from "../platform/host.ts";

export interface WorkersOptions {
  count: number;
  /** Starts a worker. `place` is the value of its variable `WORKER_PLACE`. */
  spawn(place: string): Child;
  /** Starts the keeper. Absent if the store is on a server. */
  spawnKeeper?(task: Pick<KeeperTask, "path" | "remembering">): KeeperChild;
  say(text: string): void;
}

/** The keeper's process. It ends by itself once its standard input has ended. */
export type KeeperChild = Pick<ChildProcess, "stdin" | "status" | "kill">;

export interface Supervisor {
  /** Passes a signal on to all workers. After a signal that ends them, they are not restarted. */
  forward(signal: Deno.Signal): void;
  /** Resolves to the exit code once all processes have ended. */
  ended: Promise<number>;
}

/** How often it is checked whether a started worker serves, in milliseconds. */
const LOOK_MS = 20;
/** After how long a start counts as successful, in milliseconds. */
const WELL_MS = 5_000;
/** How long the keeper may take to end, in milliseconds: it still writes its counts. */
const END_MS = 10_000;
/** The shortest and the longest wait before a restart, in milliseconds. It grows while a process keeps ending at once. */
const [SOON_MS, LATE_MS] = [100, 30_000];

/**
 * Makes a folder that only this user can open, in which the workers find each other. It must exist before they start, because their
 * permissions name it. Other programs make and remove it, because the launcher itself may write nothing.
 */
export async function makeFolder(): Promise<string> {
  const { success, stdout } = await command("mktemp", { args: ["-d", "-t", "laneway-XXXXXXXXXX"] }).output();
  const folder = new TextDecoder().decode(stdout).trim();
  if (!success || folder === "") throw new Error("Cannot create a temporary folder for several workers: set TMPDIR");
  return folder;
}

export async function removeFolder(folder: string): Promise<void> {
  await command("rm", { args: ["-rf", "--", folder] }).output();
}

/**
 * Starts the workers, and restarts each one whenever it ends. The first worker starts alone, so that a mistake in the configuration
 * is reported once. If one of them cannot start, all end.
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

  /** Starts a worker. Returns whether it came to serve. If it did not, all workers end. */
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

  /** Restarts a process whenever it ends. Resolves to its exit code once it has ended for good. */
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
