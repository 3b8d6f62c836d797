/** The gateway's end of a WebSocket: what it sends waits for the client, and a client that takes nothing is given up. */

/** Characters that may wait to be sent: beyond it, nothing more is read of upstreams. */
const MOST_BUFFERED = 1_048_576;
/** Characters of them that a client may cause by itself, with messages that are refused. */
const MOST_REFUSALS = 4 * MOST_BUFFERED;
/** How often it is looked whether they are sent, in milliseconds. */
const LOOK_MS = 20;
/** How long a client has to answer that the connection is closed, in milliseconds. */
const CLOSE_MS = 2_000;

export interface ChannelOptions {
  /** How long the client may take nothing, in milliseconds. */
  sendStallMs: number;
  onMessage(data: unknown): void;
  /** Nothing is sent any more, and nothing read. */
  onEnd(): void;
  /** The client did not answer that the connection is closed. Deno (2.9.6) has no way to close it then. */
  onLinger(): void;
  onClosed(): void;
}

export class Channel {
  readonly #socket: WebSocket;
  readonly #options: ChannelOptions;
  #isOver = false;
  #lingering: ReturnType<typeof setTimeout> | undefined;

  constructor(socket: WebSocket, options: ChannelOptions) {
    this.#socket = socket;
    this.#options = options;
    socket.onmessage = ({ data }) => {
      // Messages come on until the client has closed its end, too.
      if (!this.#isOver) options.onMessage(data);
    };
    socket.onerror = () => {}; // it closes, too
    socket.onclose = () => {
      clearTimeout(this.#lingering);
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

  /** The same for an answer that nobody waits with. A client that only makes mistakes and never reads is given up. */
  refuse(text: string): void {
    if (this.#socket.bufferedAmount > MOST_REFUSALS) this.close(1008, "Too many answers were not read");
    this.send(text);
  }

  /** Resolves once the client has taken enough. One that takes nothing for long is given up. */
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
    // Deno (2.9.6) sends no close to a client whose connection is just being made.
    if (this.#socket.readyState === WebSocket.CONNECTING) this.#socket.onopen = close;
    else close();
    this.#lingering = setTimeout(this.#options.onLinger, CLOSE_MS);
  }

  #end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#options.onEnd();
  }
}
