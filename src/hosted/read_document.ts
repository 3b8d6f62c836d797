/** Reads documents by way of the fetcher, which is a process of its own. */
import { asList, asObject, isText } from "../canonical/json.ts";
import type { Call } from "../contract/call.ts";
import { GatewayError, toGatewayError } from "../errors.ts";
import { type Callee, readReply, send } from "../upstream/send.ts";
import { BoundedMap } from "../util/bounded_map.ts";
import { builtin } from "../util/builtin.ts";
import { digestOf } from "../util/digest.ts";
import { abortAfter, delay } from "../util/timeout.ts";

export interface DocumentText {
  text: string;
  /** Whether the text goes on. */
  isCut: boolean;
  /** How many pages a PDF has. */
  pages?: number;
  /** Its first pages, as base64 of PNG. */
  pictures: readonly string[];
}

export interface DocumentRequest {
  mediaType: string;
  /** As base64. */
  data: string;
  /** The most pages of which pictures are made, and the length of their longer side, in pixels. */
  pictures: number;
  side: number;
  owner: string;
}

/** Throws `invalid_request` if the document cannot be read, and `unavailable` if nothing reads documents now. */
export type ReadDocument = (asked: DocumentRequest, signal: AbortSignal) => Promise<DocumentText>;

export interface ReadDocumentOptions {
  /** The fetcher. Absent if none runs. */
  service?: Callee;
  /** How long one document may take, in milliseconds. */
  timeoutMs: number;
  /** The most text of one document, in characters. */
  characters: number;
  /** The most pages of one PDF of which pictures are made. */
  pages: number;
  /** Milliseconds by a monotonic clock. */
  now(): number;
}

const ANSWER_BYTES = 128 * 2 ** 20;
/** Each turn of a conversation sends its documents again, so what was read lately is kept, up to this many characters. */
const [KEPT, KEPT_CHARACTERS] = [64, 32 * 2 ** 20];
/** How long a document that cannot be read is not tried again, in milliseconds, and how many such are remembered. */
const [FAILED_MS, FAILED] = [5 * 60_000, 1_000];

export function createReadDocument({ service, timeoutMs, characters, pages, now }: ReadDocumentOptions): ReadDocument {
  const kept = new Kept();
  /** A document may have cost the reader's process, which each turn of a conversation would do again. */
  const failed = new BoundedMap<string, { message: string; until: number }>(FAILED);
  return async ({ mediaType, data, owner, ...asked }, signal) => {
    if (!service) {
      throw new GatewayError("invalid_request", "No document can be read here: no fetcher runs beside the gateway");
    }
    const pictures = Math.min(asked.pictures, pages);
    const name = digestOf(JSON.stringify([owner, mediaType, pictures, asked.side, digestOf(data)]));
    const before = kept.get(name);
    if (before) return before;
    const failure = failed.get(name);
    if (failure && failure.until > now()) throw new GatewayError("invalid_request", failure.message);
    const query = new URLSearchParams({
      type: mediaType,
      characters: String(characters),
      pictures: String(pictures),
      side: String(asked.side),
      caller: digestOf(owner),
    });
    const body = new Uint8Array(builtin("node:buffer").Buffer.from(data, "base64"));
    const call = { path: `convert?${query}`, method: "POST" as const, body };
    const late = () => new GatewayError("invalid_request", `The document was not read within ${timeoutMs} ms`);
    try {
      const read = await abortAfter(timeoutMs, signal, (signal) => ask(call, service, signal), late);
      kept.keep(name, read);
      return read;
    } catch (thrown) {
      signal.throwIfAborted();
      const { code, message } = toGatewayError(thrown);
      if (code === "invalid_request") failed.set(name, { message, until: now() + FAILED_MS });
      throw thrown;
    }
  };
}

/** Asks again once, because the reader's process may just be restarting. A document that ends it twice is the likely cause. */
async function ask(call: Call, service: Callee, signal: AbortSignal): Promise<DocumentText> {
  for (let lost = 0, tries = 0;; tries++) {
    try {
      const { status, body } = await readReply(await send(call, service, signal), ANSWER_BYTES);
      return textIn(status, asObject(body));
    } catch (cause) {
      signal.throwIfAborted();
      const { code, details } = toGatewayError(cause);
      if (code !== "upstream_error") throw cause;
      if (!details.notProcessed && ++lost > 1) {
        throw new GatewayError("invalid_request", "The document cannot be read: its reader gave up twice", { cause });
      }
      const waitMs = WAITS_MS[tries];
      if (waitMs === undefined) {
        throw new GatewayError("unavailable", "The documents' reader is not there: try again", { own: true, cause });
      }
      await delay(waitMs, signal);
    }
  }
}

/** The waits for a reader that restarts, in milliseconds. */
const WAITS_MS = [300, 1_000, 2_500];

const FAILURES: Readonly<Record<string, string>> = {
  unsupported_type: "is not what its type says, or it is locked",
  too_large: "takes too much time or memory to read",
};

function textIn(
  status: number,
  { error, text, pages, pictures, isCut }: Record<string, unknown>,
): DocumentText {
  if (error === "too_many_requests") {
    throw new GatewayError("rate_limit", "Too many documents are being read: try again", { retryAfter: "2" });
  }
  if (isText(error)) throw new GatewayError("invalid_request", `The document ${FAILURES[error] ?? "cannot be read"}`);
  if (status !== 200 || typeof text !== "string") {
    throw new GatewayError("unavailable", "The documents' reader failed: try again", { own: true });
  }
  return {
    text,
    isCut: isCut === true,
    ...(typeof pages === "number" && { pages }),
    pictures: asList(pictures).filter(isText),
  };
}

/** Documents that were read lately. */
class Kept {
  readonly #texts = new BoundedMap<string, DocumentText>(KEPT);
  #characters = 0;

  get(name: string): DocumentText | undefined {
    const found = this.#texts.get(name);
    if (found) this.#texts.set(name, found);
    return found;
  }

  keep(name: string, read: DocumentText): void {
    this.#texts.set(name, read);
    this.#characters = [...this.#texts.values()].reduce((all, one) => all + lengthOf(one), 0);
    for (const [oldest, one] of this.#texts) {
      if (this.#characters <= KEPT_CHARACTERS) break;
      this.#texts.delete(oldest);
      this.#characters -= lengthOf(one);
    }
  }
}

function lengthOf({ text, pictures }: DocumentText): number {
  return pictures.reduce((all, picture) => all + picture.length, text.length);
}
