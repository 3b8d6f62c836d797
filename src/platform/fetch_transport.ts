/** A transport by `fetch`, the platform's own or any other. */
import { ByteReader } from "../util/byte_reader.ts";
import { connectionsTo, LateBody, noteAnswer, urlOf } from "./late_body.ts";
import {
  type ByteSource,
  type Failure,
  failureOf,
  type Transport,
  TransportError,
  type TransportResponse,
} from "./transport.ts";

export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

export function fetchTransport(fetch: Fetch): Transport {
  return {
    send({ url, method, headers: own, body, signal }) {
      const { origin } = urlOf(url);
      const { isUsedOnce, isDoubtful } = connectionsTo(origin);
      const headers = isUsedOnce ? { ...own, connection: "close" } : own;
      const init = { method, headers, redirect: "manual", signal } as const;
      if (body === undefined || body instanceof FormData) {
        return fetch(url, { ...init, body }).then(fromResponse, (thrown) => {
          throw errorOf(thrown, "lost", signal);
        });
      }
      const payload = body instanceof Uint8Array ? blobOf(body, "") : body;
      return post({ fetch, url, origin, payload, init }, isDoubtful);
    },
    // The platform closes idle connections after a while.
    close() {},
  };
}

interface Post {
  fetch: Fetch;
  url: string;
  origin: string;
  payload: string | Blob;
  init: RequestInit & { signal: AbortSignal };
}

/** Sends a request once more if nothing of its body was read. A failure to connect is not retried here. */
function post(request: Post, isLate: boolean, isAgain = false): Promise<TransportResponse> {
  const { fetch, url, origin, payload, init } = request;
  let body = payload;
  if (isLate) body = new LateBody([payload], { type: typeof payload === "string" ? "" : payload.type });
  else if (typeof payload === "string") body = new TextBody(payload);
  return fetch(url, { ...init, body }).then((response) => {
    noteAnswer(origin, response);
    return fromResponse(response);
  }, (thrown) => {
    noteAnswer(origin);
    const isUnsent = body instanceof LateBody && body.isUnread;
    const error = errorOf(thrown, isUnsent ? "unsent" : "lost", init.signal);
    if (isAgain || !(error instanceof TransportError) || error.failure !== "unsent") throw error;
    return post(request, true, true);
  });
}

/** The error of a failed request. `known`: the failure, unless the platform's error shows another. */
function errorOf(thrown: unknown, known: Failure, signal: AbortSignal): unknown {
  return signal.aborted ? signal.reason : new TransportError(failureOf(thrown, known), thrown);
}

/** The buffer sizes for reading: small for a stream of tokens, large for data that arrives as fast as it is read. */
const [LEAST_BYTES, MOST_BYTES] = [2 * 1024, 64 * 1024];

/** Converts a response of `fetch`. */
export function fromResponse(response: Response): TransportResponse {
  const { status, ok, headers, body } = response;
  if (!body) return { status, ok, headers };
  const length = headers.get("content-length");
  // The length is that of the encoded body.
  const isSmall = length !== null && Number(length) <= MOST_BYTES && !headers.has("content-encoding");
  return { status, ok, headers, body: isSmall ? new SmallBody(response, Number(length)) : readerOf(response, body) };
}

/**
 * Keeps the response alive as long as its body. Once the response was garbage-collected, Deno (2.9.6) would not break off a body that
 * is being read when its signal is aborted, and no time-out would end it.
 */
const held = new WeakMap<ReadableStream, Response>();

function readerOf(response: Response, body: ReadableStream<Uint8Array<ArrayBuffer>>): ByteReader {
  held.set(body, response);
  return new ByteReader(body, LEAST_BYTES, MOST_BYTES);
}

/** A body that can be read at once, because its head reliably states that it is small. */
class SmallBody implements ByteSource {
  readonly #response: Response;
  readonly #length: number;
  #reader: ByteReader | undefined;

  constructor(response: Response, length: number) {
    this.#response = response;
    this.#length = length;
  }

  get whole(): ByteSource["whole"] {
    return this.#reader ? undefined : { length: this.#length, read: () => this.#response.bytes() };
  }

  read(): Promise<Uint8Array | undefined> {
    return (this.#reader ?? this.#open()).read();
  }

  cancel(): Promise<void> {
    return (this.#reader ?? this.#open()).cancel();
  }

  #open(): ByteReader {
    return this.#reader ??= readerOf(this.#response, this.#response.body!);
  }
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
