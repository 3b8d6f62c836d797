/**
 * Claim: `node:http` takes half the CPU of `fetch` for 200 chunks at once, and as much as it for a whole answer of 1 kB. Each is
 * called one call after the other, interleaved: `deno run -A tests/bench/floors/reading_by_transport.ts`.
 */
import { fetchTransport } from "../../../src/platform/fetch_transport.ts";
import { nodeTransport } from "../../../src/platform/node_transport.ts";
import type { Transport } from "../../../src/platform/transport.ts";

const ROUNDS = 8;
const { signal } = new AbortController();
const text = JSON.stringify({ text: "x".repeat(1_000) });

/** What a server in a process of its own answers with, and how many calls a round has. */
const ANSWERS = {
  "a whole answer": { calls: 500, answer: `new Response('${text}')` },
  "200 chunks": {
    calls: 100,
    answer: `new Response(new ReadableStream({start(c){for(let i=0;i<200;i++)c.enqueue(chunk);c.close()}}))`,
  },
};

/** Microseconds of CPU of one of so many calls. */
async function measure(transport: Transport, url: string, calls: number): Promise<number> {
  const before = process.cpuUsage();
  for (let call = 0; call < calls; call++) {
    const { body } = await transport.send({ url, method: "POST", headers: {}, body: text, signal });
    while (await body!.read());
  }
  const { user, system } = process.cpuUsage(before);
  return (user + system) / calls;
}

for (const [what, { calls, answer }] of Object.entries(ANSWERS)) {
  const source = `const chunk = new TextEncoder().encode("data: " + "x".repeat(180) + "\\n\\n");
    Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: ({ port }) => console.log(port) }, () => ${answer})`;
  const server = new Deno.Command(Deno.execPath(), { args: ["eval", source], stdout: "piped" }).spawn();
  const port = new TextDecoder().decode((await server.stdout.getReader().read()).value).trim();
  const least: Record<string, number> = {};
  for (let round = 0; round < ROUNDS; round++) {
    for (const [name, transport] of Object.entries({ fetch: fetchTransport(fetch), node: nodeTransport() })) {
      const micros = await measure(transport, `http://127.0.0.1:${port}/`, calls);
      least[name] = Math.min(least[name] ?? Infinity, micros);
      transport.close();
    }
  }
  server.kill();
  // deno-lint-ignore no-console -- its result
  for (const [name, micros] of Object.entries(least)) console.log(`${what}, ${name}: ${micros.toFixed(0)} µs of CPU`);
}
Deno.exit();
