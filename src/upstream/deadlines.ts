import { GatewayError } from "../errors.ts";
import { follow } from "../util/abort.ts";
import { TimeLimit } from "../util/time_limit.ts";

/** How long an upstream may take, in milliseconds. */
export interface Timeouts {
  /** Until the response head of a stream. */
  headMs: number;
  /** From there until the first event of a stream. */
  firstEventMs: number;
  /** Between two events. */
  idleMs: number;
  /** For an answer that is not streamed. */
  wholeMs: number;
  /** For a streamed answer, from its first moment to its last. */
  totalMs: number;
}

/** The clock of one call: aborts `signal` with `upstream_timeout` when a phase takes too long. */
export class Watch {
  readonly signal: AbortSignal;
  readonly #controller = new AbortController();
  readonly #release: () => void;
  readonly #total: TimeLimit;
  #phase: TimeLimit | undefined;
  /** For what is left of a phase that was touched: any length. */
  #rest: ReturnType<typeof setTimeout> | undefined;
  #limitMs = 0;
  #what = "";
  #since = 0;
  #resting = false;

  constructor(outer: AbortSignal, totalMs: number) {
    this.signal = this.#controller.signal;
    this.#release = follow(outer, this.#controller);
    this.#total = new TimeLimit(totalMs, () => this.#fail(`answer within ${totalMs} ms`));
  }

  /** Begins a phase: `what` must happen within `limitMs`. */
  begin(limitMs: number, what: string): void {
    this.#endPhase();
    this.#limitMs = limitMs;
    this.#what = what;
    this.touch();
    this.#phase = new TimeLimit(limitMs, () => this.#look());
  }

  /** The phase goes on, and its time begins anew. Cheap: the timer looks at it when it fires. */
  touch(): void {
    this.#resting = false;
    this.#since = performance.now();
  }

  /** Until the next touch nobody waits for the upstream: what has come is not taken yet. */
  rest(): void {
    this.#resting = true;
  }

  /** Ends what still runs of the call. */
  cancel(): void {
    this.#controller.abort(new GatewayError("upstream_error", "The call was given up"));
  }

  /** The call is over: no time limit and nobody else ends it any more. */
  stop(): void {
    this.#endPhase();
    this.#total.cancel();
    this.#release();
  }

  #endPhase(): void {
    this.#phase?.cancel();
    if (this.#rest !== undefined) clearTimeout(this.#rest);
  }

  #look(): void {
    const left = this.#resting ? this.#limitMs : this.#since + this.#limitMs - performance.now();
    if (left > 0) this.#rest = setTimeout(() => this.#look(), left);
    else this.#fail(`${this.#what} within ${this.#limitMs} ms`);
  }

  #fail(what: string): void {
    this.#controller.abort(new GatewayError("upstream_timeout", `The upstream did not ${what}`));
  }
}
