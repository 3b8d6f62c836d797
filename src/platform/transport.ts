/** How the gateway calls upstreams: what every transport takes, gives and keeps to. */

/** One request to an upstream. */
export interface TransportRequest {
  readonly url: string;
  readonly method: string;
  /** By their names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** A form brings its own `content-type`, and a Blob with a type has that unless the headers name another. */
  readonly body?: string | Uint8Array<ArrayBuffer> | Blob | FormData;
  /** Ends the exchange when it is aborted, whatever it waits for: the call or the read fails then. */
  readonly signal: AbortSignal;
}

/** The head of an answer, and its body as it comes. */
export interface TransportResponse {
  readonly status: number;
  /** Whether the status is one of success. */
  readonly ok: boolean;
  readonly headers: Headers;
  /** Decompressed. Absent where the answer has none. Read to its end or cancelled by whoever has the answer. */
  readonly body?: ByteSource;
}

/** Bytes that are read as they come. */
export interface ByteSource {
  /** The next bytes, good until the next read; `undefined` at the end. Fails where the connection ends before the body does. */
  read(): Promise<Uint8Array | undefined>;
  /** Ends it: what has not been read will not come. */
  cancel(): Promise<void>;
  /**
   * Of a small body whose length is known: all of it in one go, in place of `read`. Fails as that does. Absent where `read` is
   * no dearer, and once that was called.
   */
  readonly whole?: { readonly length: number; read(): Promise<Uint8Array<ArrayBuffer>> };
}

/**
 * Makes calls. A server gets the body of a request once at most: no transport sends it a second time unless nothing of it went
 * out the first time. Redirects are answers like any other, and no time limit but the signal ends a call.
 */
export interface Transport {
  /** Resolves with the head of the answer, whatever its status. Throws a `TransportError` where none came. */
  send(request: TransportRequest): Promise<TransportResponse>;
  /** Closes the connections that are kept. */
  close(): void;
}

/**
 * What a server can know of a request that got no answer: `not-made`, there was no connection; `exhausted`, this process or
 * machine can open no more of them; `unsent`, nothing of the body went out; `lost`, it may have all of it.
 */
export type Failure = "not-made" | "exhausted" | "unsent" | "lost";

/** There is no answer. The cause is what the platform reported. */
export class TransportError extends Error {
  override readonly name = "TransportError";
  readonly failure: Failure;

  constructor(failure: Failure, cause: unknown) {
    super(`The request got no answer: ${failure}`, { cause });
    this.failure = failure;
  }
}

/** The platforms' words for a connection that was never made (Deno's, Node's); one that broke may have brought the request. */
const NOT_MADE =
  /client error \(Connect\)|dns error|tcp connect error|connection refused|\bconnect E[A-Z]+|getaddrinfo|ECONNREFUSED/i;

/** The system's words where the process or the machine may open no further connection. */
const EXHAUSTED = /too many open files|\bE[MN]FILE\b/i;

/** What the platform's error says of the request, which it may say of nothing but the connection; else what is known. */
export function failureOf(thrown: unknown, known: Failure): Failure {
  if (says(EXHAUSTED, thrown)) return "exhausted";
  return says(NOT_MADE, thrown) ? "not-made" : known;
}

function says(words: RegExp, thrown: unknown): boolean {
  for (let error = thrown; error instanceof Error; error = error.cause) {
    // Of an address with several numbers, Node's error has a code and no message.
    if (words.test(`${error.message} ${(error as { code?: string }).code}`)) return true;
  }
  return false;
}

let [lastText, lastUrl]: [string, URL | undefined] = ["", undefined];

/** The URL, which nobody changes. Most requests go where the last one went, and to parse it costs as much as to send a head. */
export function urlOf(text: string): URL {
  if (lastUrl && text === lastText) return lastUrl;
  const url = new URL(text);
  [lastText, lastUrl] = [text, url];
  return url;
}
