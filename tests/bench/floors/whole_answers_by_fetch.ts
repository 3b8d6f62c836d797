/**
 * Claim: a gateway that reads what it passes on, and sends it by `fetch` as a Blob under one time limit, takes about twice the
 * processor time of one that does not, before it does any work of its own. `deno run --allow-all` prints both, by the request.
 */
import { bodyFor } from "../bodies.ts";
import { BARE, startGateway, startUpstream } from "../gateways.ts";
import { stopPrograms } from "../program.ts";
import { Connection, postBytes } from "../client.ts";
import { cpuUs, type Server, startServer, stopServers } from "../server.ts";

const [UPSTREAM] = Deno.args;
const [CONNECTIONS, REQUESTS, ROUNDS] = [32, 100, 7];

if (UPSTREAM) serve(UPSTREAM);
else await compare();

function serve(upstream: string): void {
  Deno.serve({ hostname: "127.0.0.1", port: 0 }, async (request) => {
    const { pathname } = new URL(request.url);
    if (pathname === "/healthz") return new Response("ok");
    const asked = JSON.parse(await request.text());
    const headers = { "content-type": "application/json" };
    const abort = new AbortController();
    const timer = setTimeout(() => abort.abort(), 60_000);
    const init = { method: "POST", headers, body: new Blob([JSON.stringify(asked)]), signal: abort.signal };
    const answer = await fetch(upstream + pathname, init);
    const text = JSON.stringify(JSON.parse(await answer.text()));
    clearTimeout(timer);
    return new Response(text, { headers });
  });
}

async function compare(): Promise<void> {
  const upstream = await startUpstream();
  const servers = [await startGateway(BARE, upstream.origin), await startServer([import.meta.url, upstream.origin])];
  const least = [Infinity, Infinity];
  for (let round = 0; round < ROUNDS; round++) {
    for (const [at, server] of servers.entries()) least[at] = Math.min(least[at]!, await cost(server));
  }
  const [passed, read] = least.map((us) => Math.round(us));
  await stopServers();
  await stopPrograms();
  Deno.stdout.writeSync(new TextEncoder().encode(`passed on: ${passed} µs; read and sent: ${read} µs a request\n`));
}

async function cost({ origin, pid }: Pick<Server, "origin" | "pid">): Promise<number> {
  const request = postBytes(`${origin}/v1/chat/completions`, bodyFor("chat", { bytes: 1_000 }));
  const connections = await Promise.all(Array.from({ length: CONNECTIONS }, () => Connection.open(origin)));
  const before = cpuUs(pid) ?? 0;
  await Promise.all(connections.map(async (connection) => {
    for (let sent = 0; sent < REQUESTS; sent++) await connection.ask(request);
  }));
  const spent = (cpuUs(pid) ?? 0) - before;
  for (const connection of connections) connection.close();
  return spent / (CONNECTIONS * REQUESTS);
}
