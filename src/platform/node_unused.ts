/** Connections over which nothing has come yet. */
import type { Server } from "node:http";
import type { Socket } from "node:net";

/** What ends them: Node takes such a connection for a busy one, and a server that closes would wait a minute for it. */
export function endOfUnused(server: Server): () => void {
  const open = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    open.add(socket);
    socket.once("close", () => open.delete(socket));
  });
  return () => {
    for (const socket of open) if (socket.bytesRead === 0) socket.destroy();
  };
}
