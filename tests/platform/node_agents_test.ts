import { nodeAgents } from "../../src/platform/node_agents.ts";
import type { Socket } from "node:net";
import { startRaw } from "./raw_server.ts";

for (const scheme of ["http:", "https:"] as const) {
  // Deno's `node:http` takes its own listener away at the end of an answer, and a reset may come before the agent's is there.
  Deno.test(`node agents: the error of a connection between two requests does not end the process · ${scheme}`, async () => {
    const server = await startRaw({ answer() {} });
    const agents = nodeAgents(undefined, () => true);
    try {
      const { port } = new URL(server.url);
      const socket = agents[scheme].createConnection({ host: "127.0.0.1", port: Number(port) }) as Socket;
      socket.emit("error", new Error("read ECONNRESET"));
      const closed = new Promise((resolve) => socket.once("close", resolve));
      socket.destroy();
      await closed;
    } finally {
      agents[scheme].destroy();
      await server.stop();
    }
  });
}
