/** The open WebSockets of all callers: how many each caller may have, and which are ended when memory runs short. */
import { GatewayError } from "../errors.ts";
import { BoundedMap } from "../util/bounded_map.ts";
import { type Capacity, Shares } from "../util/shares.ts";
import { KeptItems } from "./kept_items.ts";
import { type MemoryFacts, SocketMemoryWatch, type WatchedSocket } from "./socket_memory_watch.ts";

/** The view that the whole gateway has of an open socket. */
export interface OpenSocket extends WatchedSocket {
  /** Closes it once it has no more requests to answer. */
  retire(): void;
  /** Closes it immediately. */
  abort(): void;
}

/** When to try again, in seconds. */
const RETRY_AFTER = "5";
/** How long an opening socket waits while memory is short, in milliseconds: longer than a caller that lost its sockets has to rest. */
const PATIENCE_MS = 5_000;
/** How often a caller's refused messages leave a line in the log, in milliseconds. */
const LOG_MS = 1_000;
const MOST_LOGGED = 1_000;

export class Sockets {
  readonly #open = new Set<OpenSocket>();
  readonly #shares = new Shares();
  /** The sockets that wait for memory. */
  readonly #waiting = new Shares();
  readonly #watch: SocketMemoryWatch;
  readonly #logged = new BoundedMap<string, { at: number; left: number }>(MOST_LOGGED);
  #empty = Promise.withResolvers<void>();
  /** The items that sockets keep from one request to the next. */
  readonly kept: KeptItems = new KeptItems();
  /** `memory`: measures the memory in which incomplete messages are collected. */
  constructor(memory: MemoryFacts) {
    this.#watch = new SocketMemoryWatch(this.#open, memory);
  }

  get size(): number {
    return this.#open.size;
  }

  /**
   * Waits while memory is short, and until a caller whose sockets were closed for it has rested. So a caller that took no memory is
   * not refused, unless that lasts. No more sockets wait than may be open. Nothing is reserved: `checkRoom` must follow. Throws if
   * the caller took the memory or has its share of sockets.
   */
  async relieved(owner: string, capacity: Capacity): Promise<void> {
    const givesUpAt = performance.now() + PATIENCE_MS;
    while (this.#watch.mustWait(owner) && performance.now() < givesUpAt) {
      this.#checkCaller(owner, capacity);
      refuseBeyond(this.#waiting, owner, capacity);
      this.#waiting.add(owner, 1);
      await this.#watch.relieved(owner);
      this.#waiting.add(owner, -1);
    }
  }

  /**
   * Throws `unavailable` if too many are open or memory is short, and `rate_limit` if the caller has its share of them or took the
   * memory.
   */
  checkRoom(owner: string, capacity: Capacity): void {
    this.#checkCaller(owner, capacity);
    const restS = this.#watch.restingSeconds(owner);
    if (restS > 0) {
      const message = "The gateway was short of memory and closed your WebSockets: try again later, or use HTTP";
      throw new GatewayError("unavailable", message, { retryAfter: String(restS) });
    }
    if (this.#watch.isShort) throw tooMany();
  }

  #checkCaller(owner: string, capacity: Capacity): void {
    const waitS = this.#watch.barredSeconds(owner);
    if (waitS > 0) {
      const message = "Your WebSockets took too much memory with messages that were not complete: use HTTP";
      throw new GatewayError("rate_limit", message, { retryAfter: String(waitS) });
    }
    refuseBeyond(this.#shares, owner, capacity);
  }

  add(socket: OpenSocket): void {
    this.#shares.add(socket.owner, 1);
    this.#open.add(socket);
    if (this.#open.size === 1) this.#watch.start();
  }

  delete(socket: OpenSocket): void {
    if (!this.#open.delete(socket)) return;
    this.#shares.add(socket.owner, -1);
    if (this.#open.size > 0) return;
    this.#watch.stop();
    this.#empty.resolve();
    this.#empty = Promise.withResolvers();
  }

  /** Clients then open new sockets, which use the configuration of that time. */
  retire(): void {
    for (const socket of this.#open) socket.retire();
  }

  abort(): void {
    for (const socket of this.#open) socket.abort();
  }

  /** Resolves once all sockets are closed. */
  async settled(): Promise<void> {
    if (this.#open.size > 0) await this.#empty.promise;
  }

  /**
   * How many of the caller's refused messages were left out of the log since its last line. `undefined` if the next one is left out,
   * too. `now`: milliseconds by a monotonic clock.
   */
  countRefusal(owner: string, now: number): number | undefined {
    const logged = this.#logged.get(owner);
    if (logged && now - logged.at < LOG_MS) {
      logged.left++;
      return undefined;
    }
    this.#logged.set(owner, { at: now, left: 0 });
    return logged?.left ?? 0;
  }
}

/** Throws if the caller may have no more of these sockets. */
function refuseBeyond(shares: Shares, owner: string, capacity: Capacity): void {
  const refused = shares.refusal(owner, 1, capacity);
  if (refused === "share") {
    const message = "You have your share of the gateway's WebSockets: close one, or use HTTP";
    throw new GatewayError("rate_limit", message, { retryAfter: RETRY_AFTER });
  }
  if (refused) throw tooMany();
}

function tooMany(): GatewayError {
  return new GatewayError("unavailable", "Too many WebSockets are open: try again later", { retryAfter: RETRY_AFTER });
}
