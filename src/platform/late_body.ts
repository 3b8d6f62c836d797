/** The kept connections to servers: finds out whether a server can have read anything of a request whose connection died. */

/** A connection that has been idle for longer, in milliseconds, may have been closed by its server. */
const IDLE_MS = 1_000;

/** When each origin last answered with success, by the monotonic clock. That connection is most likely still open. */
const wellAt = new Map<string, number>();

/**
 * Origins whose connections are used for one request each. cpp-httplib announces keep-alive, but closes the connection after each
 * stream. A request at that moment would be lost.
 */
const usedOnce = new Set<string>();
const MOST_ORIGINS = 1_000;

/** The state of the connections to an origin. */
export interface Connections {
  /** Whether each is used for one request only. Then requests have `connection: close`. */
  readonly isUsedOnce: boolean;
  /** Whether kept ones may be dead: some servers close them after a failure, and all do after a while. */
  readonly isDoubtful: boolean;
}

export function connectionsTo(origin: string): Connections {
  const isUsedOnce = usedOnce.has(origin);
  const idleMs = performance.now() - (wellAt.get(origin) ?? -Infinity);
  return { isUsedOnce, isDoubtful: isUsedOnce || idleMs > IDLE_MS };
}

/** Records whether an origin answered with success. */
export function noteAnswer(origin: string, answer?: { readonly ok: boolean; readonly headers: Headers }): void {
  if (answer?.ok) wellAt.set(origin, performance.now());
  else wellAt.delete(origin);
  // cpp-httplib sends "timeout=5, max=100". Without TLS a new connection costs little.
  if (answer && origin.startsWith("http:") && answer.headers.get("keep-alive")?.includes("max=")) {
    if (usedOnce.size < MOST_ORIGINS) usedOnce.add(origin);
  }
}

/**
 * A body that is sent a moment after its head. Deno (2.9.6) reports the same error if a connection died before the head of a request
 * was read and after all of it was ("Connection reset by peer", "connection closed before message completed"), and it has read a Blob
 * to its end by then. Within the moment it finds out that a kept connection is dead. Then the server has read nothing of the body,
 * whatever it has read of the head.
 */
export class LateBody extends Blob {
  #isHeld = false;

  /** Whether the body was requested, and nothing of it has been sent. */
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

let [lastText, lastUrl]: [string, URL | undefined] = ["", undefined];

/** Parses a URL, which must not be changed. The last one is cached, because most requests repeat it and parsing is slow. */
export function urlOf(text: string): URL {
  if (lastUrl && text === lastText) return lastUrl;
  const url = new URL(text);
  [lastText, lastUrl] = [text, url];
  return url;
}
