/**
 * Claim: V8 compiles on for thousands of requests. Those of a gateway's first seconds cost twice what later ones do, and the same
 * is true of a program of ten lines, so no bench that asks a few hundred shows what a request costs. Prints the CPU of a request,
 * by the two thousand. With V8's own number of runs before it compiles for good, Laneway takes three times as many requests.
 */
import { ENGINE } from "../../../src/config/permissions.ts";
import { BARE, type Gateway, laneway, requestTo, startGateway, startUpstream } from "../gateways.ts";
import { treeCpuUs } from "../process_tree.ts";
import { stopPrograms } from "../program.ts";
import { withConnections } from "../traffic.ts";

const [CONNECTIONS, REQUESTS, STEPS] = [32, 2_000, 12];

function byDefault(gateway: Gateway): Gateway {
  const program: Gateway["program"] = async (...place) => {
    const { args, ...rest } = await gateway.program(...place);
    const without = ENGINE.replace(/,--invocation-count-for-turbofan=\d+/, "");
    return { ...rest, args: args.map((arg) => arg.replace(ENGINE, without)) };
  };
  return { ...gateway, name: `${gateway.name}, V8's own number`, program };
}

const { origin } = await startUpstream();
for (const gateway of [BARE, laneway(), byDefault(laneway()), laneway("Laneway, node", { transport: "node" })]) {
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
