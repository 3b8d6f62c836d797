/** Whether a server can have read anything of a request whose connection died. */

/** A connection that has been idle for longer, in milliseconds, may have been closed by its server. */
const IDLE_MS = 1_000;

/** When each origin last answered well, by the monotonic clock: the connection that it answered on is open, most likely. */
const wellAt = new Map<string, number>();

/**
 * Origins whose connections carry one request each. cpp-httplib announces keep-alive, but closes the connection
 * after each stream: a request that comes at that moment would be lost.
 */
const usedOnce = new Set<string>();
const MOST_ORIGINS = 1_000;

/** The headers of a request to an origin, with `connection: close` where its connections are used once. */
export function headersFor(
  origin: string,
  headers: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  return usedOnce.has(origin) ? { ...headers, connection: "close" } : headers;
}

/** Whether the connections that are kept to an origin may be dead: some servers reset them after a failure, all do after a while. */
export function isDoubtful(origin: string): boolean {
  if (usedOnce.has(origin)) return true;
  const at = wellAt.get(origin);
  return at === undefined || performance.now() - at > IDLE_MS;
}

/** Notes whether an origin answered well. */
export function noteAnswer(origin: string, answer?: { readonly ok: boolean; readonly headers: Headers }): void {
  if (answer?.ok) wellAt.set(origin, performance.now());
  else wellAt.delete(origin);
  // cpp-httplib sends "timeout=5, max=100". Without TLS a new connection costs little.
  if (answer && origin.startsWith("http:") && answer.headers.get("keep-alive")?.includes("max=")) {
    if (usedOnce.size < MOST_ORIGINS) usedOnce.add(origin);
  }
}

/**
 * A body that goes out a moment after its head. Deno (2.9.6) says the same of a connection that died before the head of a
 * request was read, and of one that died after all of it was ("Connection reset by peer", "connection closed before message
 * completed"), and has read a Blob to its end by then. Within the moment it finds out that a kept connection is dead, and
 * whatever of the head was read, nothing of the body was.
 */
export class LateBody extends Blob {
  #isHeld = false;

  /** Whether the body was asked for, and nothing of it has been given away. */
  get isUnread(): boolean {
    return this.#isHeld && this.size > 0;
  }

  override stream(): ReadableStream<Uint8Array<ArrayBuffer>> {
    this.#isHeld = true;
    const bytes = super.stream();
    const give = async function* (isGiven: () => void) {
      await new Promise((resolve) => setTimeout(resolve));
      isGiven();
      yield* bytes;
    };
    return ReadableStream.from(give(() => this.#isHeld = false));
  }
}
