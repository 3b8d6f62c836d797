/**
 * Claim: code that takes 50 µs where it runs again and again adds three to seven times as much to a request, in the same process. Between
 * two requests the kernel, the engine, the client and the upstream use the processor's caches, and the code and its data have to
 * come from memory again. `deno run --allow-all` prints what 500 small functions take in a loop, and what they add to a request.
 */
import { bodyFor } from "../bodies.ts";
import { costOf, POSTS, serveGuarded } from "../by_hand.ts";
import { Connection, postBytes } from "../client.ts";
import { startUpstream } from "../gateways.ts";
import { cpuUs } from "../own.ts";
import { stopPrograms } from "../program.ts";
import { type Server, startServer, stopServers } from "../server.ts";

const [UPSTREAM, FUNCTIONS] = Deno.args;
const [MANY, LOOPS, WARM_ROUNDS, ROUNDS] = [500, 500, 2, 8];
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
  const loop = async () => {
    const us = await cpuUs(() => {
      for (let time = 0; time < LOOPS; time++) run();
    });
    return JSON.stringify(us / LOOPS);
  };
  serveGuarded(upstream, POSTS.fetch!, PATH, async (text, post) => {
    if (text === '"loop"') return await loop();
    run();
    return await post(text);
  });
}

async function inLoop({ origin }: Server): Promise<number> {
  const connection = await Connection.open(origin);
  let text = "";
  await connection.ask(postBytes(origin + PATH, "loop"), (bytes) => text += new TextDecoder().decode(bytes));
  connection.close();
  return Number(text);
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
    note("the functions in a loop", await inLoop(having));
  }
  await stopServers();
  await stopPrograms();
  const lines = Object.entries(least).map(([name, us]) => `${name}: ${us.toFixed(0)} µs\n`);
  Deno.stdout.writeSync(new TextEncoder().encode(lines.join("")));
}

if (UPSTREAM) serve(UPSTREAM, manyFunctions(Number(FUNCTIONS)));
else await compare();
