/** The memory for the bodies of all clients: which bodies hold how much of it, and which have to give it back. */
import { GatewayError } from "../errors.ts";
import { type Capacity, type Refused, Shares } from "../util/shares.ts";
import type { EndBody } from "./body.ts";

/** A body that has memory reserved, and how it arrives. */
export interface Arrival {
  caller: string;
  /** The bytes reserved. */
  held: number;
  /** The bytes so far. */
  length: number;
  /** When its speed was measured last, in milliseconds, and its bytes by then. */
  measuredAt: number;
  measured: number;
  /** Absent once it has arrived. */
  end?: EndBody | undefined;
}

/** A body of which nothing has arrived yet. */
export const NEW = { held: 0, length: 0, measuredAt: 0, measured: 0 };

export interface RoomLimits {
  /** The memory for all bodies, in bytes. */
  totalBytes: number;
  /** Whether there are several callers, so that each gets its share only. */
  isShared?: boolean;
  /** Milliseconds by a monotonic clock. */
  now?(): number;
}

/**
 * The default room: a body takes up to eight times its size, as text of two bytes a character that is parsed and serialized again,
 * and bodies may take half of the memory.
 */
const [MOST_BYTES, MEMORY_SHARE] = [2 ** 28, 1 / 16];

/** The memory for all bodies. The largest one has room in any gateway. `memoryBytes`: what the process may use. */
export function uploadBytesOf(
  { uploadBytes, bodyBytes }: { uploadBytes?: number | undefined; bodyBytes: number },
  memoryBytes: number,
): number {
  return uploadBytes ?? Math.max(bodyBytes, Math.min(MOST_BYTES, Math.floor(memoryBytes * MEMORY_SHARE)));
}

/** The limits of a small body, in bytes and as a share of the room. A chat of hundreds of turns stays below them. */
const [SMALL_BYTES, SMALL_SHARE] = [2 ** 20, 1 / 32];

/** Whether a body needs so little of the room that its length need not be known before it comes. */
export function isSmall(bytes: number, { totalBytes }: Pick<RoomLimits, "totalBytes">): boolean {
  return bytes <= SMALL_BYTES && bytes <= totalBytes * SMALL_SHARE;
}

/** Extra room for small bodies, as a share of the room. Large uploads that never end therefore do not block chats. */
const RESERVE = 1 / 4;

/** A body gives its room to others if it was slower than `SLOWEST` bytes per millisecond for `MEASURED_MS` milliseconds. */
const [SLOWEST, MEASURED_MS] = [16, 2_000];

/** The memory that is reserved. A later configuration that takes over the object keeps counting what others hold. */
export class Room {
  readonly shares = new Shares();
  /** The bodies that are on their way, and not small. */
  readonly #arriving = new Set<Arrival>();

  /** Reserves `bytes` in total for a body. Throws `request_too_large`, `rate_limit` or `unavailable`. */
  take(arrival: Arrival, bytes: number, limits: RoomLimits): void {
    const { caller, held } = arrival;
    const { totalBytes, isShared = false } = limits;
    const total = isSmall(bytes, limits) ? totalBytes * (1 + RESERVE) : totalBytes;
    if (bytes > total) {
      const message = `The body may be larger than the limit for all bodies together: ${totalBytes} bytes`;
      throw new GatewayError("request_too_large", message);
    }
    const capacity = { total, isShared };
    const refused = this.shares.refusal(caller, bytes, capacity, held);
    if (refused && !this.#makeRoom(arrival, bytes, capacity, refused, timeOf(limits))) throw refusal(refused);
    this.shares.add(caller, bytes - held);
    arrival.held = bytes;
  }

  /** Gives back what is reserved for a body, except for `kept` bytes. */
  give(arrival: Arrival, kept = 0): void {
    const { caller, held } = arrival;
    if (held === 0) return;
    arrival.held = Math.min(kept, held);
    this.shares.add(caller, arrival.held - held);
  }

  /** Measures from now on how fast the body arrives. */
  follow(arrival: Arrival, limits: RoomLimits): void {
    arrival.measuredAt = timeOf(limits);
    arrival.measured = arrival.length;
    this.#arriving.add(arrival);
  }

  /** Records the bytes of the body that have arrived so far. */
  measure(arrival: Arrival, bytes: number, limits: RoomLimits): void {
    arrival.length = bytes;
    if (!this.#arriving.has(arrival) || timeOf(limits) - arrival.measuredAt < MEASURED_MS) return;
    this.follow(arrival, limits);
  }

  /** Stops measuring a body that has arrived, or never will. */
  forget(arrival: Arrival): void {
    this.#arriving.delete(arrival);
  }

  /** Ends very slow bodies until there is enough room. False if there is not. */
  #makeRoom(arrival: Arrival, bytes: number, capacity: Capacity, refused: Refused, now: number): boolean {
    const { caller, held } = arrival;
    for (const other of this.#arriving) {
      const ms = now - other.measuredAt;
      const isSlow = ms >= MEASURED_MS && other.length - other.measured < ms * SLOWEST;
      // A caller that holds its share gains nothing if others give up room.
      if (!isSlow || !other.end || other === arrival || (refused === "share" && other.caller !== caller)) continue;
      other.end(`others needed its room, and it came slower than ${SLOWEST} kB/s`);
      this.#arriving.delete(other);
      this.give(other);
      if (!this.shares.refusal(caller, bytes, capacity, held)) return true;
    }
    return false;
  }
}

function timeOf({ now }: RoomLimits): number {
  return now ? now() : performance.now();
}

function refusal(refused: Refused): GatewayError {
  return refused === "share"
    ? new GatewayError(
      "rate_limit",
      "You hold your share of the gateway's memory for bodies: try again when one of your requests has ended",
      { retryAfter: "5" },
    )
    : new GatewayError("unavailable", "The gateway is busy with other uploads: try again", { retryAfter: "5" });
}

/** A request that is kept as text in case its answer breaks off. */
export interface KeptText {
  /** Absent once the memory was needed. */
  text?: string | undefined;
}

/** The texts of requests that are being answered. They have room of their own, and the oldest ones make way. */
export class KeptTexts {
  readonly #kept = new Set<KeptText>();
  #length = 0;

  /** `mostBytes`: the room for all texts. */
  keep(text: string, mostBytes: number): KeptText {
    const kept: KeptText = { text };
    this.#kept.add(kept);
    this.#length += text.length;
    // A character takes up to two bytes.
    for (const oldest of this.#kept) {
      if (this.#length * 2 <= mostBytes) break;
      this.release(oldest);
    }
    return kept;
  }

  release(kept: KeptText): void {
    this.#kept.delete(kept);
    this.#length -= kept.text?.length ?? 0;
    kept.text = undefined;
  }

  /** Lets go of all texts, because memory is short. */
  releaseAll(): void {
    for (const kept of this.#kept) this.release(kept);
  }
}
