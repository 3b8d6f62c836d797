import { GatewayError } from "../errors.ts";
import { TimeLimit } from "../util/time_limit.ts";

/** How long an upstream may take, in milliseconds. */
export interface Timeouts {
  /** The time until the response headers of a stream arrive. */
  headMs: number;
  /** The time from the headers until the first event of a stream. */
  firstEventMs: number;
  /** The time between two events. */
  idleMs: number;
  /** The time for a whole answer. */
  wholeMs: number;
  /** The time for a streamed answer. */
  totalMs: number;
}

/** The clock of one call: aborts `signal` with `upstream_timeout` when a phase takes too long. */
export class Watch implements EventListenerObject {
  readonly signal: AbortSignal;
  readonly #controller = new AbortController();
  readonly #outer: AbortSignal;
  readonly #total: TimeLimit;
  #phase: TimeLimit | undefined;
  /** The timer for the rest of a phase that has been extended. Its length varies. */
  #rest: ReturnType<typeof setTimeout> | undefined;
  /** Whether the clock is paused until the next touch: what the upstream has sent has not been read yet. */
  isResting = false;
  #limitMs = 0;
  #what = "";
  #since = 0;

  constructor(outer: AbortSignal, totalMs: number) {
    this.signal = this.#controller.signal;
    this.#outer = outer;
    if (outer.aborted) this.handleEvent();
    else outer.addEventListener("abort", this);
    this.#total = new TimeLimit(totalMs, () => this.#fail(`answer within ${totalMs} ms`));
  }

  /** Called when the outer signal is aborted. */
  handleEvent(): void {
    this.#controller.abort(this.#outer.reason);
  }

  /** Begins a phase: `what` must happen within `limitMs`. */
  begin(limitMs: number, what: string): void {
    if (this.#phase) this.#endPhase();
    this.#limitMs = limitMs;
    this.#what = what;
    this.touch();
    this.#phase = new TimeLimit(limitMs, () => this.#look());
  }

  /** Restarts the time of the current phase. Cheap: the timer checks it only when it fires. */
  touch(): void {
    this.isResting = false;
    this.#since = performance.now();
  }

  /** Aborts whatever is still running for the call. */
  cancel(): void {
    this.#controller.abort(new GatewayError("upstream_error", "The call was given up"));
  }

  /** The call is over. Neither a time limit nor the outer signal aborts it from now on. */
  stop(): void {
    if (this.#phase) this.#endPhase();
    this.#total.cancel();
    this.#outer.removeEventListener("abort", this);
  }

  #endPhase(): void {
    this.#phase?.cancel();
    if (this.#rest !== undefined) clearTimeout(this.#rest);
  }

  #look(): void {
    const left = this.isResting ? this.#limitMs : this.#since + this.#limitMs - performance.now();
    if (left > 0) this.#rest = setTimeout(() => this.#look(), left);
    else this.#fail(`${this.#what} within ${this.#limitMs} ms`);
  }

  #fail(what: string): void {
    this.#controller.abort(new GatewayError("upstream_timeout", `The upstream did not ${what}`));
  }
}
