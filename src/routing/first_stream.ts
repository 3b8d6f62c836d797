/** Streams of several targets, one of which becomes the answer. */
import { GatewayError } from "../errors.ts";
import { follow } from "../util/abort.ts";
import { type EventSource, opening, type Steps } from "../util/event_source.ts";
import { settleWithin } from "../util/timeout.ts";
import { Failover, type FailoverPlan, type Hedge } from "./failover.ts";

/** One target whose stream was requested. */
interface Run<T, E> {
  target: T;
  events: EventSource<E>;
  /** The first events, held back, because a target without content has not answered yet. */
  held: E[];
  step: Promise<Step<E>>;
  /** Abandons the run in any state and releases its permit. */
  end(): void;
  /** Cancels a run that has answered and releases its permit. The run may still read the rest of its body. */
  release(): Promise<void>;
}

/** Requests the stream of one target. */
type Attempt<T, E> = (target: T, signal: AbortSignal) => EventSource<E>;

type Step<E> = { events: readonly E[] | undefined; thrown?: undefined } | { events?: undefined; thrown: unknown };

/** The stream of the first target that reaches content. From then on, a failure is part of the answer. */
export function firstStream<T, E extends { type: string }>(
  plan: FailoverPlan<T>,
  attempt: Attempt<T, E>,
): EventSource<E> {
  return new FirstStream(plan, attempt);
}

class FirstStream<T, E extends { type: string }> implements EventSource<E> {
  readonly #plan: FailoverPlan<T>;
  /** Absent once there is an answer, because no further target is tried then. */
  #attempt: Attempt<T, E> | undefined;
  readonly #failover: Failover<T>;
  readonly #runs = new Set<Run<T, E>>();
  #hedge: Hedge | undefined;
  #serving: Run<T, E> | undefined;

  constructor(plan: FailoverPlan<T>, attempt: Attempt<T, E>) {
    this.#plan = plan;
    this.#attempt = attempt;
    this.#failover = new Failover(plan);
    this.#hedge = plan.hedge;
  }

  next(): Promise<readonly E[] | undefined> {
    return this.#serving ? this.#serving.events.next().then(this.#pass, this.#break) : this.#first();
  }

  get steps(): Steps<E> | undefined {
    const steps = this.#serving?.events.steps;
    return steps && {
      read: steps.read,
      take: (got) => {
        const events = steps.take(got);
        if (events instanceof Promise) return events.then(this.#pass, this.#break);
        return events[events.length - 1]!.type === "finish" ? this.#pass(events) : events;
      },
      fail: (thrown) => Promise.resolve(steps.fail(thrown)).then(this.#pass, this.#break),
    };
  }

  async cancel(): Promise<void> {
    if (this.#serving) await this.#serving.release();
    else this.#endAll();
  }

  async #first(): Promise<readonly E[] | undefined> {
    try {
      for (;;) {
        if (this.#runs.size === 0) this.#runs.add(begin(await this.#failover.next(), this.#plan, this.#attempt!));
        const first = await soonest(this.#runs, this.#hedge);
        if (first) {
          const { run, step } = first;
          if (!this.#isTooSoon(run, step)) return await this.#serve(run, step.events);
        } else this.#askAnother();
      }
    } catch (thrown) {
      this.#endAll();
      throw thrown;
    }
  }

  /** Whether this step leaves the answer open: the run has failed, or has no content yet. */
  #isTooSoon(run: Run<T, E>, { events, thrown }: Step<E>): boolean {
    if (thrown !== undefined) {
      this.#runs.delete(run);
      run.end();
      this.#failover.failed(run.target, thrown, this.#runs.size > 0);
      return true;
    }
    if (!events?.every(({ type }) => type === "start")) return false;
    run.held.push(...events);
    run.step = stepOf(run.events);
    return true;
  }

  #askAnother(): void {
    const other = this.#hedge?.spend() ? this.#failover.nextNow() : undefined;
    this.#hedge = undefined;
    if (other !== undefined) this.#runs.add(begin(other, this.#plan, this.#attempt!));
  }

  async #serve(run: Run<T, E>, events?: readonly E[]): Promise<readonly E[] | undefined> {
    this.#runs.delete(run);
    this.#endAll();
    this.#serving = run;
    this.#attempt = undefined;
    this.#plan.onServed(run.target);
    this.#noteEnd(run, events);
    const all = [...run.held, ...events ?? []];
    if (all.length > 0) return all;
    await run.release();
    return undefined;
  }

  readonly #pass = (events: readonly E[] | undefined) => {
    const run = this.#serving!;
    this.#noteEnd(run, events);
    return events ?? run.release().then(() => undefined);
  };

  readonly #break = (thrown: unknown): never => {
    const run = this.#serving!;
    run.end();
    this.#failover.broke(run.target, thrown);
    throw thrown;
  };

  /** A target that completed its answer is healthy. */
  #noteEnd({ target }: Run<T, E>, events?: readonly E[]): void {
    if (events?.at(-1)?.type === "finish") this.#failover.served(target);
  }

  #endAll(): void {
    for (const run of this.#runs) run.end();
    this.#runs.clear();
  }
}

/** The first step that any run makes. `undefined` after the silence that calls for a hedge. */
async function soonest<T, E>(
  runs: ReadonlySet<Run<T, E>>,
  hedge: Hedge | undefined,
): Promise<{ run: Run<T, E>; step: Step<E> } | undefined> {
  const steps = Array.from(runs, async (run) => ({ run, step: await run.step }));
  const first = Promise.race(steps);
  return hedge && runs.size === 1 ? await settleWithin(first, hedge.afterMs) : await first;
}

function begin<T, E>(
  target: T,
  plan: FailoverPlan<T>,
  attempt: Attempt<T, E>,
): Run<T, E> {
  const stop = new AbortController();
  // The listener need not be removed, because the request's signal lives no longer than its attempts.
  follow(plan.signal, stop);
  const { signal } = stop;
  const acquired = plan.acquire(target, signal);
  const events = openingAt(target, plan, attempt, acquired, signal);
  let over: Promise<void> | undefined;
  const release = () =>
    over ??= Promise.all([acquired, events.cancel()]).then(([freePlace]) => freePlace?.(), () => {}); // `next` reports why
  const end = () => {
    stop.abort(new GatewayError("upstream_error", "Another target answered first"));
    void release();
  };
  return { target, events, held: [], step: stepOf(events), end, release };
}

/** A separate function, because the closures above live as long as the answer, and the attempt holds the whole conversation. */
function openingAt<T, E>(
  target: T,
  plan: FailoverPlan<T>,
  attempt: Attempt<T, E>,
  acquired: Promise<unknown> | undefined,
  signal: AbortSignal,
): EventSource<E> {
  return opening(async () => {
    if (acquired) {
      await acquired;
      // The permit may have come in the moment in which another target answered.
      signal.throwIfAborted();
    }
    plan.onAsk(target);
    return attempt(target, signal);
  });
}

function stepOf<E>(events: EventSource<E>): Promise<Step<E>> {
  return events.next().then((events) => ({ events }), (thrown) => ({ thrown }));
}
