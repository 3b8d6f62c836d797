import type { FormField } from "../contract/context.ts";
import { GatewayError } from "../errors.ts";
import type { BodyLimits } from "./body.ts";
import { readFormBody } from "./form.ts";

/** A form that a client sent, and the memory that is set aside for it. */
export interface Upload {
  fields: FormField[];
  /** Gives the memory back. */
  release(): void;
}

export interface Uploads {
  /**
   * Reads a form as `readFormBody` does. Throws `unavailable` while the forms that are not released leave no room for it, and
   * `request_too_large` where there never can be.
   */
  read(request: Request): Promise<Upload>;
}

/**
 * Reads the forms of all clients, which together take `totalBytes` at most. `room` counts what they take; whoever goes on with
 * it counts what others hold, too.
 */
export function createUploads(limits: BodyLimits, totalBytes: number, room = { taken: 0 }): Uploads {
  return {
    async read(request) {
      const mostBytes = mostBytesOf(request.headers, limits.limitBytes);
      if (mostBytes > totalBytes) {
        const message = `The body may be larger than all uploads together: ${totalBytes} bytes`;
        throw new GatewayError("request_too_large", message);
      }
      if (room.taken + mostBytes > totalBytes) {
        throw new GatewayError("unavailable", "The gateway is busy with other uploads: try again", { retryAfter: "5" });
      }
      room.taken += mostBytes;
      try {
        const fields = await readFormBody(request, { ...limits, limitBytes: mostBytes, trustedBytes: mostBytes });
        // What might have come, and did not, is others' to use.
        const bytes = Math.min(sizeOf(fields), mostBytes);
        room.taken -= mostBytes - bytes;
        return { fields, release: () => void (room.taken -= bytes) };
      } catch (refusal) {
        room.taken -= mostBytes;
        throw refusal;
      }
    },
  };
}

/** As much as the client says; as much as there may be where it does not say it, or compresses it. */
function mostBytesOf(headers: Headers, limitBytes: number): number {
  const declared = Number(headers.get("content-length") ?? NaN);
  const isTold = declared > 0 && declared < limitBytes && !headers.has("content-encoding");
  return isTold ? declared : limitBytes;
}

function sizeOf(fields: readonly FormField[]): number {
  return fields.reduce((sum, { value = "", file }) => sum + (file?.bytes.length ?? value.length), 0);
}
