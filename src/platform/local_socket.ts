/** Connections among processes of one machine over a Unix socket. A process that may open its file may connect. */

export interface LocalSocket {
  /** Fills the beginning of a buffer. Resolves to the number of bytes, or to `null` at the end. */
  read(buffer: Uint8Array): Promise<number | null>;
  /** Writes some of the bytes, and resolves to how many. */
  write(bytes: Uint8Array): Promise<number>;
  close(): void;
}

export interface LocalListener extends AsyncIterable<LocalSocket> {
  close(): void;
}

/** Throws if no process listens. */
export async function connectLocal(path: string): Promise<LocalSocket> {
  return closedOnce(await Deno.connect({ transport: "unix", path }));
}

/** Listens at a path, in place of any process that listened there before. */
export function listenLocal(path: string): LocalListener {
  try {
    Deno.removeSync(path);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  const listener = Deno.listen({ transport: "unix", path });
  return {
    async *[Symbol.asyncIterator]() {
      for await (const conn of listener) yield closedOnce(conn);
    },
    close: () => listener.close(),
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
