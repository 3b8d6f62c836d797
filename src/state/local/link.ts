/** A worker's connection to the keeper. It is opened again whenever it is lost. */
import type { LocalSocket } from "../../platform/local_socket.ts";
import { callWhileAlive } from "../../util/idle_timer.ts";
import { failAfter } from "../../util/timeout.ts";
import { FrameConnection, type Parts } from "./frames.ts";

export interface Answer {
  result: unknown;
  parts: Parts;
}

/** The keeper refused the call, and did nothing. */
export class Refusal extends Error {}

export interface LocalLink {
  /**
   * Waits for a connection if there is none. Throws if no answer comes within `limitMs`. The keeper does not begin a call that
   * it reads later than that.
   */
  call(name: string, args: readonly unknown[], limitMs: number, parts?: Parts): Promise<Answer>;
  /** Whether an answer is likely: there is a connection, or was a moment ago, and no call has timed out since the last answer. */
  isReady(): boolean;
  close(): void;
}

export interface LocalLinkOptions {
  /** Connects to the keeper. Throws if no process listens. */
  connect(): Promise<LocalSocket>;
  /** The first call on each connection. */
  hello?(): readonly [name: string, args: readonly unknown[]];
  /** Called when the store has lost its content. */
  onLost?(): void;
}

/** The keeper ended before it answered. */
export class Lost extends Error {}

/** How often a call tries to connect, and for how long after the connection was lost, in milliseconds. */
const RETRY_MS = 25;
const GONE_MS = 3_000;
/** How often to try to connect while no call waits, in milliseconds. */
const LOOK_MS = 250;

/** `until`: after this an answer is of no use, in milliseconds since the epoch. */
type CallHead = readonly [id: number, until: number | null, name: string, args: readonly unknown[]];

interface Call {
  resolve(answer: Answer): void;
  reject(error: Error): void;
}

export function createLocalLink(options: LocalLinkOptions): LocalLink {
  return new OpenedLocalLink(options);
}

class OpenedLocalLink implements LocalLink {
  readonly #options: LocalLinkOptions;
  readonly #calls = new Map<number, Call>();
  #lastId = 0;
  /** How many losses the keeper has reported. */
  #losses = 0;
  #connection: FrameConnection | undefined;
  #opening: Promise<FrameConnection> | undefined;
  /** When the connection was lost, by a monotonic clock. */
  #lostAt: number | undefined;
  /** Whether a call has timed out since the last answer. */
  #isSilent = false;
  #isClosed = false;

  constructor(options: LocalLinkOptions) {
    this.#options = options;
  }

  async call(name: string, args: readonly unknown[], limitMs: number, parts: Parts = []): Promise<Answer> {
    const id = ++this.#lastId;
    const head = [id, Date.now() + limitMs, name, args] as const;
    try {
      return await failAfter(limitMs, this.#send(head, parts), () => {
        this.#isSilent = true;
        return new Error(`The store did not answer within ${limitMs} ms`);
      });
    } finally {
      this.#calls.delete(id);
    }
  }

  isReady(): boolean {
    return !this.#isSilent && !this.#isGone();
  }

  close(): void {
    this.#isClosed = true;
    this.#connection?.close();
  }

  #isGone(): boolean {
    return this.#lostAt !== undefined && performance.now() - this.#lostAt > GONE_MS;
  }

  async #send(head: CallHead, parts: Parts): Promise<Answer> {
    const connection = this.#connection ?? await (this.#opening ??= this.#open());
    return await this.#ask(connection, head, parts);
  }

  #ask(connection: FrameConnection, head: CallHead, parts: Parts): Promise<Answer> {
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    this.#calls.set(head[0], { resolve, reject });
    connection.send(head, parts).catch((error) => this.#lose(connection, error));
    return promise;
  }

  async #open(): Promise<FrameConnection> {
    this.#lostAt ??= performance.now();
    try {
      for (;;) {
        if (this.#isClosed) throw new Error("Cannot use the store: it is closed");
        try {
          const connection = new FrameConnection(await this.#options.connect());
          void this.#readAll(connection);
          const [name, args] = this.#options.hello?.() ?? [];
          if (name !== undefined) void this.#ask(connection, [++this.#lastId, null, name, args!], []).catch(() => {});
          this.#lostAt = undefined;
          this.#isSilent = false;
          return this.#connection = connection;
        } catch (error) {
          if (this.#isClosed || this.#isGone()) {
            throw new Error("The process that keeps the store is gone", { cause: error });
          }
        }
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      }
    } finally {
      this.#opening = undefined;
    }
  }

  async #readAll(connection: FrameConnection): Promise<void> {
    let failure: unknown;
    try {
      for (let frame = await connection.read(); frame; frame = await connection.read()) {
        const [id, refusal, result, losses = this.#losses] = frame.head as [number, string | null, unknown, number?];
        if (losses > this.#losses) this.#options.onLost?.();
        this.#losses = losses;
        const call = this.#calls.get(id);
        this.#calls.delete(id);
        this.#isSilent = false;
        if (refusal === null) call?.resolve({ result, parts: frame.parts });
        else call?.reject(new Refusal(refusal));
      }
    } catch (error) {
      failure = error;
    }
    this.#lose(connection, failure);
  }

  #lose(connection: FrameConnection, cause: unknown): void {
    connection.close();
    if (this.#connection !== connection) return;
    this.#connection = undefined;
    this.#lostAt = performance.now();
    const error = new Lost("The connection to the process that keeps the store was lost", { cause });
    for (const { reject } of this.#calls.values()) reject(error);
    this.#calls.clear();
    // A new keeper admits nothing until this worker has told it the counts that it remembers.
    if (!this.#isClosed && this.#options.hello) this.#reopen();
  }

  #reopen(): void {
    this.#opening ??= this.#open();
    this.#opening.catch(() => !this.#isClosed && callWhileAlive(LOOK_MS, () => this.#reopen()));
  }
}
