/** The events of an answer that is made in the background, for clients that come back for them. */

import { GatewayError } from "../errors.ts";

/** The room that all logs share, in characters. */
export interface LogRoom {
  taken: number;
  limit: number;
  /** Drops the log that ended first. Whether there was one. */
  evict(): boolean;
}

export class EventLog {
  readonly #room: LogRoom;
  #events: string[] = [];
  #size = 0;
  #isOver = false;
  #isDropped = false;
  #news = Promise.withResolvers<void>();

  constructor(room: LogRoom) {
    this.#room = room;
  }

  /** Whether its events are still all there. */
  get isKept(): boolean {
    return !this.#isDropped;
  }

  /** A log that finds no room is dropped: half of it would be of no use. */
  add(event: string): void {
    if (this.#isDropped) return;
    while (this.#room.taken + event.length > this.#room.limit) if (!this.#room.evict()) return this.drop();
    this.#events.push(event);
    this.#size += event.length;
    this.#room.taken += event.length;
    this.#wake();
  }

  end(): void {
    this.#isOver = true;
    this.#wake();
  }

  drop(): void {
    this.#room.taken -= this.#size;
    this.#size = 0;
    this.#events = [];
    this.#isDropped = true;
    this.#wake();
  }

  /** What is there from position `from` on, once there is anything; nothing at the end. Throws once the log is dropped. */
  async read(from: number): Promise<readonly string[] | undefined> {
    while (this.#events.length <= from) {
      if (this.#isDropped) throw new GatewayError("unavailable", "The events of the response are no longer kept");
      if (this.#isOver) return undefined;
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
