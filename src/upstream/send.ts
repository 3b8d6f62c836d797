import type { JsonValue } from "../canonical/json.ts";
import type { Call, Driver, Reply } from "../contract/driver.ts";
import { GatewayError } from "../errors.ts";
import type { Timeouts } from "./watch.ts";

/** One configured service, ready to be called. */
export interface Upstream {
  name: string;
  driver: Driver;
  /** Without a slash at its end; absent where the driver makes no calls. */
  baseUrl?: string;
  /** Goes out as `Authorization: Bearer`, to this upstream alone. */
  secret?: string;
  /** The environment variable that should hold the secret and does not. */
  missingSecret?: string;
  headers: Readonly<Record<string, string>>;
  refuses: readonly string[];
  systemMessages: "first" | "anywhere";
  timeouts: Timeouts;
}

export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/**
 * Makes one call and gives the response as it comes, whatever its status. Nothing of the client's request is in it but what
 * the driver put there: no header, no credential.
 */
export async function send(call: Call, upstream: Upstream, fetch: Fetch, signal: AbortSignal): Promise<Response> {
  const { body } = call;
  const headers = new Headers({ accept: "application/json, text/event-stream", "user-agent": "laneway" });
  for (const [name, value] of Object.entries({ ...call.headers, ...upstream.headers })) headers.set(name, value);
  if (upstream.secret !== undefined) headers.set("authorization", `Bearer ${upstream.secret}`);
  try {
    return await fetch(`${upstream.baseUrl}/${call.path}`, {
      method: call.method ?? (body === undefined ? "GET" : "POST"),
      headers,
      // As a Blob it is sent once: Deno repeats a text or bytes body when a reused connection dies.
      body: body === undefined ? undefined : toBlob(body),
      redirect: "manual",
      signal,
    });
  } catch (thrown) {
    signal.throwIfAborted();
    throw new GatewayError("upstream_error", `Cannot reach upstream "${upstream.name}"`, { cause: thrown });
  }
}

function toBlob(body: JsonValue | Uint8Array<ArrayBuffer>): Blob {
  return body instanceof Uint8Array ? new Blob([body]) : new Blob([JSON.stringify(body)], { type: "application/json" });
}

/** The whole response: JSON parsed, other text as a string, all else as bytes. */
export async function readReply(response: Response): Promise<Reply> {
  const { status, headers } = response;
  const bytes = new Uint8Array(await response.arrayBuffer());
  return { status, headers, body: parseBody(bytes, headers.get("content-type") ?? "") };
}

function parseBody(bytes: Uint8Array<ArrayBuffer>, contentType: string): JsonValue | Uint8Array<ArrayBuffer> {
  if (/^(audio|image|video)\/|octet-stream/.test(contentType)) return bytes;
  const text = new TextDecoder().decode(bytes);
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
