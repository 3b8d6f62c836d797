/** Deno's connections, on Node. */
import * as net from "node:net";
import { once } from "node:events";
import { Readable } from "node:stream";

interface Place {
  hostname?: string;
  port?: number;
  path?: string;
  transport?: string;
}

/** A class of errors that are known by Node's codes. */
const coded = (...codes: string[]) =>
  class extends Error {
    static override [Symbol.hasInstance](value: unknown): boolean {
      return codes.includes((value as { code?: string } | null)?.code ?? "");
    }
  };

export const errors = {
  NotFound: coded("ENOENT"),
  AlreadyExists: coded("EEXIST"),
  BadResource: coded("EBADF", "ERR_STREAM_DESTROYED"),
  ConnectionRefused: coded("ECONNREFUSED"),
  ConnectionReset: coded("ECONNRESET"),
};

class Connection {
  readonly #socket: net.Socket;
  #error: Error | undefined;

  constructor(socket: net.Socket) {
    this.#socket = socket;
    socket.on("error", (error) => this.#error = error);
  }

  get localAddr() {
    return { transport: "tcp", hostname: this.#socket.localAddress!, port: this.#socket.localPort! };
  }

  get remoteAddr() {
    return { transport: "tcp", hostname: this.#socket.remoteAddress!, port: this.#socket.remotePort! };
  }

  /** Reads nothing ahead of what is asked for but what Node's buffer takes. */
  async read(into: Uint8Array): Promise<number | null> {
    const socket = this.#socket;
    while (socket.readableLength === 0) {
      if (this.#error) throw this.#error;
      if (socket.readableEnded) return null;
      if (socket.destroyed) throw Object.assign(new Error("The connection is closed"), { code: "EBADF" });
      await new Promise<void>((resolve) => {
        const over = () => {
          for (const event of ["readable", "end", "close"]) socket.off(event, over);
          resolve();
        };
        for (const event of ["readable", "end", "close"]) socket.on(event, over);
        // It tells of the end.
        socket.read(0);
      });
    }
    const piece: Uint8Array = socket.read(Math.min(into.length, socket.readableLength));
    into.set(piece);
    return piece.length;
  }

  get readable(): ReadableStream<Uint8Array> {
    return Readable.toWeb(this.#socket) as unknown as ReadableStream<Uint8Array>;
  }

  write(bytes: Uint8Array): Promise<number> {
    return new Promise((resolve, reject) =>
      this.#socket.write(bytes, (error) => error ? reject(error) : resolve(bytes.length))
    );
  }

  closeWrite(): Promise<void> {
    return new Promise((resolve) => this.#socket.end(resolve));
  }

  setNoDelay(isOn = true): void {
    this.#socket.setNoDelay(isOn);
  }

  close(): void {
    if (this.#socket.destroyed) throw Object.assign(new Error("The connection is closed"), { code: "EBADF" });
    this.#socket.destroy();
  }

  [Symbol.dispose](): void {
    this.#socket.destroy();
  }
}

export async function connect({ hostname = "127.0.0.1", port = 0, path }: Place): Promise<Connection> {
  const options = path === undefined ? { host: hostname, port } : { path };
  const socket = net.connect({ ...options, allowHalfOpen: true } as net.NetConnectOpts);
  await once(socket, "connect");
  return new Connection(socket);
}

/** Node binds an address later, unless it gets a socket that is bound. */
const { _createServerHandle: bind } = net as unknown as {
  _createServerHandle(hostname: string, port: number, family: 4 | 6): Bound | number;
};

interface Bound {
  /** Another number than 0 where it fails. */
  listen(backlog: number): number;
  getsockname(into: { port?: number }): void;
  close(): void;
}

function bound({ hostname = "0.0.0.0", port = 0 }: Place): Bound {
  const handle = bind(hostname, port, hostname.includes(":") ? 6 : 4);
  if (typeof handle === "number") throw inUse();
  return handle;
}

const BACKLOG = 512;

function inUse(): Error {
  return Object.assign(new Error("The address is in use"), { code: "EADDRINUSE" });
}

/** A port that nobody has. */
export function freePort(hostname: string): number {
  const handle = bound({ hostname });
  const address: { port?: number } = {};
  handle.getsockname(address);
  handle.close();
  return address.port!;
}

class Listener {
  readonly #server: net.Server;
  readonly #waiting: Connection[] = [];
  #changed = Promise.withResolvers<void>();
  #isClosed = false;
  readonly addr: { transport: "tcp"; hostname: string; port: number };

  constructor(place: Place) {
    // What nobody reads stays with the other side.
    this.#server = net.createServer({ allowHalfOpen: true, pauseOnConnect: true }, (socket) => {
      this.#waiting.push(new Connection(socket));
      this.#change();
    });
    const handle = bound(place);
    if (handle.listen(BACKLOG) !== 0) throw inUse();
    this.#server.listen(handle);
    const { address, port } = this.#server.address() as net.AddressInfo;
    this.addr = { transport: "tcp", hostname: address, port };
  }

  async accept(): Promise<Connection> {
    while (this.#waiting.length === 0) {
      if (this.#isClosed) throw Object.assign(new Error("The listener is closed"), { code: "EBADF" });
      await this.#changed.promise;
    }
    return this.#waiting.shift()!;
  }

  close(): void {
    if (this.#isClosed) throw Object.assign(new Error("The listener is closed"), { code: "EBADF" });
    this.#isClosed = true;
    this.#server.close();
    this.#change();
  }

  [Symbol.dispose](): void {
    if (!this.#isClosed) this.close();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Connection> {
    while (!this.#isClosed) {
      const connection = await this.accept().catch(() => undefined);
      if (connection) yield connection;
    }
  }

  #change(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }
}

export const listen = (place: Place): Listener => new Listener(place);
