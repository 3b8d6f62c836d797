/**
 * Ends WebSockets when messages that are arriving take too much memory. Deno (2.9.6) collects a whole message of any length, in one
 * frame or in many, before it delivers it, so only the memory can be measured.
 */
import { BoundedMap } from "../util/bounded_map.ts";
import { repeat, TimeLimit } from "../util/time_limit.ts";

export interface WatchedSocket {
  readonly owner: string;
  /** The name of the owner's key. */
  readonly key: string;
  /** Whether it has no requests to answer. */
  readonly isIdle: boolean;
  /** Closes it because memory is short, without waiting for the client, and frees the message that is arriving. */
  drop(): void;
}

/** In bytes. */
export interface MemoryFacts {
  /** The memory that the process uses. */
  memory(): number;
  /** The part of it that the engine does not manage, such as data that arrives on connections. */
  unmanaged(): number;
  /** The memory that the process may use. */
  limit(): number;
  /** Called when sockets are ended. `bytes`: the memory of incomplete messages on all sockets. */
  onShort(key: string, closed: number, bytes: number): void;
}

/** How often memory is read, and how often while it is short, in milliseconds. */
const LOOK_MS = 100;
const SHORT_LOOK_MS = 20;
/** How long it may take until the memory of ended sockets is free, in milliseconds. */
const FREE_MS = 1_000;
/** How long a caller whose sockets took the memory may open no others, in milliseconds. */
const BAR_MS = 60_000;
/** How long any caller whose sockets were closed may open no others, in milliseconds. New ones at once would keep memory short. */
const REST_MS = 3_000;
const MOST_BARRED = 1_000;
/**
 * The memory for incomplete messages: `IN_ALL` of the limit minus all other memory, but at most `MOST` of the limit, and at least
 * what the platform takes for one message.
 */
const [MOST, IN_ALL] = [1 / 8, 7 / 8];
const LEAST_BYTES = 64 * 2 ** 20;
/** If more than this many rooms are full after a caller's sockets were ended, several callers' are ended at once: more would arrive meanwhile. */
const FAR_BEYOND = 1.5;
/** If more than this many rooms are full at the first look, messages arrive too fast to end one caller after the other. */
const FAR_AT_ONCE = 2;
/** From this fraction of the room on, memory is read often: fast clients fill the rest before the next usual look. */
const FILLING = 1 / 8;
/** A caller took the memory if ending its sockets frees this fraction of it. */
const GUILTY = 1 / 4;

/** The sockets that have just been ended. */
interface Ended {
  sockets: readonly WatchedSocket[];
  /** The caller whose memory is freed by their end. Absent if it may be the memory of several callers. */
  owner: string | undefined;
  /** When that was, in milliseconds by a monotonic clock. */
  at: number;
  /** The unmanaged memory before it. */
  before: number;
  /** Resolves once their memory is free, or it has taken too long. */
  relief: PromiseWithResolvers<void>;
}

export class SocketMemoryWatch {
  readonly #sockets: ReadonlySet<WatchedSocket>;
  readonly #facts: MemoryFacts;
  /** The unmanaged memory that is not used by sockets. */
  #base = 0;
  /** The present shortage. */
  #ended: Ended | undefined;
  /** Until when callers are barred, in milliseconds by a monotonic clock. */
  readonly #barred = new BoundedMap<string, number>(MOST_BARRED);
  /** Until when callers whose sockets were closed may open no others, whoever took the memory. */
  readonly #resting = new BoundedMap<string, number>(MOST_BARRED);
  /** Sockets that were ended and are not closed yet. */
  readonly #dropped = new WeakSet<WatchedSocket>();
  #stopLooking = () => {};
  #nextLook: TimeLimit | undefined;

  constructor(sockets: ReadonlySet<WatchedSocket>, facts: MemoryFacts) {
    this.#sockets = sockets;
    this.#facts = facts;
  }

  /** Whether memory is short. No sockets should be opened then. */
  get isShort(): boolean {
    return this.#ended !== undefined;
  }

  /** Whether a caller that took no memory should wait before it opens a socket. */
  mustWait(owner: string): boolean {
    return this.isShort || msLeft(this.#resting, owner) > 0;
  }

  /**
   * Resolves once the memory of the sockets that were ended is free, or `FREE_MS` have passed, and the caller has rested. Memory may
   * be short again then.
   */
  async relieved(owner: string): Promise<void> {
    await this.#ended?.relief.promise;
    const restMs = msLeft(this.#resting, owner);
    if (restMs > 0) await new Promise<void>((resolve) => setTimeout(resolve, Math.ceil(restMs)));
  }

  /** How many seconds a caller that took the memory must wait before it may open sockets. */
  barredSeconds(owner: string): number {
    return secondsLeft(this.#barred, owner);
  }

  /** How many seconds a caller whose sockets were closed must wait. */
  restingSeconds(owner: string): number {
    return secondsLeft(this.#resting, owner);
  }

  /** Must be called when the first socket has opened. */
  start(): void {
    if (this.isShort) return; // the memory of earlier sockets is not free yet
    this.#base = this.#facts.unmanaged();
    this.#stopLooking = repeat(LOOK_MS, () => this.#look());
  }

  /** Must be called when the last socket has closed. */
  stop(): void {
    this.#look();
  }

  #look(): void {
    const unmanaged = this.#facts.unmanaged();
    this.#base = Math.min(this.#base, unmanaged);
    const room = this.#roomBytes(unmanaged);
    const arrived = unmanaged - this.#base;
    // On a busy machine sockets close late, and the other callers' may meanwhile take as much again.
    const isWorse = this.#ended !== undefined && unmanaged > this.#ended.before + room;
    if (this.#isFreeing(arrived > room * FILLING) && !isWorse) return this.#lookSoon();
    const isAgain = this.isShort;
    this.#judge(unmanaged);
    if (this.#sockets.size === 0) {
      this.#stopLooking();
      this.#nextLook?.cancel();
      return;
    }
    if (arrived <= room) {
      if (arrived > room * FILLING) this.#lookSoon();
      return;
    }
    const next = this.#nextToEnd();
    // All that are open were ended, and more may still arrive on them.
    if (next.length === 0) { for (const socket of this.#sockets) socket.drop(); }
    else {
      const isFar = arrived > room * (isAgain ? FAR_BEYOND : FAR_AT_ONCE);
      this.#end(isFar ? withMost(next) : next.slice(0, 1), arrived, unmanaged);
    }
  }

  /** Ends the sockets of these callers. */
  #end(callers: readonly WatchedSocket[][], arrived: number, before: number): void {
    const reopensAt = performance.now() + REST_MS;
    // Their memory is freed later, and then seems to be that of the callers whose sockets are ended now.
    const areOthersClosing = [...this.#sockets].some((socket) => this.#dropped.has(socket));
    for (const sockets of callers) {
      const { owner, key } = sockets[0]!;
      this.#facts.onShort(key, sockets.length, arrived);
      this.#resting.set(owner, reopensAt);
      for (const socket of sockets) {
        this.#dropped.add(socket);
        socket.drop();
      }
    }
    const owner = callers.length === 1 && !areOthersClosing ? callers[0]![0]!.owner : undefined;
    const relief = Promise.withResolvers<void>();
    this.#ended = { owner, sockets: callers.flat(), at: performance.now(), before, relief };
    this.#lookSoon();
  }

  #lookSoon(): void {
    this.#nextLook?.cancel();
    this.#nextLook = new TimeLimit(SHORT_LOOK_MS, () => this.#look());
  }

  /** `isMuchLeft`: whether sockets seem to hold much memory. Some of it is freed only after the last socket has closed. */
  #isFreeing(isMuchLeft: boolean): boolean {
    if (!this.#ended || performance.now() - this.#ended.at > FREE_MS) return false;
    if (this.#sockets.size === 0) return isMuchLeft;
    return this.#ended.sockets.some((socket) => this.#sockets.has(socket));
  }

  #roomBytes(unmanaged: number): number {
    const limit = this.#facts.limit();
    const others = this.#facts.memory() - (unmanaged - this.#base);
    return Math.max(LEAST_BYTES, Math.min(limit * MOST, limit * IN_ALL - others));
  }

  /** Bars the caller whose sockets were ended if that has freed much. */
  #judge(unmanaged: number): void {
    if (!this.#ended) return;
    const { owner, before, relief } = this.#ended;
    this.#ended = undefined;
    relief.resolve();
    const isGuilty = before - unmanaged >= (before - this.#base) * GUILTY;
    if (isGuilty && owner !== undefined) this.#barred.set(owner, performance.now() + BAR_MS);
  }

  /** The idle sockets by caller, those of the caller with most first. If no socket is idle, all of them. */
  #nextToEnd(): WatchedSocket[][] {
    const open = [...this.#sockets].filter((socket) => !this.#dropped.has(socket));
    const idle = open.filter((socket) => socket.isIdle);
    const byOwner = Map.groupBy(idle.length > 0 ? idle : open, ({ owner }) => owner);
    return [...byOwner.values()].sort((one, other) => other.length - one.length);
  }
}

/** All callers but those that have the fewest sockets, or all of them if they have equally many. */
function withMost(callers: readonly WatchedSocket[][]): readonly WatchedSocket[][] {
  const fewest = callers.at(-1)!.length;
  const most = callers.filter(({ length }) => length > fewest);
  return most.length > 0 ? most : callers;
}

function secondsLeft(times: BoundedMap<string, number>, owner: string): number {
  return Math.ceil(msLeft(times, owner) / 1_000);
}

function msLeft(times: BoundedMap<string, number>, owner: string): number {
  const until = times.get(owner);
  if (until === undefined) return 0;
  const ms = until - performance.now();
  if (ms <= 0) times.delete(owner);
  return Math.max(0, ms);
}
