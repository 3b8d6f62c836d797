/** The open WebSockets of all callers. */
import { GatewayError } from "../errors.ts";

/** The view that the whole gateway has of an open socket. */
export interface OpenSocket {
  /** Closes it once it has no more requests to answer. */
  retire(): void;
  /** Closes it immediately. */
  abort(): void;
}

export class Sockets {
  readonly #open = new Set<OpenSocket>();
  /** Sockets whose clients do not confirm the close. They use memory, but nothing waits for them. */
  readonly #lingering = new Set<OpenSocket>();
  #empty = Promise.withResolvers<void>();

  get size(): number {
    return this.#open.size;
  }

  /** Throws `unavailable` if too many are open. */
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

  /** Clients then open new sockets, which use the configuration of that time. */
  retire(): void {
    for (const socket of this.#open) socket.retire();
  }

  abort(): void {
    for (const socket of this.#open) socket.abort();
  }

  /** Resolves once all sockets are closed, except those that linger. */
  async settled(): Promise<void> {
    if (this.#open.size > 0) await this.#empty.promise;
  }
}
