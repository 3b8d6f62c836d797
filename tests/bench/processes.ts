/**
 * What a second process on a second core brings. The load generator and the upstream share the cores, so what they take is
 * taken out: answers are counted per second of the gateways' own processor time, times the processes.
 */
import type { Connection } from "./client.ts";
import { type Gateway, requestTo, startGateway } from "./gateways.ts";
import { treeCpuUs } from "./process_tree.ts";
import type { Started } from "./program.ts";
import type { Figure, Values } from "./table.ts";
import { askAll, withConnections } from "./traffic.ts";

export const PROCESS_FIGURES: Record<string, Figure> = {
  one: { label: "answers of one process, alone on its core", unit: "1/s", digits: 0 },
  two: { label: "answers of two processes on two cores", unit: "1/s", digits: 0 },
  gain: { label: "two ÷ one", unit: "×", digits: 2 },
};

const CONNECTIONS = 16;

export async function measureProcesses(gateway: Gateway, upstream: string, lastsMs: number): Promise<Values> {
  const servers = [await startGateway(gateway, upstream), await startGateway(gateway, upstream)];
  try {
    for (const server of servers) await rateOf(gateway, [server], lastsMs);
    const one = await rateOf(gateway, servers.slice(0, 1), lastsMs);
    const two = await rateOf(gateway, servers, lastsMs);
    return { one, two, gain: two / one };
  } finally {
    for (const server of servers) await server.stop();
  }
}

async function rateOf(gateway: Gateway, servers: readonly Started[], lastsMs: number): Promise<number> {
  const cpu = () => servers.reduce((sum, { pid }) => sum + treeCpuUs(pid), 0);
  const before = cpu();
  const counts = await Promise.all(
    servers.map((server) =>
      withConnections({ server }, CONNECTIONS, async (connections: Connection[]) => {
        return (await askAll(connections, requestTo(gateway, "chat", server.origin, { bytes: 1_000 }), lastsMs)).count;
      })
    ),
  );
  const count = counts.reduce((sum, more) => sum + more, 0);
  return servers.length * count / ((cpu() - before) / 1e6);
}
