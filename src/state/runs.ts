/** Background answers, called runs. They go on without their client, which asks for them by their ids. */
import type { RunError, RunState, StoredAnswer } from "../canonical/stored.ts";
import { GatewayError } from "../errors.ts";
import { Shares } from "../util/shares.ts";
import { asAnswer, type RunFacts } from "./run_facts.ts";
import { type EventLog, EventLogs } from "./event_log.ts";
import { type EventSeries, publishEvents, readEvents } from "./stored_events.ts";
import { addCounted, type StorageQuota } from "./retention.ts";
import type { Store, StoreEntry, StoreKey } from "./store.ts";
import { withStoreTimeout } from "./store_timeout.ts";

export interface Runs {
  /** Throws `unavailable` if there is no room for one more, and `rate_limit` if the caller already has its share. */
  checkRoom(owner: string, room: RunRoom): void;
  /** Begins a run if there is room. It can be found once this resolves. `hasLog`: whether its events are kept. */
  begin(facts: RunFacts, owner: string, hasLog: boolean, room: RunRoom): Promise<Run>;
  /** A run that is under way, or that ended without an answer. */
  find(id: string, owner: string): Promise<StoredAnswer | undefined>;
  /** The events of a run, if they are kept here or by another gateway on the same store. */
  events(id: string, owner: string): Promise<EventSeries | undefined>;
  /** Ends a run in whichever process it is. Resolves once it has ended, or will end soon. */
  cancel(id: string, owner: string): Promise<void>;
  /** Deletes a run, and ends it if it is in this process. Returns whether there was one. */
  forget(id: string, owner: string): Promise<boolean>;
  /** Resolves once no run is under way in this process. */
  settled(): Promise<void>;
}

/** A run in this process. */
export interface Run {
  /** Aborted once its answer is no longer wanted. */
  signal: AbortSignal;
  log?: EventLog;
  /** Called when the model begins to work on it. */
  start(): void;
  isCancelled(): boolean;
  /** Ends the run. Without an error it has an answer, which is in the store of answers. */
  end(error?: RunError): Promise<void>;
}

export interface RunsOptions {
  store: Store;
  /** Absent if owners may store any amount. */
  storageQuota?: StorageQuota;
  /** Milliseconds since the epoch. */
  now(): number;
  /** How long the records of a run are kept, in milliseconds. */
  retentionMs: number;
  /** How long the store may take, in milliseconds. */
  patienceMs: number;
  /** Whether other gateways exist, with which events are exchanged by way of the store. */
  hasReplicas?: boolean;
}

export interface RunRoom {
  limits: RunLimits;
  hasSeveralCallers: boolean;
}

export interface RunLimits {
  /** How many runs may be under way at once. */
  backgroundResponses: number;
  /** How long a run may take, in milliseconds. */
  backgroundMs: number;
  /** The most characters of events that are kept. */
  backgroundEvents: number;
}

/** The length of a time slot, in milliseconds. A process signs the present slot and the next. Without a sign it is gone. */
const SIGN_MS = 10_000;
/** How often cancellations by other processes are looked for, and signs of life given, in milliseconds. */
const LOOK_MS = 2_500;
/** How long a cancellation waits for another process, and how often it looks, in milliseconds. */
const CANCEL_MS = 2 * LOOK_MS;
const POLL_MS = 250;
/** How long the events of an answer that is over are kept, in milliseconds. */
const LOG_MS = 600_000;
/** Published events stay this much longer, because the answer itself takes time, in milliseconds. */
const MOST_RUN_MS = 3_600_000;

/** Every record has the version of its format. A reader ignores fields that it does not know. */
const RECORD = { version: 1 };

const GONE: RunError = { code: "internal", message: "The gateway was stopped while it worked on the response" };

interface Local {
  facts: RunFacts;
  owner: string;
  state: RunState;
  abort: AbortController;
  log?: EventLog;
  ended: PromiseWithResolvers<void>;
}

export function createRuns(options: RunsOptions): Runs {
  return new BackgroundRuns(options);
}

class BackgroundRuns implements Runs {
  readonly #options: RunsOptions;
  readonly #logs = new EventLogs();
  readonly #running = new Map<string, Local>();
  readonly #shares = new Shares();

  constructor(options: RunsOptions) {
    this.#options = options;
  }

  checkRoom(owner: string, { limits: { backgroundResponses: total }, hasSeveralCallers: isShared }: RunRoom): void {
    const refusal = this.#shares.refusal(owner, 1, { total, isShared });
    if (!refusal) return;
    const retryAfter = "5";
    if (refusal === "full") {
      const message = "Too many responses are running in the background: try again later";
      throw new GatewayError("unavailable", message, { retryAfter });
    }
    const message = `You already run ${this.#shares.heldBy(owner)} responses in the background, which is your share: ` +
      "wait until one of them ends";
    throw new GatewayError("rate_limit", message, { retryAfter });
  }

  async begin(facts: RunFacts, owner: string, hasLog: boolean, room: RunRoom): Promise<Run> {
    const { retentionMs } = this.#options;
    this.checkRoom(owner, room); // other runs may have begun since the caller checked
    const { limits } = room;
    this.#logs.limit = limits.backgroundEvents;
    this.#logs.dropEndedBefore(this.#options.now() - LOG_MS);
    const { id } = facts;
    const key = nameOf(id, owner);
    const local: Local = {
      facts,
      owner,
      state: { status: "queued" },
      abort: new AbortController(),
      ended: Promise.withResolvers(),
      ...(hasLog && { log: this.#logs.open(key, owner) }),
    };
    this.#running.set(key, local);
    this.#shares.add(owner, 1);
    try {
      await this.#sign(local);
      await this.#ask("write", this.#add(local, [placeOf(owner, id, "facts"), { ...RECORD, ...facts }], retentionMs));
    } catch (error) {
      this.#remove(key, local);
      this.#logs.drop(key);
      local.ended.resolve(); // a gateway that stops may wait for it already
      throw error;
    }
    this.#publish(local);
    const looking = setInterval(() => void this.#look(local), LOOK_MS);
    const overdue = setTimeout(() => local.abort.abort(tooLong(limits.backgroundMs)), limits.backgroundMs);
    return {
      signal: local.abort.signal,
      log: local.log,
      start() {
        // The run may have been cancelled before.
        if (local.state.status === "queued") local.state = { status: "in_progress" };
      },
      isCancelled: () => local.state.status === "cancelled",
      end: async (error) => {
        clearInterval(looking);
        clearTimeout(overdue);
        await this.#end(key, local, error);
      },
    };
  }

  async #end(key: string, local: Local, error: RunError | undefined): Promise<void> {
    const { store, now, retentionMs } = this.#options;
    const { facts: { id }, owner, log } = local;
    if (error && local.state.status !== "cancelled") local.state = { status: "failed", error };
    const place = placeOf(owner, id, "end");
    if (error) await store.add([[place, { ...RECORD, ...local.state }]], now() + retentionMs).catch(() => {}); // then the run counts as stopped
    log?.end(now());
    this.#remove(key, local);
    local.ended.resolve();
  }

  #remove(key: string, { owner }: Local): void {
    if (this.#running.delete(key)) this.#shares.add(owner, -1);
  }

  async find(id: string, owner: string): Promise<StoredAnswer | undefined> {
    const local = this.#running.get(nameOf(id, owner));
    if (local) return asAnswer(local.facts, local.state);
    const { store } = this.#options;
    const places = ["facts", "end", "cancel"].map((what) => store.get(placeOf(owner, id, what)));
    const [facts, end, cancel, sign] = await this.#ask("read", Promise.all([...places, this.#lastSign(id, owner)]));
    if (!facts) return undefined;
    if (end) return asAnswer(facts as RunFacts, end as RunState);
    // A process that works on it ends it soon, and a process that is gone never will.
    if (cancel) return asAnswer(facts as RunFacts, { status: "cancelled" });
    return asAnswer(facts as RunFacts, sign ? { status: "in_progress" } : { status: "failed", error: GONE });
  }

  async events(id: string, owner: string): Promise<EventSeries | undefined> {
    this.#logs.dropEndedBefore(this.#options.now() - LOG_MS);
    const log = this.#logs.get(nameOf(id, owner));
    if (log?.isKept) return log;
    const { store, hasReplicas } = this.#options;
    if (!hasReplicas) return undefined;
    const isMade = async () => await this.#lastSign(id, owner);
    return await this.#ask("read", readEvents(store, placeOf(owner, id, "events"), isMade));
  }

  /** Publishes the events for other gateways. A gateway that finds none has to do without. */
  #publish(local: Local): void {
    const { facts: { id }, owner, log } = local;
    if (!log || !this.#options.hasReplicas) return;
    const place = placeOf(owner, id, "events");
    publishEvents(log, (piece, record) => this.#add(local, [[...place, piece], record], LOG_MS + MOST_RUN_MS))
      .catch(() => {});
  }

  async #add({ owner, facts: { id } }: Local, entry: StoreEntry, forMs: number): Promise<boolean> {
    return await addCounted(this.#options, owner, `run ${id}`, entry, this.#options.now() + forMs);
  }

  async cancel(id: string, owner: string): Promise<void> {
    const local = this.#running.get(nameOf(id, owner));
    if (local) return await this.#cancelLocal(local);
    const { store, now, retentionMs } = this.#options;
    await this.#ask("write", store.add([[placeOf(owner, id, "cancel"), RECORD]], now() + retentionMs));
    for (let waited = 0; waited < CANCEL_MS; waited += POLL_MS) {
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      if (await this.#ask("read", store.get(placeOf(owner, id, "end")))) return;
    }
  }

  async #cancelLocal(local: Local): Promise<void> {
    local.state = { status: "cancelled" };
    local.abort.abort(new GatewayError("client_closed", "The response was cancelled"));
    await local.ended.promise;
  }

  async forget(id: string, owner: string): Promise<boolean> {
    const key = nameOf(id, owner);
    const local = this.#running.get(key);
    if (local) await this.#cancelLocal(local);
    this.#logs.drop(key);
    const { store } = this.#options;
    // The cancellation stays: the process that works on the response may not have seen it yet.
    return await this.#ask("delete", store.delete(placeOf(owner, id, "facts"), placeOf(owner, id, "end")));
  }

  async settled(): Promise<void> {
    while (this.#running.size > 0) await Promise.all([...this.#running.values()].map(({ ended }) => ended.promise));
  }

  async #look(local: Local): Promise<void> {
    const { facts: { id }, owner } = local;
    try {
      await this.#sign(local);
      if (await this.#options.store.get(placeOf(owner, id, "cancel"))) await this.#cancelLocal(local);
    } catch {
      // The next look may find the store again.
    }
  }

  /** Gives a sign of life for the present time slot and the next. */
  async #sign({ facts: { id }, owner }: Local): Promise<void> {
    const { store, now } = this.#options;
    const slot = slotAt(now());
    for (const one of [slot, slot + 1]) {
      await this.#ask(
        "write",
        store.add([[[...placeOf(owner, id, "signs"), one], RECORD]], now() + 4 * SIGN_MS),
      );
    }
  }

  async #lastSign(id: string, owner: string): Promise<boolean> {
    const { store, now } = this.#options;
    return await store.get([...placeOf(owner, id, "signs"), slotAt(now())]) !== undefined;
  }

  async #ask<T>(what: string, work: Promise<T>): Promise<T> {
    try {
      return await withStoreTimeout(this.#options.patienceMs, work);
    } catch (cause) {
      if (cause instanceof GatewayError) throw cause;
      throw new GatewayError("unavailable", `The gateway cannot ${what} what it stored: try again later`, { cause });
    }
  }
}

const slotAt = (ms: number) => Math.floor(ms / SIGN_MS);

const nameOf = (id: string, owner: string) => JSON.stringify([owner, id]);

/** The owner is part of every key, so that no caller reads another's data. */
function placeOf(owner: string, id: string, what: string): StoreKey {
  return ["runs", owner, id, what];
}

function tooLong(ms: number): GatewayError {
  return new GatewayError("upstream_timeout", `The response took longer than ${Math.round(ms / 1000)} s`);
}
