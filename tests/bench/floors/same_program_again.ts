/**
 * Claim: of gateways that were started alike and are asked alike, one can take half as much processor time again as another, for
 * thousands of requests. It shows in some runs and not in others: V8's memory reducer, which runs while a process idles, is
 * suspected, because `--no-memory-reducer` prevented it in most trials. Whoever compares two programs on a busy machine has to start each of them several times.
 * `deno run --allow-all` prints the least of many rounds of each, by the request; its argument is how many are started.
 */
import { laneway, requestTo, startGateway, startUpstream } from "../gateways.ts";
import { treeCpuUs } from "../process_tree.ts";
import { type Started, stopPrograms } from "../program.ts";
import { withConnections } from "../traffic.ts";

const [REQUESTS, ROUNDS] = [320, 8];
const gateway = laneway();

/** Microseconds of a request, of so many by so many connections. */
async function cost(server: Started, count = REQUESTS, width = 32, stream?: string): Promise<number> {
  const request = requestTo(gateway, "messages", server.origin, { bytes: 1_000, stream });
  return await withConnections({ server }, width, async (connections) => {
    const before = treeCpuUs(server.pid);
    await Promise.all(connections.map(async (connection) => {
      for (let sent = 0; sent < count / width; sent++) await connection.ask(request);
    }));
    return (treeCpuUs(server.pid) - before) / count;
  });
}

const { origin } = await startUpstream();
const servers: Started[] = [];
for (let count = 0; count < Number(Deno.args[0] ?? 6); count++) servers.push(await startGateway(gateway, origin));
for (const server of servers) {
  await cost(server, 2_000, 1);
  await cost(server, 3_200);
  await cost(server, 300, 1, "chunks=3");
}
const least = servers.map(() => Infinity);
for (let round = 0; round < ROUNDS; round++) {
  for (const [at, server] of servers.entries()) least[at] = Math.min(least[at]!, await cost(server));
}
await stopPrograms();
Deno.stdout.writeSync(new TextEncoder().encode(`${least.map((us) => us.toFixed(0)).join(", ")} µs a request\n`));
