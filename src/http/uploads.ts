/** Limits the memory for the bodies of all clients together, from the first byte until their requests end. */
import type { FormField } from "../contract/context.ts";
import { GatewayError } from "../errors.ts";
import { type BodyLimits, readJsonBody, tooLarge } from "./body.ts";
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
  /** Releases the memory. */
  release(): void;
}

/** The size of a text, and the memory reserved for it. */
export interface HeldText {
  bytes: number;
  /** Releases the memory. */
  release(): void;
}

/** The bytes reserved for bodies. A later configuration that takes over the object keeps counting what others hold. */
export interface Room {
  taken: number;
}

export interface Uploads {
  /**
   * Reads a form like `readFormBody`. Throws `unavailable` if there is no room at the moment, and `request_too_large` if there
   * never can be.
   */
  read(request: Request): Promise<Upload>;
  /**
   * Reads JSON like `readJsonBody`, in the same room and with the same errors. `isServed`: whether the request came through a
   * server. `copy` receives its bytes.
   */
  readJson(request: Request, isServed?: boolean, copy?: BodyLimits["copy"]): Promise<JsonUpload>;
  /** Reserves memory for JSON that has arrived, in the same room and with the same errors. */
  hold(text: string): HeldText;
}

export interface UploadLimits {
  form: BodyLimits;
  json: BodyLimits;
  /** The memory for all bodies, in bytes. */
  totalBytes: number;
}

/** A body is small up to this share of the room: 1 MiB of 256 MiB, which is enough for a chat of hundreds of turns. */
const SMALL = 1 / 256;
/** Extra room for small bodies, as a share of the room. Large uploads that never end therefore do not block chats. */
const RESERVE = 1 / 4;

export function createUploads({ form, json, totalBytes }: UploadLimits, room: Room = { taken: 0 }): Uploads {
  /** Reserves `bytes` in total for a body that already holds `held`. */
  function take(bytes: number, held: number): number {
    const most = bytes <= totalBytes * SMALL ? totalBytes * (1 + RESERVE) : totalBytes;
    if (bytes > most) {
      const message = `The body may be larger than the limit for all bodies together: ${totalBytes} bytes`;
      throw new GatewayError("request_too_large", message);
    }
    if (room.taken - held + bytes > most) {
      throw new GatewayError("unavailable", "The gateway is busy with other uploads: try again", { retryAfter: "5" });
    }
    room.taken += bytes - held;
    return bytes;
  }

  return {
    async read(request) {
      const mostBytes = mostBytesOf(request.headers, form.limitBytes);
      let held = take(mostBytes, 0);
      try {
        const fields = await readFormBody(request, { ...form, limitBytes: mostBytes, trustedBytes: mostBytes });
        // Releases what was reserved and not used.
        const bytes = Math.min(sizeOf(fields), mostBytes);
        room.taken -= held - bytes;
        held = bytes;
        return { fields, release: () => void (room.taken -= bytes) };
      } catch (refusal) {
        room.taken -= held;
        throw refusal;
      }
    },

    async readJson(request, isServed, copy) {
      const declared = Number(request.headers.get("content-length") ?? NaN);
      const isDeclared = declared > 0 && declared <= json.limitBytes;
      let held = isDeclared ? take(declared, 0) : 0;
      let length = 0;
      const onLength = (bytes: number) => {
        length = bytes;
        if (bytes <= held) return;
        // If room were reserved as the bytes arrive, many bodies could use it up together and none would finish.
        const isKnown = isDeclared || bytes <= totalBytes * SMALL;
        held = take(isKnown ? bytes : Math.max(bytes, Math.min(json.limitBytes, totalBytes)), held);
      };
      try {
        const body = await readJsonBody(request, { ...json, isServed, onLength, copy });
        room.taken -= held - length;
        return { body, release: () => void (room.taken -= length) };
      } catch (refusal) {
        room.taken -= held;
        throw refusal;
      }
    },

    hold(text) {
      const bytes = take(sizeWithin(json.limitBytes, text), 0);
      return { bytes, release: () => void (room.taken -= bytes) };
    },
  };
}

/** The declared size, or the limit if the size is not declared or the body is compressed. */
function mostBytesOf(headers: Headers, limitBytes: number): number {
  const declared = Number(headers.get("content-length") ?? NaN);
  const isDeclared = declared > 0 && declared < limitBytes && !headers.has("content-encoding");
  return isDeclared ? declared : limitBytes;
}

const encoder = new TextEncoder();

/** The bytes of a text. Throws `request_too_large`, before anything is allocated if its characters alone are too many. */
function sizeWithin(limitBytes: number, text: string): number {
  const bytes = text.length > limitBytes ? text.length : encoder.encode(text).length;
  if (bytes > limitBytes) throw tooLarge("message", limitBytes);
  return bytes;
}

function sizeOf(fields: readonly FormField[]): number {
  return fields.reduce((sum, { value = "", file }) => sum + (file?.bytes.length ?? value.length), 0);
}
