/** What the gateways on one server count together, and what they tell each other. */
import type { Quota } from "../../contract/allowance.ts";
import type { Settlement, SharedCounts, Taken } from "../../contract/shared_counts.ts";
import { builtin } from "../../util/builtin.ts";
import { callWhileAlive } from "../../util/idle_timer.ts";
import { BEAT, RENEW, SETTLE, TAKE } from "./count_scripts.ts";
import type { Link } from "./link.ts";

export interface RedisCounts extends SharedCounts {
  /** From now on the others know this gateway, and it knows them. */
  begin(): Promise<void>;
  /** A target rests from now on. The others know it within a second or two. */
  rest(target: string, ms: number): void;
  /** Resolves once the server knows all, or has failed. */
  close(): Promise<void>;
}

export interface RedisCountsOptions {
  link: Link;
  /** Milliseconds by a clock that never steps. */
  monotonic(): number;
  /** A target rests, as a gateway found out: this one or another. */
  onRest(target: string, ms: number): void;
  /** Counts a call of the server. */
  onCall?(operation: string, seconds: number, failed: boolean): void;
  pace?: Partial<typeof PACE>;
}

/** In milliseconds. */
const PACE = {
  /** How long a request waits for the server. */
  answerMs: 250,
  /** How long a lease lasts without being renewed: as long does what a dead gateway ran count as running. */
  leaseMs: 10_000,
  /** How long a gateway that says nothing is taken to live. A short failure of the server must not make all of them seem dead. */
  lifeMs: 30_000,
  /** How often a gateway says that it lives. */
  beatMs: 1_000,
};
/** How long a settlement may take: as long as any command. */
const PATIENT_MS = 800;
/** How many scripts go out together, where there are many. */
const AT_ONCE = 50;
/** How many settlements are kept for a server that fails. Further ones are lost: it has counted too little then. */
const MOST_DUE = 10_000;

/** In the order of the script. */
const LIMITS = ["requestsPerMinute", "tokensPerMinute", "tokensPerDay", "concurrentRequests"] as const;
const REACHED = [undefined, "concurrentRequests", "tokensPerDay", "requestsPerMinute", "tokensPerMinute"] as const;

/** A settlement that the server may not know yet. */
interface Due extends Settlement {
  account: string;
  quota: Quota;
  /** By a clock that never steps. */
  at: number;
}

interface Debt {
  quota: Quota;
  requests: number;
  tokens: number;
  since: number;
}

export function createRedisCounts(options: RedisCountsOptions): RedisCounts {
  return new CountsOnServer(options);
}

class CountsOnServer implements RedisCounts {
  readonly #options: RedisCountsOptions;
  readonly #pace: typeof PACE;
  readonly #me = builtin("node:crypto").randomUUID();
  #lastId = 0;
  gateways = 1;
  /** By account: the ids of requests that run, each with when its lease began. */
  readonly #leases = new Map<string, Map<string, number>>();
  readonly #debts = new Map<string, Debt>();
  #due: Due[] = [];
  readonly #settling = new Set<Promise<void>>();
  /** Targets that rest and that the others are to know, each with when that ends. */
  #resting = new Map<string, number>();
  /** Targets that are known to rest, each with when that ends by the server's clock. */
  #known = new Map<string, string>();
  #begun: Promise<void> | undefined;
  #hasBegun = false;
  #failure: Error | undefined;
  #isReported = false;
  #cancelBeat: (() => void) | undefined;
  #isClosed = false;

  constructor(options: RedisCountsOptions) {
    this.#options = options;
    this.#pace = { ...PACE, ...options.pace };
  }

  isUp(): boolean {
    return !this.#hasBegun || this.#options.link.isReady(this.#pace.answerMs);
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
    const limits = LIMITS.map((name) => String(quota[name] ?? ""));
    const args = [...limits, String(tokens), id, String(leaseMs)];
    const reply = await this.#run(
      "admit",
      () => this.#options.link.run(TAKE, keysOf(account).slice(0, 2), args, answerMs),
    ) as unknown[];
    this.#isReported = false;
    const reached = REACHED[Number(reply[0])];
    const [waitMs, requests, count, dayTokens] = reply.slice(1).map((one) => Number(String(one))) as [
      number,
      number,
      number,
      number,
    ];
    if (!reached && id !== "") this.#leasesOf(account).set(id, this.#options.monotonic());
    return { reached, waitMs, used: { requests, tokens: count, dayTokens } };
  }

  settle(account: string, quota: Quota, settlement: Settlement): void {
    const leases = this.#leases.get(account);
    leases?.delete(settlement.id);
    if (leases?.size === 0) this.#leases.delete(account);
    const settling = this.#send({ account, quota, ...settlement, at: this.#options.monotonic() });
    this.#settling.add(settling);
    void settling.finally(() => this.#settling.delete(settling));
  }

  owe(account: string, quota: Quota, requests: number, tokens: number): void {
    const debt = this.#debts.get(account) ?? { quota, requests: 0, tokens: 0, since: this.#options.monotonic() };
    debt.requests += requests;
    debt.tokens += tokens;
    this.#debts.set(account, debt);
  }

  rest(target: string, ms: number): void {
    this.#resting.set(target, this.#options.monotonic() + ms);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#begun;
    this.#cancelBeat?.();
    await Promise.allSettled(this.#settling);
    await this.#settleAll().catch(() => {});
    // What is left of this gateway ends by itself where the server does not answer.
    if (this.#hasBegun) await this.#options.link.send(["ZREM", GATEWAYS, this.#me]).catch(() => {});
    this.#options.link.close();
  }

  /** Says that this gateway lives, and does what is due. The first time fails silently, too: requests find out by themselves. */
  async #beat(): Promise<void> {
    try {
      await this.#exchange();
      await this.#renewAll();
      await this.#settleAll();
    } catch {
      // the next one comes soon
    } finally {
      if (!this.#isClosed) this.#cancelBeat = callWhileAlive(this.#pace.beatMs, () => void this.#beat());
    }
  }

  async #exchange(): Promise<void> {
    const resting = this.#resting;
    this.#resting = new Map();
    const now = this.#options.monotonic();
    const leftMs = [...resting].flatMap(([target, ends]) => ends > now ? [target, String(ends - now)] : []);
    try {
      const args = [String(this.#pace.lifeMs), this.#me, ...leftMs];
      const reply = await this.#run("beat", () => this.#options.link.run(BEAT, [GATEWAYS, RESTING], args)) as unknown[];
      this.gateways = Math.max(1, Number(reply[0]));
      if (this.#options.link.isReady(this.#pace.answerMs)) this.#isReported = false;
      this.#learn(reply.slice(1).map(String), resting);
    } catch (error) {
      this.#resting = new Map([...resting, ...this.#resting]);
      throw error;
    }
  }

  #learn(reply: readonly string[], own: ReadonlyMap<string, number>): void {
    const known = new Map<string, string>();
    for (let at = 0; at < reply.length; at += 3) {
      const [target, ends, ms] = reply.slice(at, at + 3) as [string, string, string];
      known.set(target, ends);
      // A target that has recovered meanwhile is not put to rest by what was known before.
      if (this.#known.get(target) !== ends && !own.has(target)) this.#options.onRest(target, Number(ms));
    }
    this.#known = known;
  }

  async #renewAll(): Promise<void> {
    const { leaseMs } = this.#pace;
    const old = this.#options.monotonic() - leaseMs / 3;
    const renewals = [...this.#leases].flatMap(([account, leases]) => {
      const ids = [...leases].filter(([, since]) => since <= old).map(([id]) => id);
      return ids.length > 0 ? [{ account, leases, ids }] : [];
    });
    await inTurns(renewals, async ({ account, leases, ids }) => {
      const still = ids.filter((id) => leases.has(id));
      if (still.length === 0) return;
      const now = this.#options.monotonic();
      await this.#options.link.run(RENEW, [keysOf(account)[1]], [String(leaseMs), ...still]);
      for (const id of still) if (leases.has(id)) leases.set(id, now);
    });
  }

  async #settleAll(): Promise<void> {
    for (const [account, { quota, requests, tokens, since }] of this.#debts) {
      this.#due.push({ account, quota, id: this.newId(), counted: 0, tokens, unsure: { requests }, at: since });
    }
    this.#debts.clear();
    const all = this.#due.splice(0);
    for (let at = 0; at < all.length; at += AT_ONCE) {
      await Promise.all(all.slice(at, at + AT_ONCE).map((due) => this.#send(due)));
      // What fails is due again, and so is what comes after it.
      if (this.#due.length > 0) return void this.#due.push(...all.slice(at + AT_ONCE));
    }
  }

  /** What fails is sent again later. It is counted once, however often it arrives. */
  async #send(due: Due): Promise<void> {
    const { account, quota, id, counted, tokens, unsure, at } = due;
    const limits = LIMITS.slice(0, 3).map((name) => String(quota[name] ?? ""));
    const agoMs = String(Math.max(0, this.#options.monotonic() - at));
    const requests = String(unsure?.requests ?? "");
    const args = [...limits, id, String(counted), String(tokens), agoMs, requests];
    try {
      await this.#run("settle", () => this.#options.link.run(SETTLE, keysOf(account, id), args, PATIENT_MS));
    } catch {
      if (this.#due.length < MOST_DUE) this.#due.push(due);
    }
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

  #leasesOf(account: string): Map<string, number> {
    const leases = this.#leases.get(account) ?? new Map<string, number>();
    this.#leases.set(account, leases);
    return leases;
  }
}

const GATEWAYS = "laneway:{gateways}:living";
const RESTING = "laneway:{gateways}:resting";

/** What is used, the leases and the mark of a settlement: all of one account are on one server of a cluster. */
function keysOf(account: string, id = ""): [string, string, string] {
  const hash = builtin("node:crypto").hash("sha256", JSON.stringify(["limits", account]), "base64url");
  return [`laneway:{${hash}}:used`, `laneway:{${hash}}:leases`, `laneway:{${hash}}:settled:${id}`];
}

async function inTurns<T>(all: readonly T[], work: (one: T) => Promise<void>): Promise<void> {
  for (let at = 0; at < all.length; at += AT_ONCE) await Promise.all(all.slice(at, at + AT_ONCE).map(work));
}
