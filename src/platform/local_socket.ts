/** Connections among processes of one machine over a Unix socket. A process that may open its file may connect. */
import { builtin } from "../util/builtin.ts";
import { isNode } from "./here.ts";
import type { Connection } from "./host.ts";

/** `read` fills the beginning of a buffer. It resolves to the number of bytes, or to `null` at the end. */
export type LocalSocket = Connection;

export interface LocalListener extends AsyncIterable<LocalSocket> {
  close(): void;
}

/** Throws if no process listens. */
export async function connectLocal(path: string): Promise<LocalSocket> {
  if (isNode()) return await (await import("./node_connection.ts")).connect({ path });
  return closedOnce(await Deno.connect({ transport: "unix", path }));
}

/** Listens at a path, in place of any process that listened there before. */
export function listenLocal(path: string): LocalListener {
  builtin("node:fs").rmSync(path, { force: true });
  if (isNode()) return all(import("./node_connection.ts").then(({ listen }) => listen({ path })));
  const listener = Deno.listen({ transport: "unix", path });
  return {
    async *[Symbol.asyncIterator]() {
      for await (const conn of listener) yield closedOnce(conn);
    },
    close: () => listener.close(),
  };
}

/** Ends once the listener is closed. */
function all(listening: Promise<{ accept(): Promise<LocalSocket>; close(): void }>): LocalListener {
  return {
    async *[Symbol.asyncIterator]() {
      const listener = await listening;
      try {
        while (true) yield await listener.accept();
      } catch {
        // It was closed.
      }
    },
    close: () => void listening.then((listener) => listener.close()),
  };
}

function closedOnce(conn: Deno.Conn): LocalSocket {
  let isOpen = true;
  return {
    read: (buffer) => conn.read(buffer),
    write: (bytes) => conn.write(bytes),
    close() {
      if (isOpen) conn.close();
      isOpen = false;
    },
  };
}
