/** Which targets are asked, in which order and how often, until one answers. */
import { delay } from "../util/timeout.ts";
import { type ErrorCode, isFailure, toGatewayError } from "../errors.ts";
import type { Breaker } from "./circuit_breaker.ts";

export interface RetryPolicy {
  /** How often a target may be asked for one request, where it certainly did not begin the work. */
  rounds: number;
  /** How many failures that may have cost something are followed by a further attempt, at another target. */
  failovers: number;
  /** How long a request may wait between rounds, all together, in milliseconds. */
  budgetMs: number;
  /** The wait before the second round, in milliseconds; each further one is twice as long. */
  baseMs: number;
}

/** The targets of one request, and how to go from one to the next. */
export interface FailoverPlan<T> {
  /** In order of preference. */
  targets: readonly T[];
  /** What a target's failures are counted under. */
  idOf(target: T): string;
  /** A place at the target's upstream, until it is given back. */
  acquire(target: T, signal: AbortSignal): Promise<() => void> | undefined;
  breaker: Breaker;
  policy: RetryPolicy;
  /** Asks a further target when one has been silent for this long: the first that answers is used. */
  hedge?: Hedge;
  /** Milliseconds since the epoch. */
  now(): number;
  /** Aborted when nobody waits for the answer any more. */
  signal: AbortSignal;
  onAsk(target: T): void;
  /** The target whose answer it is; of a stream, as soon as there is content. */
  onServed(target: T): void;
  /** A target that cannot answer, or whose answer broke off. */
  onFailed(target: T, thrown: unknown): void;
}

export interface Hedge {
  afterMs: number;
  /** Whether one more request may be asked of two targets; counts it. */
  spend(): boolean;
}

/** The answer of the first target that gives one. */
export async function firstAnswer<T, R>(
  plan: FailoverPlan<T>,
  attempt: (target: T, signal: AbortSignal) => Promise<R>,
): Promise<R> {
  const failover = new Failover(plan);
  for (;;) {
    const target = failover.nextNow() ?? await failover.next();
    let release: (() => void) | undefined;
    try {
      release = await plan.acquire(target, plan.signal);
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

/** What this upstream cannot do and another one may. What the caller did wrong is wrong everywhere. */
const INABILITIES: ReadonlySet<ErrorCode> = new Set([
  "model_not_found",
  "unsupported",
  "unsupported_media_type",
  "billing",
]);

/** One request's way along its targets. */
export class Failover<T> {
  readonly #plan: FailoverPlan<T>;
  readonly #refusals: unknown[] = [];
  #round = 0;
  #waitedMs = 0;
  /** How many targets failed that may have worked on the request, or still do. */
  #begun = 0;
  #left: T[];
  /** Those that may be asked again, with the wait that they ask for. */
  #again: { target: T; waitMs: number }[] = [];

  constructor(plan: FailoverPlan<T>) {
    this.#plan = plan;
    this.#left = plan.breaker.order(plan.targets, plan.idOf);
  }

  /** The target to ask next, after a wait where all have been asked. Throws the error for the client where none is left. */
  async next(): Promise<T> {
    return this.nextNow() ?? await this.#nextRound();
  }

  /** The target to ask next in this round. */
  nextNow(): T | undefined {
    return this.#left.shift();
  }

  served(target: T): void {
    this.#plan.breaker.succeeded(this.#plan.idOf(target));
  }

  /** Throws what no other target can mend, or may not try to, unless one is being asked already. */
  failed(target: T, thrown: unknown, othersRun = false): void {
    this.broke(target, thrown);
    if (mayHaveBegun(thrown)) this.#begun++;
    const mayGoOn = isWorthAnother(thrown) && this.#begun <= this.#plan.policy.failovers;
    if (!mayGoOn && !othersRun) throw thrown;
    this.#refusals.push(thrown);
    if (isRepeatable(thrown)) this.#again.push({ target, waitMs: waitOf(thrown, this.#plan.now()) });
  }

  /** Counts what the target did, where it is a failure. */
  broke(target: T, thrown: unknown): void {
    if (this.#plan.signal.aborted || toGatewayError(thrown).details.own) return;
    if (isTargets(thrown)) this.#plan.onFailed(target, thrown);
    if (isFailure(thrown)) this.#plan.breaker.failed(this.#plan.idOf(target), waitOf(thrown, this.#plan.now()));
  }

  async #nextRound(): Promise<T> {
    const { policy, signal } = this.#plan;
    this.#round++;
    const leftMs = policy.budgetMs - this.#waitedMs;
    // Jitter, so that requests which failed together do not come back together.
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

/** The wait that an error asks for, in milliseconds. It names seconds or a date. */
function waitOf(thrown: unknown, now: number): number {
  const { retryAfter } = toGatewayError(thrown).details;
  if (retryAfter === undefined) return 0;
  const seconds = Number(retryAfter);
  const ms = Number.isNaN(seconds) ? Date.parse(retryAfter) - now : seconds * 1000;
  return ms > 0 ? ms : 0;
}

/** The error when no target answered: the last failure, which may be temporary; a refusal only where none failed. */
function worstOf(refusals: readonly unknown[]): unknown {
  return refusals.findLast(isFailure) ?? refusals.at(-1) ?? new Error("No target to ask");
}

/** The error for targets that end so, each asked once and in this order; nothing where one of them serves. */
export function refusalOf(ends: readonly unknown[]): unknown {
  const end = ends.findIndex((thrown) => thrown === undefined || !isWorthAnother(thrown));
  if (end >= 0) return ends[end];
  return ends.length > 0 ? worstOf(ends) : undefined;
}

function isWorthAnother(thrown: unknown): boolean {
  const { details: { workBegun, tryNextTarget = isTargets(thrown) } } = toGatewayError(thrown);
  return !workBegun && tryNextTarget;
}

/** Whether the target may have worked on the request, and charge for it. */
function mayHaveBegun(thrown: unknown): boolean {
  return isFailure(thrown) && toGatewayError(thrown).details.notProcessed !== true;
}

/** Whether it is for the target to mend, and not for the caller. */
function isTargets(thrown: unknown): boolean {
  const { code } = toGatewayError(thrown);
  return isFailure(thrown) || INABILITIES.has(code);
}

/**
 * Whether the same target may be asked again. Never one that may have taken the request: it may be at work on it, and charge
 * for it.
 */
function isRepeatable(thrown: unknown): boolean {
  const { details } = toGatewayError(thrown);
  return isFailure(thrown) && details.notProcessed === true && details.retryable !== false;
}
