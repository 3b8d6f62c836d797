/**
 * Claim: code that takes 40 µs where it runs again and again adds three to nine times as much to a request, in the same process.
 * At least a part of that is the processor's caches, which the kernel, the engine, the client and the upstream use between two
 * requests: a loop that uses other memory before each run takes two to five times as long as well. So a server written by hand,
 * with no more than the safeguards that no gateway can leave out and 40 µs of such code, takes more than 2.5 times what bare takes
 * by `fetch`, and more than 1.8 times by `node:http`. `deno run --allow-all` prints what 500 small functions take in both loops,
 * and what they add to a request.
 */
import { bodyFor } from "../bodies.ts";
import { costOf, POSTS, serveGuarded } from "../by_hand.ts";
import { Connection, postBytes } from "../client.ts";
import { BARE, startGateway, startUpstream } from "../gateways.ts";
import { manyFunctions } from "../many_functions.ts";
import { stopPrograms } from "../program.ts";
import { type Server, startServer, stopServers } from "../server.ts";
import { quantile } from "../table.ts";

const [UPSTREAM, TRANSPORT, FUNCTIONS] = Deno.args;
const [MANY, LOOPS, WARM_ROUNDS, ROUNDS] = [500, 300, 2, 8];
const [OTHER_BYTES, CACHE_LINE] = [32 * 2 ** 20, 64];
const PATH = "/v1/chat/completions";

function serve(upstream: string, transport: string, run: () => void): void {
  serveGuarded(upstream, POSTS[transport]!, PATH, async (text, post) => {
    if (text === '"loops"') return JSON.stringify(loopsOf(run));
    run();
    return await post(text);
  });
}

/** What one run takes in a loop that does nothing else, and in one that uses other memory before each; in microseconds. */
function loopsOf(run: () => void): number[] {
  const others = new Uint8Array(OTHER_BYTES);
  return [0, OTHER_BYTES].map((bytes) => {
    const times = Array.from({ length: LOOPS }, () => {
      for (let at = 0; at < bytes; at += CACHE_LINE) others[at]!++;
      const began = performance.now();
      run();
      return 1_000 * (performance.now() - began);
    });
    return quantile(times, 0.5);
  });
}

async function askForLoops({ origin }: Server): Promise<[alone: number, besideOthers: number]> {
  const connection = await Connection.open(origin);
  let text = "";
  await connection.ask(postBytes(origin + PATH, "loops"), (bytes) => text += new TextDecoder().decode(bytes));
  connection.close();
  return JSON.parse(text);
}

async function compare(): Promise<void> {
  const { origin } = await startUpstream();
  const start = (transport: string, functions: number) =>
    startServer([import.meta.url, origin, transport, String(functions)]);
  const having = await start("fetch", MANY);
  const servers = {
    "bare": await startGateway(BARE, origin),
    "by fetch, without them": await start("fetch", 0),
    "by fetch, with them": having,
    "by node:http, without them": await start("node", 0),
    "by node:http, with them": await start("node", MANY),
  };
  const request = postBytes(having.origin + PATH, bodyFor("chat", { bytes: 1_000 }));
  const least: Record<string, number> = {};
  const note = (name: string, us: number) => least[name] = Math.min(least[name] ?? Infinity, us);
  for (let round = -WARM_ROUNDS; round < ROUNDS; round++) {
    for (const count of [1, 32]) {
      for (const [name, { origin, pid }] of Object.entries(servers)) {
        const us = await costOf({ origin, pid, request }, count);
        if (round >= 0) note(`${name}, connections: ${count}`, us);
      }
    }
    const [alone, besideOthers] = await askForLoops(having);
    note("the functions in a loop", alone);
    note("the functions in a loop that uses 32 MB before each run", besideOthers);
  }
  await stopServers();
  await stopPrograms();
  const lines = Object.entries(least).map(([name, us]) => `${name}: ${us.toFixed(0)} µs${besideBare(name, us)}\n`);
  Deno.stdout.writeSync(new TextEncoder().encode(lines.join("")));

  function besideBare(name: string, us: number): string {
    const base = least[name.replace(/^by .*(?=, connections)/, "bare")];
    return base === undefined || base === us ? "" : `, ${(us / base).toFixed(2)} × bare`;
  }
}

if (UPSTREAM) serve(UPSTREAM, TRANSPORT!, manyFunctions(Number(FUNCTIONS)));
else await compare();
