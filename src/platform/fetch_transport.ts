/** Calls by `fetch`, the platform's own or any other. */
import { ByteReader } from "../util/byte_reader.ts";
import { headersFor, isDoubtful, LateBody, noteAnswer } from "./late_body.ts";
import {
  type ByteSource,
  failureOf,
  type Transport,
  TransportError,
  type TransportResponse,
  urlOf,
} from "./transport.ts";

export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

export function fetchTransport(fetch: Fetch): Transport {
  return {
    send({ url, method, headers, body, signal }) {
      const init = { method, headers: headersFor(urlOf(url).origin, headers), redirect: "manual", signal } as const;
      if (body === undefined || body instanceof FormData) return reach(fetch, url, { ...init, body });
      return post(fetch, url, body instanceof Uint8Array ? blobOf(body, "") : body, init);
    },
    // The platform closes them after a while.
    close() {},
  };
}

/** Once more where nothing of the body was read; whom no connection could be made to is not tried again here. */
async function post(fetch: Fetch, url: string, payload: string | Blob, init: RequestInit): Promise<TransportResponse> {
  const { origin } = urlOf(url);
  const type = typeof payload === "string" ? "" : payload.type;
  for (let isAgain = false;; isAgain = true) {
    const body = isAgain || isDoubtful(origin) ? new LateBody([payload], { type }) : sentOnce(payload);
    try {
      const response = await reach(fetch, url, { ...init, body });
      noteAnswer(origin, response);
      return response;
    } catch (thrown) {
      noteAnswer(origin);
      if (isAgain || !(thrown instanceof TransportError) || thrown.failure !== "unsent") throw thrown;
    }
  }
}

function reach(fetch: Fetch, url: string, init: RequestInit): Promise<TransportResponse> {
  return fetch(url, init).then(fromResponse, (thrown) => {
    init.signal?.throwIfAborted();
    const isUnsent = init.body instanceof LateBody && init.body.isUnread;
    throw new TransportError(failureOf(thrown, isUnsent ? "unsent" : "lost"), thrown);
  });
}

/** What `fetch` gave, as a transport gives it. */
export function fromResponse(response: Response): TransportResponse {
  const { status, ok, headers } = response;
  return { status, ok, headers, body: response.body ? new FetchedBytes(response) : undefined };
}

/** How much is read at once: little of a stream that comes in tokens, much of what comes as fast as it is read. */
const [LEAST_BYTES, MOST_BYTES] = [2 * 1024, 64 * 1024];

/**
 * Deno (2.9.6) does not break a body off that is being read when its signal is aborted, once the response itself has been
 * collected, and no time-out would end it: the response lives as long as its body.
 */
const held = new WeakMap<ReadableStream, Response>();

class FetchedBytes implements ByteSource {
  readonly #response: Response;
  #reader: ByteReader | undefined;

  constructor(response: Response) {
    this.#response = response;
  }

  get whole(): ByteSource["whole"] {
    const length = this.#reader ? undefined : lengthOf(this.#response.headers);
    return length === undefined ? undefined : { length, read: () => this.#response.bytes() };
  }

  read(): Promise<Uint8Array | undefined> {
    return this.#open().read();
  }

  cancel(): Promise<void> {
    return this.#open().cancel();
  }

  #open(): ByteReader {
    if (this.#reader) return this.#reader;
    const body = this.#response.body!;
    held.set(body, this.#response);
    return this.#reader = new ByteReader(body, LEAST_BYTES, MOST_BYTES);
  }
}

/** The length of a body that is as long as its head says, and small. */
function lengthOf(headers: Headers): number | undefined {
  if (headers.has("content-encoding")) return undefined;
  const length = headers.get("content-length");
  return length !== null && Number(length) <= MOST_BYTES ? Number(length) : undefined;
}

function sentOnce(payload: string | Blob): Blob {
  return typeof payload === "string" ? new TextBody(payload) : payload;
}

const PIECE_BYTES = 256 * 1024;

/** In pieces, because a piece is read whole when it is sent, which for a file would be one more of it in memory. */
export function blobOf(bytes: Uint8Array<ArrayBuffer>, type: string): Blob {
  const count = Math.ceil(bytes.length / PIECE_BYTES);
  const pieces = Array.from(
    { length: count },
    (_, index) => new Blob([bytes.subarray(index * PIECE_BYTES, (index + 1) * PIECE_BYTES)]),
  );
  return new Blob(pieces, { type });
}

const encoder = new TextEncoder();

/**
 * A text that is sent once, as a Blob is: Deno repeats a text or bytes body when a reused connection dies. Deno (2.9.6) puts what
 * is in a Blob aside under a random name and fetches it again to send it, which takes it a sixth of a small call.
 */
export class TextBody extends Blob {
  readonly #bytes: Uint8Array<ArrayBuffer>;

  constructor(text: string) {
    super();
    this.#bytes = encoder.encode(text);
  }

  override get size(): number {
    return this.#bytes.length;
  }

  override stream(): ReadableStream<Uint8Array<ArrayBuffer>> {
    return new ReadableStream({
      pull: (controller) => {
        controller.enqueue(this.#bytes);
        controller.close();
      },
    }, { highWaterMark: 0 });
  }

  override text(): Promise<string> {
    return this.#plain().text();
  }

  override bytes(): Promise<Uint8Array<ArrayBuffer>> {
    return this.#plain().bytes();
  }

  override arrayBuffer(): Promise<ArrayBuffer> {
    return this.#plain().arrayBuffer();
  }

  override slice(...part: Parameters<Blob["slice"]>): Blob {
    return this.#plain().slice(...part);
  }

  /** For who stands in for `fetch` and looks into what it would send. */
  #plain(): Blob {
    return new Blob([this.#bytes]);
  }
}
