/**
 * Claim: V8 compiles on for thousands of requests. Those of a gateway's first seconds cost twice what later ones do, and the same
 * is true of a program of ten lines, so no bench that asks a few hundred shows what a request costs. Prints the CPU of a request,
 * by the two thousand.
 */
import { BARE, laneway, requestTo, startGateway, startUpstream } from "../gateways.ts";
import { treeCpuUs } from "../process_tree.ts";
import { stopPrograms } from "../program.ts";
import { withConnections } from "../traffic.ts";

const [CONNECTIONS, REQUESTS, STEPS] = [32, 2_000, 12];

const { origin } = await startUpstream();
for (const gateway of [BARE, laneway(), laneway("Laneway, node", { transport: "node" })]) {
  const server = await startGateway(gateway, origin);
  const request = requestTo(gateway, "chat", server.origin, { bytes: 1_000 });
  const costs = await withConnections({ server }, CONNECTIONS, async (connections) => {
    const costs: string[] = [];
    while (costs.length < STEPS) {
      const before = treeCpuUs(server.pid);
      await Promise.all(connections.map(async (connection) => {
        for (let asked = 0; asked < REQUESTS / CONNECTIONS; asked++) await connection.ask(request);
      }));
      costs.push(((treeCpuUs(server.pid) - before) / REQUESTS).toFixed(0));
    }
    return costs;
  });
  // deno-lint-ignore no-console -- the report
  console.log(`${gateway.name}: ${costs.join(" ")} µs`);
}
await stopPrograms();
Deno.exit();
