/**
 * The messages that have arrived on a WebSocket. They are read in order, one at a time. Each waits for its turn like a
 * new request.
 */
import { GatewayError } from "../errors.ts";
import type { HeldText } from "../http/uploads.ts";
import { waitToBegin } from "../util/sliced_work.ts";

/** A message that has been read. */
export interface ReceivedMessage {
  body: unknown;
  /** The memory set aside for the message, in bytes. */
  size: number;
  /** Gives back the memory that was set aside for it. */
  release(): void;
}

export interface ReceivedMessagesOptions {
  /** Callers whose messages wait take turns. */
  caller: string;
  /** Throws what `Uploads.hold` throws. */
  hold(text: string): HeldText;
  /** Throws `invalid_request`. */
  parse(text: string): unknown | Promise<unknown>;
  /** Rejects only if the message was refused. Its memory is given back then. */
  onMessage(message: ReceivedMessage): Promise<void>;
  onRefused(thrown: unknown): Promise<void>;
}

type Held = { text: string; held: HeldText } | { refused: unknown };

export class ReceivedMessages {
  readonly #options: ReceivedMessagesOptions;
  readonly #waiting: Held[] = [];
  #isReading = false;
  /** Whether `#readAll` is running. */
  #isRunning = false;

  constructor(options: ReceivedMessagesOptions) {
    this.#options = options;
  }

  /** How many messages are not read yet. */
  get size(): number {
    return this.#waiting.length + Number(this.#isReading);
  }

  /** Adds a message. Memory is set aside for it at once, even if others are read before it. */
  add(data: unknown): void {
    try {
      if (typeof data !== "string") throw new GatewayError("invalid_request", "Expected a text message");
      if (data === "") throw new GatewayError("invalid_request", "The message is empty: expected a JSON object");
      this.#push({ text: data, held: this.#options.hold(data) });
    } catch (refused) {
      this.refuse(refused);
    }
  }

  /** Refuses a message when its turn comes. */
  refuse(refused: unknown): void {
    this.#push({ refused });
  }

  clear(): void {
    for (const one of this.#waiting.splice(0)) if ("held" in one) one.held.release();
  }

  #push(one: Held): void {
    this.#waiting.push(one);
    if (!this.#isRunning) void this.#readAll();
  }

  async #readAll(): Promise<void> {
    this.#isRunning = true;
    for (let [first] = this.#waiting; first; [first] = this.#waiting) {
      const turn = waitToBegin(this.#options.caller, "held" in first ? first.held.bytes : 0);
      if (turn) await turn;
      const one = this.#waiting.shift();
      if (one) await this.#read(one);
    }
    this.#isRunning = false;
  }

  async #read(one: Held): Promise<void> {
    if ("refused" in one) return await this.#options.onRefused(one.refused);
    const { bytes: size, release } = one.held;
    this.#isReading = true;
    try {
      const body = await this.#options.parse(one.text);
      this.#isReading = false;
      await this.#options.onMessage({ body, size, release });
    } catch (thrown) {
      this.#isReading = false;
      release();
      await this.#options.onRefused(thrown);
    }
  }
}
