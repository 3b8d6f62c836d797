/** The memory that the bodies of all clients may take together, from the first byte until their requests are over. */
import type { FormField } from "../contract/context.ts";
import { GatewayError } from "../errors.ts";
import { type BodyLimits, readJsonBody } from "./body.ts";
import { readFormBody } from "./multipart.ts";

/** A form that a client sent, and the memory that is set aside for it. */
export interface Upload {
  fields: FormField[];
  /** Gives the memory back. */
  release(): void;
}

/** JSON that a client sent, and the memory that is set aside for it. */
export interface JsonUpload {
  body: unknown;
  /** Gives the memory back. */
  release(): void;
}

/** The bytes that are set aside for bodies. Whoever goes on with it counts what others hold, too. */
export interface Room {
  taken: number;
}

export interface Uploads {
  /**
   * Reads a form as `readFormBody` does. Throws `unavailable` while what is not released leaves no room for it, and
   * `request_too_large` where there never can be.
   */
  read(request: Request): Promise<Upload>;
  /** Reads JSON as `readJsonBody` does, in the same room, and throws the same. `isServed`: whether a server brought it. `copy` gets its bytes. */
  readJson(request: Request, isServed?: boolean, copy?: BodyLimits["copy"]): Promise<JsonUpload>;
}

export interface UploadLimits {
  form: BodyLimits;
  json: BodyLimits;
  /** The room for all, in bytes. */
  totalBytes: number;
}

/** Up to this share of the room a body is small: 1 MiB of 256, which a chat of hundreds of turns takes. */
const SMALL = 1 / 256;
/** What small bodies have beside the room, as a share of it: large ones that never end keep nobody from chatting. */
const RESERVE = 1 / 4;

export function createUploads({ form, json, totalBytes }: UploadLimits, room: Room = { taken: 0 }): Uploads {
  /** Sets `bytes` aside in all for a body that has `held` by now. */
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
        // What might have come, and did not, is others' to use.
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
        // Room that is taken as it comes would be used up by many bodies of which none comes to its end.
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
  };
}

/** As much as the client says; as much as there may be where it does not say it, or compresses it. */
function mostBytesOf(headers: Headers, limitBytes: number): number {
  const declared = Number(headers.get("content-length") ?? NaN);
  const isDeclared = declared > 0 && declared < limitBytes && !headers.has("content-encoding");
  return isDeclared ? declared : limitBytes;
}

function sizeOf(fields: readonly FormField[]): number {
  return fields.reduce((sum, { value = "", file }) => sum + (file?.bytes.length ?? value.length), 0);
}
