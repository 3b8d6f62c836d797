/**
 * Claim: a gateway that reads what it passes on takes 1.4 to 2 times the processor time of one that does not, before it does any
 * work of its own, whether it calls by `fetch` (the cheapest body that is sent once, one time limit) or by nothing but `node:http`.
 * With what no gateway can leave out it is 1.5 to 2.3 times: it hears of a client that leaves, limits the time of the body too,
 * looks into the headers, has some of its own on the answer, and writes a line. `deno run --allow-all` prints the four, by the
 * request.
 */
import { Agent, request as requestByNode } from "node:http";
import { bodyFor } from "../bodies.ts";
import { BARE, startGateway, startUpstream } from "../gateways.ts";
import { TextBody } from "../../../src/platform/text_body.ts";
import { stopPrograms } from "../program.ts";
import { Connection, postBytes } from "../client.ts";
import { cpuUs, type Server, startServer, stopServers } from "../server.ts";

const [UPSTREAM, HOW] = Deno.args;
const [CONNECTIONS, REQUESTS, ROUNDS] = [32, 100, 7];
const HEADERS = { "content-type": "application/json" };

type Post = (url: string, body: string) => Promise<string>;

async function postByFetch(url: string, body: string): Promise<string> {
  const abort = new AbortController();
  const timer = setTimeout(() => abort.abort(), 60_000);
  const init = { method: "POST", headers: HEADERS, body: new TextBody(body), signal: abort.signal };
  const text = await (await fetch(url, init)).text();
  clearTimeout(timer);
  return text;
}

const agent = new Agent({ keepAlive: true });

function postByHttp(url: string, body: string): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const headers = { ...HEADERS, "content-length": Buffer.byteLength(body) };
  const outgoing = requestByNode(url, { agent, method: "POST", headers }, (incoming) => {
    let text = "";
    incoming.setEncoding("utf8").on("data", (piece: string) => text += piece).on("end", () => resolve(text));
  });
  outgoing.on("error", reject).end(body);
  return promise;
}

if (!UPSTREAM) await compare();
else if (HOW === "guarded") serveGuarded(UPSTREAM);
else serve(UPSTREAM, HOW === "fetch" ? postByFetch : postByHttp);

function serve(upstream: string, post: Post): void {
  Deno.serve({ hostname: "127.0.0.1", port: 0 }, async (request) => {
    const { pathname } = new URL(request.url);
    if (pathname === "/healthz") return new Response("ok");
    const asked = JSON.parse(await request.text());
    const text = await post(upstream + pathname, JSON.stringify(asked));
    return new Response(JSON.stringify(JSON.parse(text)), { headers: HEADERS });
  });
}

const LOOKED_AT = ["host", "origin", "authorization", "x-api-key", "content-length", "content-encoding", "upgrade"];
const OWN = ["x-request-id", "request-id", "x-content-type-options", "x-target", "x-tokens"];

function serveGuarded(upstream: string): void {
  const lines: string[] = [];
  const print = () => void Deno.stdout.write(new TextEncoder().encode(lines.splice(0).join("")));
  Deno.serve({ hostname: "127.0.0.1", port: 0 }, async (request) => {
    const { pathname } = new URL(request.url);
    if (pathname === "/healthz") return new Response("ok");
    const began = performance.now();
    const left = new AbortController();
    request.signal.addEventListener("abort", () => left.abort(), { once: true });
    const found = LOOKED_AT.filter((name) => request.headers.has(name));
    const late = setTimeout(() => left.abort(), 30_000);
    const asked = JSON.parse(new TextDecoder().decode(await request.bytes()));
    clearTimeout(late);
    const answer = Response.json(JSON.parse(await postByFetch(upstream + pathname, JSON.stringify(asked))));
    for (const name of OWN) answer.headers.set(name, "a0b1c2d3e4f5");
    const entry = { time: new Date(), id: crypto.randomUUID(), pathname, found, ms: performance.now() - began };
    if (lines.push(`${JSON.stringify(entry)}\n`) === 1) setTimeout(print, 20);
    return answer;
  });
}

async function compare(): Promise<void> {
  const { origin } = await startUpstream();
  const servers = {
    "passed on": await startGateway(BARE, origin),
    "read and sent by fetch": await startServer([import.meta.url, origin, "fetch"]),
    "the same, guarded": await startServer([import.meta.url, origin, "guarded"]),
    "read and sent by node:http": await startServer([import.meta.url, origin, "http"]),
  };
  const least: Record<string, number> = {};
  for (let round = 0; round < ROUNDS; round++) {
    for (const [name, server] of Object.entries(servers)) {
      least[name] = Math.min(least[name] ?? Infinity, await cost(server));
    }
  }
  await stopServers();
  await stopPrograms();
  const results = Object.entries(least).map(([name, us]) => `${name}: ${Math.round(us)} µs a request\n`);
  Deno.stdout.writeSync(new TextEncoder().encode(results.join("")));
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
