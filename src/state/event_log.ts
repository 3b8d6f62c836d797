/** Logs of the events of background answers, for clients that come back for them. */

import { GatewayError } from "../errors.ts";
import { Shares } from "../util/shares.ts";

/** The space that all logs share, in characters. */
interface LogRoom {
  /** Takes space for `length` more characters, for which other logs may be dropped. Returns whether there was space. */
  take(log: EventLog, length: number): boolean;
  giveBack(log: EventLog): void;
}

export class EventLog {
  readonly owner: string;
  /** When its answer ended, in milliseconds since the epoch. */
  endedAt?: number;
  readonly #room: LogRoom;
  #events: string[] = [];
  #size = 0;
  #isDropped = false;
  #news = Promise.withResolvers<void>();

  constructor(owner: string, room: LogRoom) {
    this.owner = owner;
    this.#room = room;
  }

  /** Whether its events are still all there. */
  get isKept(): boolean {
    return !this.#isDropped;
  }

  /** In characters. */
  get size(): number {
    return this.#size;
  }

  /** A log without space is dropped: half of it would be of no use. */
  add(event: string): void {
    if (this.#isDropped) return;
    if (!this.#room.take(this, event.length)) return this.drop();
    this.#events.push(event);
    this.#size += event.length;
    this.#wake();
  }

  end(at: number): void {
    this.endedAt = at;
    this.#wake();
  }

  drop(): void {
    this.#room.giveBack(this);
    this.#size = 0;
    this.#events = [];
    this.#isDropped = true;
    this.#wake();
  }

  /** Waits for events from position `from` on. Absent at the end. Throws once the log is dropped. */
  async read(from: number): Promise<readonly string[] | undefined> {
    while (this.#events.length <= from) {
      if (this.#isDropped) throw new GatewayError("unavailable", "The events of the response are no longer kept");
      if (this.endedAt !== undefined) return undefined;
      await this.#news.promise;
    }
    return this.#events.slice(from, from + MOST_AT_ONCE);
  }

  #wake(): void {
    this.#news.resolve();
    this.#news = Promise.withResolvers();
  }
}

const MOST_AT_ONCE = 64;

/** All logs of a process. If there is no space for all, those of the caller that holds the most are dropped first. */
export class EventLogs implements LogRoom {
  /** The most characters that all logs may hold together. */
  limit = 0;
  readonly #logs = new Map<string, EventLog>();
  readonly #shares = new Shares();

  open(key: string, owner: string): EventLog {
    const log = new EventLog(owner, this);
    this.#logs.set(key, log);
    return log;
  }

  get(key: string): EventLog | undefined {
    return this.#logs.get(key);
  }

  drop(key: string): void {
    this.#logs.get(key)?.drop();
    this.#logs.delete(key);
  }

  /** `time`: milliseconds since the epoch. */
  dropEndedBefore(time: number): void {
    for (const [key, { endedAt = Infinity }] of this.#logs) if (endedAt < time) this.drop(key);
  }

  take(log: EventLog, length: number): boolean {
    while (this.#shares.taken + length > this.limit) {
      const key = this.#nextToDrop(log, length);
      if (key === undefined) return false;
      this.drop(key);
    }
    this.#shares.add(log.owner, length);
    return true;
  }

  giveBack({ owner, size }: EventLog): void {
    this.#shares.add(owner, -size);
  }

  /** A log of the caller that would hold the most: the one that ended first, or else its first one, if another caller asks. */
  #nextToDrop(asking: EventLog, length: number): string | undefined {
    const logs = [...this.#logs].filter(([, { size }]) => size > 0);
    const heldBy = (owner: string) => this.#shares.heldBy(owner) + (owner === asking.owner ? length : 0);
    const owners = [asking.owner, ...logs.map(([, { owner }]) => owner)];
    const largest = owners.reduce((most, owner) => heldBy(owner) > heldBy(most) ? owner : most);
    const own = logs.filter(([, { owner }]) => owner === largest);
    const ended = own.filter(([, { endedAt }]) => endedAt !== undefined);
    const [first] = ended.sort(([, one], [, other]) => one.endedAt! - other.endedAt!);
    return (first ?? (largest === asking.owner ? undefined : own[0]))?.[0];
  }
}
