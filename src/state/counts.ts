/** The counts that several gateways share, and the targets that they tell each other to let rest. */
import type { Quota } from "../contract/allowance.ts";
import type { Owed, Settlement, SharedCounts, Taken } from "../contract/shared_counts.ts";
import { builtin } from "../util/builtin.ts";
import { callWhileAlive } from "../util/idle_timer.ts";
import type { Beat, Counter } from "./counter.ts";
import { inTurns, PATIENT_MS, Settlements } from "./settlements.ts";

export interface CommonCounts extends SharedCounts {
  /** Joins the other gateways. Resolves after the first exchange with them, even if it failed. */
  begin(): Promise<void>;
  /** Lets a target rest from now on. The other gateways know it within a second or two. */
  rest(target: string, ms: number): void;
  /** Resolves once the server knows everything, or has failed. */
  close(): Promise<void>;
}

export interface CountsOptions {
  counter: Counter;
  /** Milliseconds by a monotonic clock. */
  monotonic(): number;
  /** Called when a gateway has reported that a target rests. */
  onRest(target: string, ms: number): void;
  /** Observes a call to the counter. */
  onCall?(operation: string, seconds: number, failed: boolean): void;
  /** How many gateways to assume before the server has answered. */
  expected?: number;
  pace?: Partial<typeof PACE>;
}

/** In milliseconds. */
const PACE = {
  /** How long a request waits for the server. */
  answerMs: 250,
  /** How long a lease lasts without renewal. The requests of a dead gateway count as running for that long. */
  leaseMs: 10_000,
  /** How long a silent gateway counts as living. A short failure of the server must not make all of them seem dead. */
  lifeMs: 30_000,
  /** How often a gateway reports that it lives. */
  beatMs: 1_000,
};

/** The lease of a running request. */
interface Lease {
  /** When it was last renewed. */
  since: number;
  /** Whether the server may know of it. */
  isSent: boolean;
  /** Whether the server has counted the request. */
  isCounted: boolean;
}

export function createCounts(options: CountsOptions): CommonCounts {
  return new CountedTogether(options);
}

class CountedTogether implements CommonCounts {
  readonly #options: CountsOptions;
  readonly #pace: typeof PACE;
  readonly #me = builtin("node:crypto").randomUUID();
  #lastId = 0;
  gateways: number;
  /** Whether the last exchange was answered. After a pause, some gateways report sooner than others. */
  #wasAnswered = false;
  /** By account and id. */
  readonly #leases = new Map<string, Map<string, Lease>>();
  readonly #settlements: Settlements;
  /** Resting targets to report to the others, each with when its rest ends. */
  #resting = new Map<string, number>();
  /** Targets that are known to rest, each with when its rest ends by the server's clock. */
  #known = new Map<string, string>();
  #begun: Promise<void> | undefined;
  #hasBegun = false;
  #failure: Error | undefined;
  #isReported = false;
  #cancelBeat: (() => void) | undefined;
  #isClosed = false;

  constructor(options: CountsOptions) {
    this.#options = options;
    this.#pace = { ...PACE, ...options.pace };
    this.gateways = options.expected ?? 1;
    this.#settlements = new Settlements({
      counter: options.counter,
      monotonic: options.monotonic,
      newId: () => this.newId(),
      run: (call) => this.#run("settle", call),
    });
  }

  isUp(): boolean {
    return !this.#hasBegun || this.#options.counter.isReady(this.#pace.answerMs);
  }

  isAlone(): boolean {
    return this.#isReported || !this.isUp();
  }

  takeFailure(): Error | undefined {
    if (this.#isReported) return undefined;
    this.#isReported = true;
    const others = this.gateways > 1 ? `, as one of ${this.gateways} gateways` : "";
    const reason = this.#failure?.message ?? "The store does not answer";
    return new Error(`Limits are counted by this gateway alone${others}: ${reason}`);
  }

  newId(): string {
    return `${this.#me}:${++this.#lastId}`;
  }

  begin(): Promise<void> {
    return this.#begun ??= this.#beat().finally(() => this.#hasBegun = true);
  }

  async take(account: string, quota: Quota, tokens: number, id = ""): Promise<Taken> {
    // The first request waits until there is a connection.
    if (!this.#hasBegun) await this.begin();
    const { answerMs, leaseMs } = this.#pace;
    const { counter } = this.#options;
    const taken = await this.#run("admit", () => counter.take(account, quota, { tokens, id, leaseMs }, answerMs));
    this.#isReported = false;
    if (!taken.reached && id !== "") {
      this.#lease(account, id, { since: this.#options.monotonic(), isSent: true, isCounted: true });
    }
    return taken;
  }

  hold(account: string, id: string): void {
    this.#lease(account, id, { since: -Infinity, isSent: false, isCounted: false });
  }

  settle(account: string, quota: Quota, settlement: Settlement): void {
    this.#release(account, settlement.id);
    this.#settlements.settle(account, quota, settlement);
  }

  owe(account: string, quota: Quota, { id = "", requests, tokens }: Owed): void {
    if (this.#release(account, id)?.isSent) {
      this.settle(account, quota, { id, counted: 0, tokens, unsure: { requests } });
    } else if (requests + tokens > 0) this.#settlements.owe(account, quota, requests, tokens);
  }

  rest(target: string, ms: number): void {
    this.#resting.set(target, this.#options.monotonic() + ms);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#begun;
    this.#cancelBeat?.();
    await this.#settlements.close();
    // If the server does not answer, the entries of this gateway expire there.
    if (this.#hasBegun) await this.#options.counter.leave(this.#me).catch(() => {});
    this.#options.counter.close();
  }

  /** Reports that this gateway lives, and sends what is due. A step that fails, such as one node of a cluster, holds up no other. */
  async #beat(): Promise<void> {
    for (const step of [() => this.#exchange(), () => this.#renewAll(), () => this.#settlements.sendAll()]) {
      await step().catch(() => {}); // the next beat tries again, and requests see the failure themselves
    }
    if (!this.#isClosed) this.#cancelBeat = callWhileAlive(this.#pace.beatMs, () => void this.#beat());
  }

  async #exchange(): Promise<void> {
    const resting = this.#resting;
    this.#resting = new Map();
    const now = this.#options.monotonic();
    const leftMs = [...resting].flatMap(([target, ends]): [string, number][] =>
      ends > now ? [[target, ends - now]] : []
    );
    try {
      const beat = await this.#run("beat", () => this.#options.counter.beat(this.#me, this.#pace.lifeMs, leftMs));
      this.gateways = Math.max(this.#wasAnswered ? 1 : this.gateways, beat.gateways);
      this.#wasAnswered = true;
      if (this.#options.counter.isReady(this.#pace.answerMs)) this.#isReported = false;
      this.#learn(beat.resting, resting);
    } catch (error) {
      this.#wasAnswered = false;
      this.#resting = new Map([...resting, ...this.#resting]);
      throw error;
    }
  }

  #learn(resting: Beat["resting"], own: ReadonlyMap<string, number>): void {
    const known = new Map<string, string>();
    for (const { target, ends, ms } of resting) {
      known.set(target, ends);
      // A report that is already known does not put a target to rest again that has recovered meanwhile.
      if (this.#known.get(target) !== ends && !own.has(target)) this.#options.onRest(target, ms);
    }
    this.#known = known;
  }

  async #renewAll(): Promise<void> {
    if (!this.#options.counter.isReady(PATIENT_MS)) return;
    const { leaseMs } = this.#pace;
    const old = this.#options.monotonic() - leaseMs / 3;
    const renewals = [...this.#leases].flatMap(([account, leases]) => {
      const ids = [...leases].filter(([, { since }]) => since <= old).map(([id]) => id);
      return ids.length > 0 ? [{ account, leases, ids }] : [];
    });
    await inTurns(renewals, async ({ account, leases, ids }) => {
      const still = ids.filter((id) => leases.has(id));
      if (still.length === 0) return;
      const now = this.#options.monotonic();
      const names = still.map((id) => {
        const lease = leases.get(id)!;
        lease.isSent = true;
        return lease.isCounted ? id : `?${id}`;
      });
      await this.#options.counter.renew(account, names, leaseMs);
      for (const id of still) Object.assign(leases.get(id) ?? {}, { since: now });
    });
  }

  async #run<T>(operation: string, call: () => Promise<T>): Promise<T> {
    const since = this.#options.monotonic();
    let failed = true;
    try {
      const reply = await call();
      failed = false;
      this.#failure = undefined;
      return reply;
    } catch (error) {
      this.#failure = error as Error;
      throw error;
    } finally {
      this.#options.onCall?.(operation, (this.#options.monotonic() - since) / 1000, failed);
    }
  }

  #lease(account: string, id: string, lease: Lease): void {
    const leases = this.#leases.get(account) ?? new Map<string, Lease>();
    this.#leases.set(account, leases.set(id, lease));
  }

  #release(account: string, id: string): Lease | undefined {
    const leases = this.#leases.get(account);
    const lease = leases?.get(id);
    leases?.delete(id);
    if (leases?.size === 0) this.#leases.delete(account);
    return lease;
  }
}
