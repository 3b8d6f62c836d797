import type { JsonValue } from "../canonical/json.ts";
import type { FormField } from "./context.ts";

/**
 * Describes a call to an upstream. A `path` is joined to the upstream's base URL. A `url` is complete: a GET without
 * credentials to a host that the configuration allows.
 */
export type Call = ({ path: string; url?: undefined } | { url: string; path?: undefined }) & {
  method?: "GET" | "POST" | "PUT" | "DELETE";
  headers?: Record<string, string>;
  /** Sent as JSON, unless it is bytes or a blob. A blob has its own media type. */
  body?: JsonValue | Uint8Array<ArrayBuffer> | Blob;
  /** A multipart form, instead of `body`. */
  form?: readonly FormField[];
  /** Milliseconds to wait before the call, for polling a job. */
  afterMs?: number;
};

/** The header that carries a service's secret, in lower case, and the scheme before the secret. */
export interface SecretHeader {
  readonly header: string;
  readonly scheme?: string;
  readonly query?: undefined;
}

/** The header or the URL parameter that carries a service's secret. */
export type SecretPlace =
  | SecretHeader
  | { readonly query: string; readonly header?: undefined; readonly scheme?: undefined };

/** An upstream's whole answer. JSON is parsed, other text is a string, and everything else is bytes. */
export interface Reply {
  status: number;
  headers: Headers;
  body: JsonValue | Uint8Array<ArrayBuffer>;
  /** All bytes of audio that is passed through, as they arrive. `body` then holds only their beginning. */
  stream?: ReadableStream<Uint8Array<ArrayBuffer>>;
}
