/** Decides which targets are tried, in which order and how often, until one answers. */
import { delay } from "../util/timeout.ts";
import { type ErrorCode, isFailure, toGatewayError } from "../errors.ts";
import type { Breaker } from "./circuit_breaker.ts";

export interface RetryPolicy {
  /** How many times a target may be tried for one request, if it certainly did not start the work. */
  rounds: number;
  /** How many failures that may have cost something are followed by an attempt at another target. */
  failovers: number;
  /** How long a request may wait between rounds in total, in milliseconds. */
  budgetMs: number;
  /** The wait before the second round, in milliseconds. Each further wait is twice as long. */
  baseMs: number;
}

/** The targets of one request, and how to move from one to the next. */
export interface FailoverPlan<T> {
  /** In order of preference. */
  targets: readonly T[];
  /** The key under which a target's failures are counted. */
  idOf(target: T): string;
  /** Acquires a permit at the target's upstream. The result releases it. */
  acquire(target: T, signal: AbortSignal): Promise<() => void> | undefined;
  breaker: Breaker;
  policy: RetryPolicy;
  /** Tries another target as well if one has been silent for this long. The first one that answers is used. */
  hedge?: Hedge;
  /** Whether the request may cause no further calls of upstreams. Asked after each failure. */
  isSpent?(): boolean;
  /** Milliseconds since the epoch. */
  now(): number;
  /** Aborted when the answer is no longer needed. */
  signal: AbortSignal;
  onAsk(target: T): void;
  /** Called with the target that answers. For a stream, as soon as there is content. */
  onServed(target: T): void;
  /** Called with a target that cannot answer, or whose answer was interrupted. */
  onFailed(target: T, thrown: unknown): void;
}

export interface Hedge {
  afterMs: number;
  /** Whether one more request may be sent to a second target. If so, it is counted. */
  spend(): boolean;
}

/** The answer of the first target that returns one. */
export async function firstAnswer<T, R>(
  plan: FailoverPlan<T>,
  attempt: (target: T, signal: AbortSignal) => Promise<R>,
): Promise<R> {
  const failover = new Failover(plan);
  for (;;) {
    const target = failover.nextNow() ?? await failover.next();
    let release: (() => void) | undefined;
    try {
      const acquired = plan.acquire(target, plan.signal);
      release = await acquired;
      // The client may have left in the moment in which the permit came.
      if (acquired) plan.signal.throwIfAborted();
      plan.onAsk(target);
      const result = await attempt(target, plan.signal);
      failover.served(target);
      plan.onServed(target);
      return result;
    } catch (thrown) {
      failover.failed(target, thrown);
    } finally {
      release?.();
    }
  }
}

/** Errors of one upstream that another upstream may not have. A mistake of the caller would fail everywhere. */
const INABILITIES: ReadonlySet<ErrorCode> = new Set([
  "model_not_found",
  "unsupported",
  "unsupported_media_type",
  "billing",
]);

/** The state of one request on its way through the targets. */
export class Failover<T> {
  readonly #plan: FailoverPlan<T>;
  readonly #refusals: unknown[] = [];
  #round = 0;
  #waitedMs = 0;
  /** How many of the targets that failed may have worked on the request, or may still do so. */
  #begun = 0;
  #left: T[];
  /** Targets that may be tried again, with the wait that each requested. */
  #again: { target: T; waitMs: number }[] = [];

  constructor(plan: FailoverPlan<T>) {
    this.#plan = plan;
    this.#left = plan.breaker.order(plan.targets, plan.idOf);
  }

  /** The next target to try, after a wait if all have been tried. Throws the error for the client if none is left. */
  async next(): Promise<T> {
    return this.nextNow() ?? await this.#nextRound();
  }

  /** The next target to try in this round. */
  nextNow(): T | undefined {
    return this.#left.shift();
  }

  served(target: T): void {
    this.#plan.breaker.succeeded(this.#plan.idOf(target));
  }

  /** Throws if no other target can help or may be tried, unless another one is already running. */
  failed(target: T, thrown: unknown, othersRun = false): void {
    this.broke(target, thrown);
    if (mayHaveBegun(thrown)) this.#begun++;
    const mayGoOn = isWorthAnother(thrown) && this.#begun <= this.#plan.policy.failovers && !this.#plan.isSpent?.();
    if (!mayGoOn && !othersRun) throw thrown;
    this.#refusals.push(thrown);
    if (isRepeatable(thrown)) this.#again.push({ target, waitMs: waitOf(thrown, this.#plan.now()) });
  }

  /** Records a failure of the target. */
  broke(target: T, thrown: unknown): void {
    if (this.#plan.signal.aborted || toGatewayError(thrown).details.own) return;
    if (isTargets(thrown)) this.#plan.onFailed(target, thrown);
    if (isFailure(thrown)) this.#plan.breaker.failed(this.#plan.idOf(target), waitOf(thrown, this.#plan.now()));
  }

  async #nextRound(): Promise<T> {
    const { policy, signal } = this.#plan;
    this.#round++;
    const leftMs = policy.budgetMs - this.#waitedMs;
    // Jitter, so that requests that failed together do not return together.
    const pauseMs = policy.baseMs * 2 ** (this.#round - 1) * (0.5 + Math.random() / 2);
    const again = this.#again.filter(({ waitMs }) => waitMs <= leftMs);
    const waitMs = Math.max(pauseMs, Math.min(...again.map((one) => one.waitMs)));
    if (this.#round >= policy.rounds || again.length === 0 || waitMs > leftMs) throw worstOf(this.#refusals);
    this.#again = [];
    this.#waitedMs += waitMs;
    await delay(waitMs, signal);
    const [first, ...others] = again.filter((one) => one.waitMs <= waitMs).map(({ target }) => target);
    this.#left = others;
    return first!;
  }
}

/** The wait that an error requests, in milliseconds. The error states seconds or a date. */
function waitOf(thrown: unknown, now: number): number {
  const { retryAfter } = toGatewayError(thrown).details;
  if (retryAfter === undefined) return 0;
  const seconds = Number(retryAfter);
  const ms = Number.isNaN(seconds) ? Date.parse(retryAfter) - now : seconds * 1000;
  return ms > 0 ? ms : 0;
}

/** The error if no target answered: the last failure, which may be temporary. A refusal only if none failed. */
function worstOf(refusals: readonly unknown[]): unknown {
  return refusals.findLast(isFailure) ?? refusals.at(-1) ?? new Error("No target to ask");
}

/** The error for targets with these outcomes, each tried once and in this order. `undefined` if one of them serves. */
export function refusalOf(ends: readonly unknown[]): unknown {
  const end = ends.findIndex((thrown) => thrown === undefined || !isWorthAnother(thrown));
  if (end >= 0) return ends[end];
  return ends.length > 0 ? worstOf(ends) : undefined;
}

function isWorthAnother(thrown: unknown): boolean {
  const { details: { workBegun, tryNextTarget = isTargets(thrown) } } = toGatewayError(thrown);
  return !workBegun && tryNextTarget;
}

/** Whether the target may have worked on the request, and may charge for it. */
function mayHaveBegun(thrown: unknown): boolean {
  return isFailure(thrown) && toGatewayError(thrown).details.notProcessed !== true;
}

/** Whether the target is at fault, and not the caller. */
function isTargets(thrown: unknown): boolean {
  const { code } = toGatewayError(thrown);
  return isFailure(thrown) || INABILITIES.has(code);
}

/**
 * Whether the same target may be tried again. Never one that may have accepted the request, because it may be working on it and
 * charge for it.
 */
function isRepeatable(thrown: unknown): boolean {
  const { details } = toGatewayError(thrown);
  return isFailure(thrown) && details.notProcessed === true && details.retryable !== false;
}
