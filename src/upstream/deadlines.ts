import { GatewayError } from "../errors.ts";
import { follow } from "../util/abort.ts";

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
  readonly #total: ReturnType<typeof setTimeout>;
  #phase: ReturnType<typeof setTimeout> | undefined;
  #limitMs = 0;
  #what = "";
  #since = 0;
  #resting = false;

  constructor(outer: AbortSignal, totalMs: number) {
    this.signal = this.#controller.signal;
    this.#release = follow(outer, this.#controller);
    this.#total = setTimeout(() => this.#fail(`answer within ${totalMs} ms`), totalMs);
  }

  /** Begins a phase: `what` must happen within `limitMs`. */
  begin(limitMs: number, what: string): void {
    clearTimeout(this.#phase);
    this.#limitMs = limitMs;
    this.#what = what;
    this.touch();
    this.#arm(limitMs);
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
    clearTimeout(this.#phase);
    clearTimeout(this.#total);
    this.#release();
  }

  #arm(delayMs: number): void {
    this.#phase = setTimeout(() => {
      const left = this.#since + this.#limitMs - performance.now();
      if (this.#resting) this.#arm(this.#limitMs);
      else if (left > 0) this.#arm(left);
      else this.#fail(`${this.#what} within ${this.#limitMs} ms`);
    }, delayMs);
  }

  #fail(what: string): void {
    this.#controller.abort(new GatewayError("upstream_timeout", `The upstream did not ${what}`));
  }
}
