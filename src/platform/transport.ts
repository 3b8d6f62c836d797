/** The contract of transports, by which the gateway calls upstreams. */

/** One request to an upstream. */
export interface TransportRequest {
  readonly url: string;
  readonly method: string;
  /** The headers, with names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** A form sets its own `content-type`. So does a Blob with a type, unless the headers name another. */
  readonly body?: string | Uint8Array<ArrayBuffer> | Blob | FormData;
  /** Ends the exchange at any point when it is aborted. The pending call or read then fails. */
  readonly signal: AbortSignal;
}

/** The head of an answer, and its body as it arrives. */
export interface TransportResponse {
  readonly status: number;
  /** Whether the status is 2xx. */
  readonly ok: boolean;
  readonly headers: Headers;
  /** The decompressed body. Absent if the answer has none. The owner of the answer must read it to its end or cancel it. */
  readonly body?: ByteSource;
}

/** Bytes that are read as they arrive. */
export interface ByteSource {
  /** The next bytes, which are valid until the next read. `undefined` at the end. Fails if the connection ends before the body. */
  read(): Promise<Uint8Array | undefined>;
  /** Ends the transfer. Unread bytes are lost. */
  cancel(): Promise<void>;
  /**
   * Reads a small body of known length at once, instead of `read`, and fails as that does. Absent if `read` costs no more, and after
   * the first call of `read`.
   */
  readonly whole?: { readonly length: number; read(): Promise<Uint8Array<ArrayBuffer>> };
}

/**
 * Makes calls. A server gets the body of a request at most once: no transport sends it again unless nothing of it was sent before.
 * Redirects are answers like any other, and no time limit except the signal ends a call.
 */
export interface Transport {
  /** Resolves with the head of the answer, whatever its status. Throws a `TransportError` if none came. */
  send(request: TransportRequest): Promise<TransportResponse>;
  /** Closes the connections that are kept. */
  close(): void;
}

/**
 * Why a request got no answer. `not-made`: there was no connection. `exhausted`: this process or machine can open no more
 * connections. `unsent`: nothing of the body was sent. `lost`: the server may have the whole request.
 */
export type Failure = "not-made" | "exhausted" | "unsent" | "lost";

/** The error if there is no answer. Its cause is the platform's error. */
export class TransportError extends Error {
  override readonly name = "TransportError";
  readonly failure: Failure;

  constructor(failure: Failure, cause: unknown) {
    super(`The request got no answer: ${failure}`, { cause });
    this.failure = failure;
  }
}

/** The messages of Deno and Node for a connection that was never made. A connection that broke may have delivered the request. */
const NOT_MADE =
  /client error \(Connect\)|dns error|tcp connect error|connection refused|\bconnect E[A-Z]+|getaddrinfo|ECONNREFUSED/i;

/** The system's messages if the process or the machine can open no more connections. */
const EXHAUSTED = /too many open files|\bE[MN]FILE\b/i;

/** The failure that the platform's error shows. If it shows none, `known`. */
export function failureOf(thrown: unknown, known: Failure): Failure {
  if (says(EXHAUSTED, thrown)) return "exhausted";
  return says(NOT_MADE, thrown) ? "not-made" : known;
}

function says(words: RegExp, thrown: unknown): boolean {
  for (let error = thrown; error instanceof Error; error = error.cause) {
    // For a host with several addresses, Node's error has a code but no message.
    if (words.test(`${error.message} ${(error as { code?: string }).code}`)) return true;
  }
  return false;
}
