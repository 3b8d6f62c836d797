/** Connections over which nothing has come yet. */
import type { Server } from "node:http";
import type { Socket } from "node:net";

/** Returns a function that ends them. Node takes them for busy ones, and a server that closes would wait a minute for them. */
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
