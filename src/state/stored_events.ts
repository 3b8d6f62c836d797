/** The events of an answer that is made in the background, as other gateways on the same store read them: in pieces, in a list. */
import { GatewayError } from "../errors.ts";
import type { EventLog } from "./event_log.ts";
import type { Store, StoreKey } from "./store.ts";

/** Gives events from a position on, as the log itself does. */
export interface EventSeries {
  read(from: number): Promise<readonly string[] | undefined>;
  /** Nobody reads them any more. */
  stop?(): void;
}

/** The form of the records. */
const VERSION = 1;

/** Without events it is the last one. */
interface Piece {
  version: number;
  events: readonly string[];
}

/** How long events gather before they are written, and how often they are looked for, in milliseconds. */
const PAUSE_MS = 250;
const PIECES_AT_ONCE = 32;
/** How many looks that bring nothing are followed by the question whether anybody still makes the answer. */
const IDLE_LOOKS = 20;

/** Writes what comes, piece by piece, until the end, which is an empty one. */
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

/** What another gateway has published, or publishes; nothing where there is none. `isMade`: whether that gateway lives. */
export async function readEvents(
  store: Store,
  place: StoreKey,
  isMade: () => Promise<boolean>,
): Promise<EventSeries | undefined> {
  const events: string[] = [];
  let piece = 0;
  let isOver = false;
  let isStopped = false;

  /** Whether there was anything new. */
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
