/** Whether a server can have read anything of a request whose connection died. */

/** A connection that has been idle for longer, in milliseconds, may have been closed by its server. */
const IDLE_MS = 1_000;

/** When each origin last answered well, by the monotonic clock: the connection that it answered on is open, most likely. */
const wellAt = new Map<string, number>();

/** Whether the connections that are kept to an origin may be dead: some servers reset them after a failure, all do after a while. */
export function isDoubtful(origin: string): boolean {
  const at = wellAt.get(origin);
  return at === undefined || performance.now() - at > IDLE_MS;
}

/** Notes whether an origin answered well. */
export function noteAnswer(origin: string, isWell: boolean): void {
  if (isWell) wellAt.set(origin, performance.now());
  else wellAt.delete(origin);
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
