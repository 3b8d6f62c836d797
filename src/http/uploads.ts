/**
 * Limits the memory for the bodies of all clients together, from the first byte until their requests end. JSON of a few kB does
 * not count: it is limited by the number of requests.
 */
import type { FormField } from "../contract/context.ts";
import { builtin } from "../util/builtin.ts";
import { type BodyLimits, LARGE_BYTES, parseJsonBody, readBody, SHORT_BYTES, UNCOUNTED_BYTES } from "./body.ts";
import { tooLarge } from "./size.ts";
import { readFormBody } from "./multipart.ts";
import { type Arrival, isSmall, NEW, Room, type RoomLimits } from "./body_memory.ts";

/** A form from a client, and the memory reserved for it. */
export interface Upload {
  fields: FormField[];
  /** Releases the memory. */
  release(): void;
}

/** JSON from a client, and the memory reserved for it. */
export interface JsonUpload {
  body: unknown;
  /** Whether it is so short that work on it is done at once. */
  isShort: boolean;
  /** Whether it is so large that work on it is done one at a time. */
  isLarge: boolean;
  /** Releases the memory. Absent if none is reserved. */
  release?: (() => void) | undefined;
}

/** The size of a text, and the memory reserved for it. */
export interface HeldText {
  bytes: number;
  /** Releases the memory. */
  release(): void;
}

/** The bytes of a body of any type, and the memory reserved for it. */
export interface BytesUpload {
  bytes: Uint8Array<ArrayBuffer>;
  /** Releases the memory. */
  release(): void;
}

export interface Uploads {
  /**
   * Reads a form like `readFormBody`. Throws `unavailable` if there is no room at the moment, `rate_limit` if the caller holds
   * its share of it, and `request_too_large` if there never can be.
   */
  read(request: Request, caller: string): Promise<Upload>;
  /** Reads a body of any type, in the same room and with the same errors. */
  readBytes(request: Request, caller: string): Promise<BytesUpload>;
  /** Reserves memory for `bytes` that the gateway itself reads, in the same room. Returns what releases it. */
  reserve(bytes: number, caller: string): () => void;
  /**
   * Reads and parses JSON, in the same room and with the same errors. `isServed`: whether the request came through a
   * server. `copy` receives its bytes.
   */
  readJson(request: Request, caller: string, isServed?: boolean, copy?: BodyLimits["copy"]): Promise<JsonUpload>;
  /** Reserves memory for JSON that has arrived, in the same room and with the same errors. */
  hold(text: string, caller: string): HeldText;
}

export interface UploadLimits extends RoomLimits {
  form: BodyLimits;
  json: BodyLimits;
}

export function createUploads(limits: UploadLimits, room = new Room()): Uploads {
  const { json } = limits;
  const reserve = (bytes: number, caller: string) => {
    const arrival: Arrival = { ...NEW, caller };
    room.take(arrival, bytes, limits);
    return () => room.give(arrival);
  };
  return {
    async read(request, caller) {
      const { body: fields, release } = await readLarge(request, caller, limits, room, readFormBody, sizeOf);
      return { fields, release };
    },
    async readBytes(request, caller) {
      const read = (body: Request, most: BodyLimits) => readBody(body, "a file", { ...most, isFile: true });
      const { body, release } = await readLarge(request, caller, limits, room, read, ({ length }) => length);
      return { bytes: body as Uint8Array<ArrayBuffer>, release };
    },
    reserve,

    async readJson(request, caller, isServed, copy) {
      const declared = Number(request.headers.get("content-length") ?? NaN);
      const isDeclared = declared > 0 && declared <= json.limitBytes;
      const arrival: Arrival = { ...NEW, caller };
      // The messages of a socket are not limited by the number of requests.
      if (isDeclared && (declared > UNCOUNTED_BYTES || !isServed)) room.take(arrival, declared, limits);
      if (isDeclared && declared > UNCOUNTED_BYTES) room.follow(arrival, limits);
      const onLength = (bytes: number) => {
        if (bytes <= UNCOUNTED_BYTES) return;
        room.measure(arrival, bytes, limits);
        // A decompression reserved room for more than it led to.
        if (bytes < arrival.held && !arrival.end) room.give(arrival, bytes);
        if (bytes <= arrival.held) return;
        // If room were reserved as the bytes arrive, many bodies could use it up together and none would finish.
        const isKnown = isDeclared || isSmall(bytes, limits) || !arrival.end;
        room.take(arrival, isKnown ? bytes : Math.max(bytes, Math.min(json.limitBytes, limits.totalBytes)), limits);
        if (!isKnown) room.follow(arrival, limits);
      };
      const reading = { ...json, isServed, caller, arrival, uncountedBytes: UNCOUNTED_BYTES, onLength, copy };
      try {
        const bytes = await readBody(request, "a JSON object", reading);
        const { length } = bytes;
        const parsed = parseJsonBody(bytes, reading);
        const body = parsed instanceof Promise ? await parsed : parsed;
        if (arrival.held > length) room.give(arrival, length);
        const release = arrival.held > 0 ? () => room.give(arrival) : undefined;
        return { body, isShort: length <= SHORT_BYTES, isLarge: length > LARGE_BYTES, release };
      } catch (refusal) {
        room.give(arrival);
        throw refusal;
      } finally {
        if (arrival.length > UNCOUNTED_BYTES || declared > UNCOUNTED_BYTES) room.forget(arrival);
      }
    },

    hold(text, caller) {
      const bytes = sizeWithin(json.limitBytes, text);
      return { bytes, release: reserve(bytes, caller) };
    },
  };
}

/** Reads a body that may be a file. `sizeOf`: the bytes that what was read keeps in memory. */
async function readLarge<T>(
  request: Request,
  caller: string,
  limits: UploadLimits,
  room: Room,
  read: (request: Request, most: BodyLimits) => Promise<T>,
  sizeOf: (body: T) => number,
): Promise<{ body: T; release(): void }> {
  const { form } = limits;
  const mostBytes = mostBytesOf(request.headers, form.limitBytes);
  const arrival: Arrival = { ...NEW, caller };
  room.take(arrival, mostBytes, limits);
  room.follow(arrival, limits);
  const onLength = (bytes: number) => room.measure(arrival, bytes, limits);
  try {
    const most = { ...form, limitBytes: mostBytes, trustedBytes: mostBytes, caller, arrival, onLength };
    const body = await read(request, most);
    // Releases what was reserved and not used.
    room.give(arrival, sizeOf(body));
    return { body, release: () => room.give(arrival) };
  } catch (refusal) {
    room.give(arrival);
    throw refusal;
  } finally {
    room.forget(arrival);
  }
}

/** The declared size, or the limit if the size is not declared or the body is compressed. */
function mostBytesOf(headers: Headers, limitBytes: number): number {
  const declared = Number(headers.get("content-length") ?? NaN);
  const isDeclared = declared > 0 && declared < limitBytes && !headers.has("content-encoding");
  return isDeclared ? declared : limitBytes;
}

/** The bytes of a text. Throws `request_too_large`, before anything is allocated if its characters alone are too many. */
function sizeWithin(limitBytes: number, text: string): number {
  const bytes = text.length > limitBytes ? text.length : builtin("node:buffer").Buffer.byteLength(text);
  if (bytes > limitBytes) throw tooLarge("message", limitBytes);
  return bytes;
}

function sizeOf(fields: readonly FormField[]): number {
  return fields.reduce((sum, { value = "", file }) => sum + (file?.bytes.length ?? value.length), 0);
}
