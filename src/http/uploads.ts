/**
 * Limits the memory for the bodies of all clients together, from the first byte until their requests end. JSON of a few kB does
 * not count: it is limited by the number of requests.
 */
import type { FormField } from "../contract/context.ts";
import { GatewayError } from "../errors.ts";
import { type Capacity, type Refused, Shares } from "../util/shares.ts";
import { type BodyLimits, type EndBody, LARGE_BYTES, readJsonBody, SMALL_BYTES } from "./body.ts";
import { readFormBody } from "./multipart.ts";

/** A form from a client, and the memory reserved for it. */
export interface Upload {
  fields: FormField[];
  /** Releases the memory. */
  release(): void;
}

/** JSON from a client, and the memory reserved for it. */
export interface JsonUpload {
  body: unknown;
  /** Whether it is so large that work on it is done one at a time. */
  isLarge: boolean;
  /** Releases the memory. */
  release(): void;
}

/** The memory reserved for bodies. A later configuration that takes over the object keeps counting what others hold. */
export class Room {
  readonly shares = new Shares();
  /** The bodies that are on their way, and not small. */
  readonly arriving = new Set<Arrival>();
}

/** A body that has memory reserved, and how it arrives. */
interface Arrival {
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

export interface Uploads {
  /**
   * Reads a form like `readFormBody`. Throws `unavailable` if there is no room at the moment, `rate_limit` if the caller holds
   * its share of it, and `request_too_large` if there never can be.
   */
  read(request: Request, caller: string): Promise<Upload>;
  /**
   * Reads JSON like `readJsonBody`, in the same room and with the same errors. `isServed`: whether the request came through a
   * server. `copy` receives its bytes.
   */
  readJson(request: Request, caller: string, isServed?: boolean, copy?: BodyLimits["copy"]): Promise<JsonUpload>;
}

export interface UploadLimits {
  form: BodyLimits;
  json: BodyLimits;
  /** The memory for all bodies, in bytes. */
  totalBytes: number;
  /** Whether there are several callers, so that each gets its share only. */
  isShared?: boolean;
  /** Milliseconds by a monotonic clock. */
  now?(): number;
}

/** A body is small up to this share of the room: 1 MiB of 256 MiB, which is enough for a chat of hundreds of turns. */
const SMALL = 1 / 256;
/** Extra room for small bodies, as a share of the room. Large uploads that never end therefore do not block chats. */
const RESERVE = 1 / 4;

/** A body that has been slower than this for so long gives its room to others: in bytes per millisecond, and in milliseconds. */
const [SLOWEST, MEASURED_MS] = [16, 2_000];

const NEW = { held: 0, length: 0, measuredAt: 0, measured: 0 };

export function createUploads(
  { form, json, totalBytes, isShared = false, now = () => performance.now() }: UploadLimits,
  room = new Room(),
): Uploads {
  const { shares, arriving } = room;

  /** Reserves `bytes` in total for a body. */
  function take(arrival: Arrival, bytes: number): void {
    const { caller, held } = arrival;
    const isSmall = bytes <= totalBytes * SMALL;
    const total = isSmall ? totalBytes * (1 + RESERVE) : totalBytes;
    if (bytes > total) {
      const message = `The body may be larger than the limit for all bodies together: ${totalBytes} bytes`;
      throw new GatewayError("request_too_large", message);
    }
    const capacity = { total, isShared };
    const refused = shares.refusal(caller, bytes, capacity, held);
    if (refused) makeRoom(arrival, bytes, capacity, refused);
    shares.add(caller, bytes - held);
    arrival.held = bytes;
  }

  /** Ends bodies that hardly arrive until the room is enough. Throws if it is not. */
  function makeRoom(arrival: Arrival, bytes: number, capacity: Capacity, refused: Refused): void {
    const { caller, held } = arrival;
    const at = now();
    for (const other of arriving) {
      const ms = at - other.measuredAt;
      const isSlow = ms >= MEASURED_MS && other.length - other.measured < ms * SLOWEST;
      // Room of others is no help to a caller that holds its share.
      if (!isSlow || !other.end || other === arrival || (refused === "share" && other.caller !== caller)) continue;
      other.end(`others needed its room, and it came slower than ${SLOWEST} kB/s`);
      arriving.delete(other);
      give(other);
      if (!shares.refusal(caller, bytes, capacity, held)) return;
    }
    const message = refused === "share"
      ? "You hold your share of the gateway's memory for bodies: try again when one of your requests has ended"
      : "The gateway is busy with other uploads: try again";
    throw new GatewayError(refused === "share" ? "rate_limit" : "unavailable", message, { retryAfter: "5" });
  }

  /** Gives back what is reserved for a body, but for `kept` bytes. */
  function give(arrival: Arrival, kept = 0): void {
    const { caller, held } = arrival;
    if (held === 0) return;
    arrival.held = Math.min(kept, held);
    shares.add(caller, arrival.held - held);
  }

  /** From now on, its speed is measured. */
  function follow(arrival: Arrival): void {
    arrival.measuredAt = now();
    arrival.measured = arrival.length;
    arriving.add(arrival);
  }

  function measure(arrival: Arrival): void {
    if (arriving.has(arrival) && now() - arrival.measuredAt >= MEASURED_MS) follow(arrival);
  }

  return {
    async read(request, caller) {
      const mostBytes = mostBytesOf(request.headers, form.limitBytes);
      const arrival: Arrival = { ...NEW, caller };
      take(arrival, mostBytes);
      follow(arrival);
      const onLength = (bytes: number) => {
        arrival.length = bytes;
        measure(arrival);
      };
      try {
        const limits = { ...form, limitBytes: mostBytes, trustedBytes: mostBytes, caller, arrival, onLength };
        const fields = await readFormBody(request, limits);
        // Releases what was reserved and not used.
        give(arrival, sizeOf(fields));
        return { fields, release: () => give(arrival) };
      } catch (refusal) {
        give(arrival);
        throw refusal;
      } finally {
        arriving.delete(arrival);
      }
    },

    async readJson(request, caller, isServed, copy) {
      const declared = Number(request.headers.get("content-length") ?? NaN);
      const isDeclared = declared > 0 && declared <= json.limitBytes;
      const arrival: Arrival = { ...NEW, caller };
      // The messages of a socket are not limited by the number of requests.
      if (isDeclared && (declared > SMALL_BYTES || !isServed)) take(arrival, declared);
      if (isDeclared && declared > SMALL_BYTES) follow(arrival);
      const onLength = (bytes: number) => {
        arrival.length = bytes;
        if (bytes <= SMALL_BYTES) return;
        measure(arrival);
        // What was reserved for what it might become, and is not needed.
        if (bytes < arrival.held && !arrival.end) give(arrival, bytes);
        if (bytes <= arrival.held) return;
        // If room were reserved as the bytes arrive, many bodies could use it up together and none would finish.
        const isKnown = isDeclared || bytes <= totalBytes * SMALL || !arrival.end;
        take(arrival, isKnown ? bytes : Math.max(bytes, Math.min(json.limitBytes, totalBytes)));
        if (!isKnown) follow(arrival);
      };
      try {
        const body = await readJsonBody(request, { ...json, isServed, caller, arrival, onLength, copy });
        if (arrival.held > arrival.length) give(arrival, arrival.length);
        return { body, isLarge: arrival.length > LARGE_BYTES, release: () => give(arrival) };
      } catch (refusal) {
        give(arrival);
        throw refusal;
      } finally {
        arriving.delete(arrival);
      }
    },
  };
}

/** The declared size, or the limit if the size is not declared or the body is compressed. */
function mostBytesOf(headers: Headers, limitBytes: number): number {
  const declared = Number(headers.get("content-length") ?? NaN);
  const isDeclared = declared > 0 && declared < limitBytes && !headers.has("content-encoding");
  return isDeclared ? declared : limitBytes;
}

function sizeOf(fields: readonly FormField[]): number {
  return fields.reduce((sum, { value = "", file }) => sum + (file?.bytes.length ?? value.length), 0);
}
