/**
 * Claim: after 20 s without work V8's memory reducer has given back 70 MB, and each of the next thousands of requests takes half as
 * much processor time again; with `--no-memory-reducer` it takes what it took. The program is the same, three processes of each.
 * `deno run --allow-all` prints the medians: microseconds of a request before and after the pause, and MB after it.
 */
import { ENGINE } from "../../../src/config/permissions.ts";
import { laneway, requestTo, startGateway, startUpstream } from "../gateways.ts";
import { treeCpuUs, treeResidentKb } from "../process_tree.ts";
import { type Started, stopPrograms } from "../program.ts";
import { quantile } from "../table.ts";
import { sleep, withConnections } from "../traffic.ts";

const [EACH, ROUNDS, REQUESTS, WIDTH, PAUSE_MS] = [3, 6, 320, 16, 20_000];
const gateway = laneway();
const WITH = ENGINE.replace(",--no-memory-reducer", "");

/** Microseconds of a request. */
async function cost(server: Started, count = REQUESTS): Promise<number> {
  const request = requestTo(gateway, "messages", server.origin, { bytes: 1_000 });
  return await withConnections({ server }, WIDTH, async (connections) => {
    const before = treeCpuUs(server.pid);
    await Promise.all(connections.map(async (connection) => {
      for (let sent = 0; sent < count / WIDTH; sent++) await connection.ask(request);
    }));
    return (treeCpuUs(server.pid) - before) / count;
  });
}

async function rounds(servers: readonly Started[]): Promise<string> {
  const costs: number[] = [];
  for (let round = 0; round < ROUNDS; round++) for (const server of servers) costs.push(await cost(server));
  return quantile(costs, 0.5).toFixed(0);
}

const { origin } = await startUpstream();
const groups = new Map<string, Started[]>([["with it", []], ["without", []]]);
for (const [name, servers] of groups) {
  const program: typeof gateway.program = async (...place) => {
    const { args, ...rest } = await gateway.program(...place);
    return { ...rest, args: name === "without" ? args : args.map((arg) => arg.replace(ENGINE, WITH)) };
  };
  while (servers.length < EACH) servers.push(await startGateway({ ...gateway, program }, origin));
  for (const server of servers) await cost(server, 10 * REQUESTS);
}
const before = new Map<string, string>();
for (const [name, servers] of groups) before.set(name, await rounds(servers));
await sleep(PAUSE_MS);
for (const [name, servers] of groups) {
  const mb = quantile(servers.map(({ pid }) => treeResidentKb(pid) / 1_024), 0.5).toFixed(0);
  const line = `${name}: ${before.get(name)} µs before, ${await rounds(servers)} µs after, ${mb} MB after the pause\n`;
  Deno.stdout.writeSync(new TextEncoder().encode(line));
}
await stopPrograms();
