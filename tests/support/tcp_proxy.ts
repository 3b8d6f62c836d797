/** Stands between a client and a server on loopback, and is a bad network as tests wish. */

export interface TcpProxy {
  port: number;
  /** How long the way to the client is, in milliseconds. */
  delayMs: number;
  /** Takes connections and passes nothing on, either way, until it is false again: then what was held goes on. */
  isCut: boolean;
  /** Ends the connections that there are. */
  drop(): void;
  stop(): Promise<void>;
}

export function startTcpProxy(port: number): TcpProxy {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const connections = new Set<Deno.Conn>();
  const running = new Set<Promise<void>>();
  let isStopped = false;

  async function pass(from: Deno.Conn, to: Deno.Conn, delay: () => number): Promise<void> {
    const buffer = new Uint8Array(65_536);
    let written = Promise.resolve();
    try {
      for (let count = await from.read(buffer); count !== null; count = await from.read(buffer)) {
        const piece = buffer.slice(0, count);
        const until = performance.now() + delay();
        // As on a long way: what comes after it is on its way meanwhile.
        written = written.then(() => passLater(piece, to, until));
        written.catch(() => end(from));
        if (delay() === 0) await written;
      }
      await written;
    } catch {
      // either side has ended
    } finally {
      for (const one of [from, to]) end(one);
      await written.catch(() => {});
    }
  }

  async function passLater(piece: Uint8Array, to: Deno.Conn, until: number): Promise<void> {
    while ((proxy.isCut || performance.now() < until) && !isStopped) {
      await new Promise((done) => setTimeout(done, 5));
    }
    for (let at = 0; at < piece.length;) at += await to.write(piece.subarray(at));
  }

  function end(connection: Deno.Conn): void {
    if (!connections.delete(connection)) return;
    try {
      connection.close();
    } catch {
      // it has ended by itself
    }
  }

  async function serve(client: Deno.Conn): Promise<void> {
    connections.add(client);
    try {
      const server = await Deno.connect({ hostname: "127.0.0.1", port });
      connections.add(server);
      await Promise.all([pass(client, server, () => 0), pass(server, client, () => proxy.delayMs)]);
    } catch {
      end(client);
    }
  }

  const accepting = (async () => {
    for await (const client of listener) {
      const one = serve(client).finally(() => running.delete(one));
      running.add(one);
    }
  })();

  const proxy: TcpProxy = {
    port: listener.addr.port,
    delayMs: 0,
    isCut: false,
    drop() {
      for (const connection of [...connections]) end(connection);
    },
    async stop() {
      isStopped = true;
      listener.close();
      proxy.drop();
      await Promise.allSettled([accepting, ...running]);
    },
  };
  return proxy;
}
