/**
 * The gateway's end of a WebSocket. Sending waits for a slow client, and a client that reads nothing is disconnected.
 */
import type { Upgraded } from "../platform/platform.ts";

/** The most bytes that may wait to be sent. Beyond that, nothing more is read from upstreams. */
const MOST_BUFFERED = 1_048_576;
/** How often the amount is checked, in milliseconds. */
const LOOK_MS = 20;
/** How long a client has to confirm the close, in milliseconds, and how long the platform has to send it. */
const CLOSE_MS = 2_000;
const END_MS = 5;
/** How long the platform has to open it, in milliseconds. Deno (2.9.6) reports nothing if the client has left before. */
const OPEN_MS = 10_000;

export interface BackpressuredSocketOptions {
  /** How long the client may read nothing, in milliseconds. */
  sendStallMs: number;
  onMessage(data: unknown): void;
  /** Called when nothing is sent or read any more. */
  onEnd(): void;
  onClosed(): void;
}

export class BackpressuredSocket {
  readonly #socket: WebSocket;
  readonly #drop: () => void;
  readonly #options: BackpressuredSocketOptions;
  #isOver = false;
  #closing: ReturnType<typeof setTimeout> | undefined;
  /** How long the client has to confirm the close, in milliseconds. */
  #patienceMs = CLOSE_MS;

  constructor({ socket, drop }: Pick<Upgraded, "socket" | "drop">, options: BackpressuredSocketOptions) {
    this.#socket = socket;
    this.#drop = drop;
    this.#options = options;
    socket.onmessage = ({ data }) => {
      // Messages may arrive until the client has closed its end as well.
      if (!this.#isOver) options.onMessage(data);
    };
    const opening = setTimeout(() => {
      this.close(1001, "The connection was not made in time");
      options.onClosed();
    }, OPEN_MS);
    socket.addEventListener("open", () => clearTimeout(opening), { once: true });
    socket.onerror = () => {}; // `onclose` follows
    socket.onclose = () => {
      clearTimeout(opening);
      clearTimeout(this.#closing);
      this.#end();
      options.onClosed();
    };
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  send(text: string): void {
    if (!this.#isOver && this.#socket.readyState === WebSocket.OPEN) this.#socket.send(text);
  }

  /** Resolves once the client has read enough. A client that reads nothing for too long is disconnected. */
  async drained(): Promise<void> {
    let before = this.#socket.bufferedAmount;
    for (let waited = 0; !this.#isOver && this.#socket.bufferedAmount > MOST_BUFFERED; waited += LOOK_MS) {
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
      const { bufferedAmount } = this.#socket;
      if (bufferedAmount < before) waited = 0;
      before = bufferedAmount;
      if (waited >= this.#options.sendStallMs) this.close(1001, "Nothing was read for too long");
    }
  }

  close(code: number, reason: string): void {
    if (this.#isOver) return;
    this.#end();
    const close = () => this.#socket.close(code, reason);
    if (this.#socket.readyState === WebSocket.CONNECTING) {
      // Deno (2.9.6) sends no close frame while the connection is still being made, and cannot end it by force.
      this.#socket.onopen = () => {
        close();
        this.#dropSoon();
      };
    } else close();
    this.#dropSoon();
  }

  /** Like `close`, without waiting for the client to confirm it. */
  end(code: number, reason: string): void {
    this.#patienceMs = END_MS;
    this.close(code, reason);
    this.#dropSoon();
  }

  #dropSoon(): void {
    clearTimeout(this.#closing);
    this.#closing = setTimeout(this.#drop, this.#patienceMs);
  }

  #end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#options.onEnd();
  }
}
