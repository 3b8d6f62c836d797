import type { JsonValue } from "../canonical/json.ts";
import type { FormField } from "./context.ts";

/**
 * A call to an upstream, described. `path` joins the upstream's base URL. `url` stands alone: it is a GET that carries no
 * credential, to a host that the configuration allows.
 */
export type Call = ({ path: string; url?: undefined } | { url: string; path?: undefined }) & {
  method?: "GET" | "POST";
  headers?: Record<string, string>;
  /** JSON, unless it is bytes. A blob brings its own type. */
  body?: JsonValue | Uint8Array<ArrayBuffer> | Blob;
  /** A multipart form, in place of `body`. */
  form?: readonly FormField[];
  /** How long to wait before the call, in milliseconds: for a job that is polled. */
  afterMs?: number;
};

/** What an upstream answered, whole: JSON parsed, other text as a string, all else as bytes. */
export interface Reply {
  status: number;
  headers: Headers;
  body: JsonValue | Uint8Array<ArrayBuffer>;
  /** All the bytes, as they come, of sound that is passed on; `body` then holds their beginning. */
  stream?: ReadableStream<Uint8Array<ArrayBuffer>>;
}
