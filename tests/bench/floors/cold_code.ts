/**
 * Claim: code that takes 40 µs where it runs again and again adds three to nine times as much to a request, in the same process.
 * At least a part of that is the processor's caches, which the kernel, the engine, the client and the upstream use between two
 * requests: a loop that uses other memory before each run takes two to five times as long as well.
 * `deno run --allow-all` prints what 500 small functions take in both loops, and what they add to a request.
 */
import { bodyFor } from "../bodies.ts";
import { costOf, POSTS, serveGuarded } from "../by_hand.ts";
import { Connection, postBytes } from "../client.ts";
import { startUpstream } from "../gateways.ts";
import { stopPrograms } from "../program.ts";
import { type Server, startServer, stopServers } from "../server.ts";
import { quantile } from "../table.ts";

const [UPSTREAM, FUNCTIONS] = Deno.args;
const [MANY, LOOPS, WARM_ROUNDS, ROUNDS] = [500, 300, 2, 8];
const [OTHER_BYTES, CACHE_LINE] = [32 * 2 ** 20, 64];
const PATH = "/v1/chat/completions";
const WORDS = "The words of a request, at which each of the functions looks in its own way".split(" ");

/** Each has code and objects of its own, as what a request goes through has. */
function manyFunctions(count: number): () => void {
  const functions = Array.from({ length: count }, (_, at) =>
    new Function(
      "words",
      `const found = { name${at}: words[${at % 13}], list: [words.length, ${at}], text: "" };
       for (const word of words) if (word.length > ${3 + at % 5}) found.text += word;
       return { ...found, size${at}: found.text.length + found.list[1] };`,
    ));
  return () => functions.forEach((one) => one(WORDS));
}

function serve(upstream: string, run: () => void): void {
  serveGuarded(upstream, POSTS.fetch!, PATH, async (text, post) => {
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
  const start = (functions: number) => startServer([import.meta.url, origin, String(functions)]);
  const [without, having] = [await start(0), await start(MANY)];
  const request = postBytes(without.origin + PATH, bodyFor("chat", { bytes: 1_000 }));
  const least: Record<string, number> = {};
  const note = (name: string, us: number) => least[name] = Math.min(least[name] ?? Infinity, us);
  for (let round = -WARM_ROUNDS; round < ROUNDS; round++) {
    for (const count of [1, 32]) {
      const [none, all] = [await costOf({ ...without, request }, count), await costOf({ ...having, request }, count)];
      if (round < 0) continue;
      note(`without them, connections: ${count}`, none);
      note(`with them, connections: ${count}`, all);
    }
    const [alone, besideOthers] = await askForLoops(having);
    note("the functions in a loop", alone);
    note("the functions in a loop that uses 32 MB before each run", besideOthers);
  }
  await stopServers();
  await stopPrograms();
  const lines = Object.entries(least).map(([name, us]) => `${name}: ${us.toFixed(0)} µs\n`);
  Deno.stdout.writeSync(new TextEncoder().encode(lines.join("")));
}

if (UPSTREAM) serve(UPSTREAM, manyFunctions(Number(FUNCTIONS)));
else await compare();
