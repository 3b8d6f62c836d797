/** The events of a background answer in the store, as a list of pieces that other gateways on the same store read. */
import { GatewayError } from "../errors.ts";
import type { EventLog } from "./event_log.ts";
import type { Store, StoreKey } from "./store.ts";

/** Gives events from a position on, as an `EventLog` does. */
export interface EventSeries {
  read(from: number): Promise<readonly string[] | undefined>;
  /** Called when nobody reads the events any more. */
  stop?(): void;
}

/** The version of the record format. */
const VERSION = 1;

/** A piece without events is the last one. */
interface Piece {
  version: number;
  events: readonly string[];
}

/** How long events gather before they are written, and how often they are looked for, in milliseconds. */
const PAUSE_MS = 250;
const PIECES_AT_ONCE = 32;
/** After this many looks that found nothing, the reader asks whether the answer is still being made. */
const IDLE_LOOKS = 20;

/** Writes events piece by piece. An empty piece marks the end. */
export async function publishEvents(
  log: EventLog,
  write: (piece: number, record: Piece) => Promise<unknown>,
): Promise<void> {
  for (let at = 0, piece = 0;; piece++) {
    const events = await log.read(at);
    const record: Piece = { version: VERSION, events: events ?? [] };
    await write(piece, record);
    if (!events) return;
    at += events.length;
    await pause();
  }
}

/** The events that another gateway has published, or is publishing. Absent if there are none. `isMade`: whether it lives. */
export async function readEvents(
  store: Store,
  place: StoreKey,
  isMade: () => Promise<boolean>,
): Promise<EventSeries | undefined> {
  const events: string[] = [];
  let piece = 0;
  let isOver = false;
  let isStopped = false;

  /** Reads new pieces. Returns whether there were any. */
  async function look(): Promise<boolean> {
    const before = piece;
    const found = await store.getRange(place, piece, piece + PIECES_AT_ONCE - 1) as (Piece | undefined)[];
    for (const some of found) {
      if (!some || isOver) break;
      piece++;
      isOver = some.events.length === 0;
      for (const event of some.events) events.push(event);
    }
    return piece > before;
  }

  if (!await look()) return undefined;
  return {
    async read(from) {
      for (let idle = 0; events.length <= from;) {
        if (isOver || isStopped) return undefined;
        if (await look()) idle = 0;
        else if (++idle % IDLE_LOOKS === 0 && !await isMade()) {
          throw new GatewayError("unavailable", "The gateway that made the response was stopped");
        } else await pause();
      }
      return events.slice(from);
    },
    stop: () => void (isStopped = true),
  };
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
}
