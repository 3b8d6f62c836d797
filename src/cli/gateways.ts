/**
 * Replaces a running gateway by another one at the same port, without a moment in which nobody serves. It is for the launcher, so it
 * imports only files that import nothing.
 */
import { type Child, send } from "./hang_up.ts";

/** One gateway that can be started. */
export interface Generation {
  /** Its token for the desk. */
  token: string;
  spawn(): Child;
  /** Resolves once it says that it serves, or why it does not. */
  started: Promise<string | undefined>;
  /** Called when it has ended. */
  end(): void;
}

interface Running {
  child: Child;
  generation: Generation;
}

/** How long a gateway may take to start, and how long another one may take to notice that it is replaced, in milliseconds. */
const [START_MS, NOTICE_MS] = [60_000, 10_000];

/** The most gateways that were replaced and still finish their requests. */
const MOST_FORMER = 3;
const STOPPING = "The gateway is stopping";

export class Gateways {
  readonly #running = new Set<Running>();
  readonly #over = Promise.withResolvers<number>();
  #current: Running;
  #code = 0;
  #isEnding = false;
  #isRestarting = false;

  constructor(first: Generation) {
    this.#current = this.#start(first);
  }

  /** Resolves to the exit code of the latest gateway once all have ended. */
  get ended(): Promise<number> {
    return this.#over.promise;
  }

  /** Passes a signal on. A signal that ends gateways also ends those that were replaced. */
  forward(signal: Deno.Signal): void {
    this.#isEnding ||= signal !== "SIGHUP";
    const all = signal === "SIGHUP" ? [this.#current] : [...this.#running];
    for (const { child } of all) send(child, signal);
  }

  /**
   * Starts another gateway, and lets the present one finish. Returns why it failed; then the present one goes on. `token`: that of the
   * gateway that asks for it, which may be one that was replaced already.
   */
  async restart(prepare: () => Promise<Generation>, token: string): Promise<string | undefined> {
    if (this.#isEnding) return STOPPING;
    if (this.#isRestarting) return "The gateway is restarting already";
    if (this.#running.size > MOST_FORMER) return "Former gateways still finish their requests: restart it again later";
    this.#isRestarting = true;
    try {
      const generation = await prepare();
      if (this.#isEnding) {
        generation.end();
        return STOPPING;
      }
      const next = this.#start(generation);
      const failure = await startOf(next);
      if (failure === undefined) this.#replaceBy(next, token);
      else send(next.child, "SIGKILL");
      return failure;
    } finally {
      this.#isRestarting = false;
      this.#endIfOver();
    }
  }

  #replaceBy(next: Running, token: string): void {
    const former = this.#current;
    this.#current = next;
    // A gateway that has asked finishes by itself, unless it hangs.
    const noticeMs = former.generation.token === token ? NOTICE_MS : 0;
    const late = setTimeout(() => send(former.child, "SIGTERM"), noticeMs);
    former.child.status.then(() => clearTimeout(late));
  }

  #start(generation: Generation): Running {
    const running = { child: generation.spawn(), generation };
    this.#running.add(running);
    running.child.status.then(({ code }) => {
      this.#running.delete(running);
      generation.end();
      if (running === this.#current) this.#code = code;
      this.#endIfOver();
    });
    return running;
  }

  #endIfOver(): void {
    if (this.#running.size === 0 && !this.#isRestarting) this.#over.resolve(this.#code);
  }
}

/** Why a gateway did not start. `undefined` if it serves. */
async function startOf({ child, generation }: Running): Promise<string | undefined> {
  const late = Promise.withResolvers<string>();
  const timer = setTimeout(() => late.resolve(`The gateway did not start within ${START_MS / 1000} seconds`), START_MS);
  const ended = child.status.then(({ code }) => `The gateway ended with code ${code}: the terminal shows why`);
  try {
    return await Promise.race([generation.started, ended, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
