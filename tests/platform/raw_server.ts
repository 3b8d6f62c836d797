/** A server of which a test writes every byte, and every end of a connection. */
import { createServer, type Server, type Socket } from "node:net";
import { createServer as createSecureServer } from "node:tls";
import type { AddressInfo } from "node:net";

/** A request that came whole. */
export interface RawRequest {
  socket: Socket;
  /** Which connection it came on, and which request of that it is, counted from 0. */
  connection: number;
  turn: number;
  head: string;
  body: string;
  /** Does it after a while, unless the server has stopped. */
  later(run: () => void, ms: number): void;
}

export interface RawServer {
  url: string;
  /** Whole requests, in the order of arrival. */
  requests: RawRequest[];
  connections: number;
  /** The connections that are open. */
  open: Set<Socket>;
  stop(): Promise<void>;
}

export interface RawOptions {
  /** Answers a whole request. */
  answer(request: RawRequest): void;
  /** Called with each piece that came, before it is looked at; `true` where nothing more is to be done with it. */
  onData?(socket: Socket, text: string, turn: number): boolean;
  onOpen?(socket: Socket): void;
  tls?: { key: string; cert: string };
}

export async function startRaw({ answer, onData, onOpen, tls }: RawOptions): Promise<RawServer> {
  const open = new Set<Socket>();
  const requests: RawRequest[] = [];
  const timers = new Set<ReturnType<typeof setTimeout>>();
  const later = (run: () => void, ms: number) => void timers.add(setTimeout(run, ms));
  const serve = (socket: Socket) => {
    const connection = started.connections++;
    let text = "";
    let turn = 0;
    open.add(socket);
    socket.setNoDelay(true);
    socket.on("error", () => {}).on("close", () => open.delete(socket));
    socket.on("data", (bytes) => {
      text += bytes.toString("latin1");
      if (onData?.(socket, text, turn)) return;
      for (let end = endOf(text); end !== undefined; end = endOf(text)) {
        const at = text.indexOf("\r\n\r\n") + 4;
        const request = { socket, connection, turn: turn++, head: text.slice(0, at), body: text.slice(at, end), later };
        text = text.slice(end);
        requests.push(request);
        answer(request);
      }
    });
    onOpen?.(socket);
  };
  const server: Server = tls ? createSecureServer(tls, serve) : createServer(serve);
  server.on("tlsClientError", () => {});
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const started: RawServer = {
    url: `${tls ? "https" : "http"}://127.0.0.1:${port}`,
    requests,
    connections: 0,
    open,
    async stop() {
      for (const timer of timers) clearTimeout(timer);
      for (const socket of open) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
  return started;
}

/** Where a whole request ends; nothing where it has not come. */
function endOf(text: string): number | undefined {
  const head = text.indexOf("\r\n\r\n");
  if (head < 0) return undefined;
  const end = head + 4 + Number(/content-length: (\d+)/i.exec(text.slice(0, head))?.[1] ?? 0);
  return text.length < end ? undefined : end;
}
