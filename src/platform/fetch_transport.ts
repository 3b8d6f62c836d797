/** A transport by `fetch`, the platform's own or any other. */
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
    // The platform closes idle connections after a while.
    close() {},
  };
}

/** Sends a request once more if nothing of its body was read. A failure to connect is not retried here. */
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

/** Converts a response of `fetch`. */
export function fromResponse(response: Response): TransportResponse {
  const { status, ok, headers } = response;
  return { status, ok, headers, body: response.body ? new FetchedBytes(response) : undefined };
}

/** The buffer sizes for reading: small for a stream of tokens, large for data that arrives as fast as it is read. */
const [LEAST_BYTES, MOST_BYTES] = [2 * 1024, 64 * 1024];

/**
 * Keeps the response alive as long as its body. Once the response was garbage-collected, Deno (2.9.6) would not break off a body that
 * is being read when its signal is aborted, and no time-out would end it.
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
    return (this.#reader ?? this.#open()).read();
  }

  cancel(): Promise<void> {
    return (this.#reader ?? this.#open()).cancel();
  }

  #open(): ByteReader {
    const body = this.#response.body!;
    held.set(body, this.#response);
    return this.#reader = new ByteReader(body, LEAST_BYTES, MOST_BYTES);
  }
}

/** The length of a small body whose head states it reliably. */
function lengthOf(headers: Headers): number | undefined {
  if (headers.has("content-encoding")) return undefined;
  const length = headers.get("content-length");
  return length !== null && Number(length) <= MOST_BYTES ? Number(length) : undefined;
}

function sentOnce(payload: string | Blob): Blob {
  return typeof payload === "string" ? new TextBody(payload) : payload;
}

const PIECE_BYTES = 256 * 1024;

/** Makes a blob of pieces. Sending reads a piece as a whole, so a single piece would be one more copy of a file in memory. */
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
 * A text that is sent only once, as a Blob is: Deno sends a body of text or bytes again when a reused connection dies. Deno (2.9.6)
 * stores the content of a Blob under a random name and reads it back to send it, which takes a sixth of a small call.
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

  /** The content, for replacements of `fetch` that look into the body. */
  #plain(): Blob {
    return new Blob([this.#bytes]);
  }
}
