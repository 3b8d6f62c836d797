/** The WebSockets that are open, of all callers. */
import { GatewayError } from "../errors.ts";

/** One of them, as the gateway as a whole sees it. */
export interface OpenSocket {
  /** Closes it once nothing is asked in it any more. */
  retire(): void;
  /** Closes it now. */
  abort(): void;
}

export class Sockets {
  readonly #open = new Set<OpenSocket>();
  /** Those whose clients do not answer that they are closed: they take memory, but nobody waits for them. */
  readonly #lingering = new Set<OpenSocket>();
  #empty = Promise.withResolvers<void>();

  get size(): number {
    return this.#open.size;
  }

  /** Throws `unavailable` where there are so many already. */
  checkRoom(most: number): void {
    if (this.#open.size + this.#lingering.size < most) return;
    throw new GatewayError("unavailable", "Too many WebSockets are open: try again later", { retryAfter: "5" });
  }

  add(socket: OpenSocket): void {
    this.#open.add(socket);
  }

  linger(socket: OpenSocket): void {
    this.delete(socket);
    this.#lingering.add(socket);
  }

  delete(socket: OpenSocket): void {
    this.#lingering.delete(socket);
    this.#open.delete(socket);
    if (this.#open.size > 0) return;
    this.#empty.resolve();
    this.#empty = Promise.withResolvers();
  }

  /** Clients open new ones, which are served by the configuration as it is then. */
  retire(): void {
    for (const socket of this.#open) socket.retire();
  }

  abort(): void {
    for (const socket of this.#open) socket.abort();
  }

  /** Resolves once none is open but those that linger. */
  async settled(): Promise<void> {
    if (this.#open.size > 0) await this.#empty.promise;
  }
}
