/** CPU of 200 chunks at once by each transport, interleaved; `deno run -A tests/bench/floors/reading_streams.ts`. */
import { fetchTransport } from "../../../src/platform/fetch_transport.ts";
import { nodeTransport } from "../../../src/platform/node_transport.ts";

const ROUNDS = 8;
const CALLS = 100;
const { signal } = new AbortController();
const answer = JSON.stringify({ text: "x".repeat(1_000) });
const source =
  `Deno.serve({hostname:"127.0.0.1",port:0,onListen:(a)=>console.log(a.port)},()=>{const e=new TextEncoder().encode("data: "+"x".repeat(180)+"\\n\\n");return new Response(new ReadableStream({start(c){for(let i=0;i<200;i++)c.enqueue(e);c.close()}}))})`;
const server = new Deno.Command(Deno.execPath(), { args: ["eval", source], stdout: "piped" }).spawn();
const port = new TextDecoder().decode((await server.stdout.getReader().read()).value).trim();
const url = `http://127.0.0.1:${port}/`;
const least: Record<string, number> = {};
for (let round = 0; round < ROUNDS; round++) {
  for (const [name, transport] of Object.entries({ fetch: fetchTransport(fetch), node: nodeTransport() })) {
    const before = process.cpuUsage();
    for (let call = 0; call < CALLS; call++) {
      const { body } = await transport.send({ url, method: "POST", headers: {}, body: answer, signal });
      while (await body!.read());
    }
    const { user, system } = process.cpuUsage(before);
    least[name] = Math.min(least[name] ?? Infinity, (user + system) / CALLS);
    transport.close();
  }
}
server.kill();
// deno-lint-ignore no-console -- its result
for (const [name, micros] of Object.entries(least)) console.log(`${name}: ${micros.toFixed(0)} µs of CPU a call`);
Deno.exit();
