/** Connections on Node that are read and written like Deno's: the launcher's desk, and the socket of the keeper. */
import { connect as connectTo, createServer, type ListenOptions, type NetConnectOpts, type Socket } from "node:net";
import type { AddressInfo } from "node:net";
import type { Connection, Listener } from "./host.ts";

/** Throws if nobody listens. */
export async function connect(options: NetConnectOpts): Promise<Connection> {
  const socket = connectTo({ ...options, allowHalfOpen: true });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  socket.once("connect", resolve).once("error", reject);
  await promise;
  return connectionOf(socket);
}

export async function listen(options: ListenOptions): Promise<Listener> {
  const waiting: Socket[] = [];
  let next = Promise.withResolvers<void>();
  let isClosed = false;
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true, noDelay: true }, (socket) => {
    waiting.push(socket);
    next.resolve();
  });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once("error", reject).listen(options, resolve);
  await promise;
  server.on("error", () => {}); // no descriptor is free, and the next connection may find one
  return {
    get addr() {
      return { port: (server.address() as AddressInfo).port };
    },
    async accept() {
      while (waiting.length === 0) {
        if (isClosed) throw new Error("The listener is closed");
        await next.promise;
        next = Promise.withResolvers();
      }
      return connectionOf(waiting.shift()!);
    },
    close() {
      isClosed = true;
      next.resolve();
      server.close();
      for (const socket of waiting.splice(0)) socket.destroy();
    },
  };
}

function connectionOf(socket: Socket): Connection {
  let failure: Error | undefined;
  socket.on("error", (error) => failure = error);
  return {
    async read(buffer) {
      while (!failure) {
        const bytes: Uint8Array | null = socket.read(Math.min(socket.readableLength, buffer.length) || undefined);
        if (bytes) {
          buffer.set(bytes);
          return bytes.length;
        }
        if (socket.readableEnded || socket.destroyed) return null;
        await somethingOf(socket);
      }
      throw failure;
    },
    write(bytes) {
      return new Promise((resolve, reject) =>
        void socket.write(bytes, (error) => error ? reject(error) : resolve(bytes.length))
      );
    },
    close: () => socket.destroySoon(),
  };
}

/** Resolves once there is more to read, or there will be nothing more. */
function somethingOf(socket: Socket): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const events = ["readable", "end", "error", "close"] as const;
  const over = () => {
    for (const event of events) socket.off(event, over);
    resolve();
  };
  for (const event of events) socket.on(event, over);
  return promise;
}
