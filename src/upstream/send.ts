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
  /** Top-level fields of a request body that it answers with an error: left out and noted. */
  refuses: readonly string[];
  systemMessages: "first" | "anywhere";
  timeouts: Timeouts;
}

/** Where a call goes, and what goes with it. */
export type Service = Pick<Upstream, "name" | "baseUrl" | "secret" | "headers">;

export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/**
 * Makes one call and gives the response as it comes, whatever its status. Nothing of the client's request is in it but what
 * the driver put there: no header, no credential.
 */
export async function send(call: Call, upstream: Service, fetch: Fetch, signal: AbortSignal): Promise<Response> {
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

/** The longest answer that is read whole, in bytes; a page of pictures or a book of audio fits into it. */
const LONGEST_REPLY = 64 * 1024 * 1024;

/** The whole response: JSON parsed, other text as a string, all else as bytes. Throws where it is longer than `limitBytes`. */
export async function readReply(response: Response, limitBytes = LONGEST_REPLY): Promise<Reply> {
  const { status, headers } = response;
  const bytes = await readBytes(response, limitBytes);
  return { status, headers, body: parseBody(bytes, headers.get("content-type") ?? "") };
}

/** The connection ended before the answer did. */
export function brokenOff(cause: unknown): GatewayError {
  return new GatewayError("upstream_error", "The upstream broke the connection off", { cause });
}

async function readBytes({ body }: Response, limitBytes: number): Promise<Uint8Array<ArrayBuffer>> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  const reader = body?.getReader();
  for (;;) {
    const piece = await reader?.read().catch((cause) => {
      throw brokenOff(cause);
    });
    if (!piece || piece.done) break;
    length += piece.value.length;
    if (length > limitBytes) {
      await reader?.cancel();
      throw new GatewayError("upstream_error", `The upstream's answer is longer than ${limitBytes} bytes`);
    }
    pieces.push(piece.value);
  }
  const bytes = new Uint8Array(length);
  let offset = 0;
  for (const piece of pieces) {
    bytes.set(piece, offset);
    offset += piece.length;
  }
  return bytes;
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
