/**
 * `deno run --allow-net tests/bench/floors/paced_chunks.ts`: what a paced chunk costs whoever
 * only passes it on, natively and through JavaScript. The latter is the floor of a gateway that looks into streams. The same
 * process is upstream and client, whose own cost without a gateway is taken off.
 */
import process from "node:process";

const [STREAMS, CHUNKS, PACE_MS] = [50, 150, 20];
const FRAME = new TextEncoder().encode(`data: ${"x".repeat(200)}\n\n`);
const cpuUs = () => process.cpuUsage().user + process.cpuUsage().system;
const serve = (answer: (request: Request) => Response | Promise<Response>) =>
  `http://127.0.0.1:${Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, answer).addr.port}`;

const upstream = serve(() => {
  let sent = 0;
  const pull = async (to: ReadableStreamDefaultController) => {
    await new Promise((resolve) => setTimeout(resolve, PACE_MS));
    if (sent++ < CHUNKS) to.enqueue(FRAME);
    else to.close();
  };
  return new Response(new ReadableStream({ pull }, { highWaterMark: 0 }));
});
const native = serve(async () => new Response((await fetch(upstream)).body));
const javascript = serve(async () => {
  const reader = (await fetch(upstream)).body!.getReader({ mode: "byob" });
  let buffer = new ArrayBuffer(2_048);
  const pull = async (to: ReadableStreamDefaultController) => {
    const { done, value } = await reader.read(new Uint8Array(buffer));
    if (done) return to.close();
    buffer = value.buffer;
    to.enqueue(value.slice());
  };
  return new Response(new ReadableStream({ pull }, { highWaterMark: 0 }));
});

async function chunkUs(origin: string): Promise<number> {
  const before = cpuUs();
  await Promise.all(Array.from({ length: STREAMS }, async () => (await fetch(origin)).bytes()));
  return (cpuUs() - before) / (STREAMS * CHUNKS);
}

const least = { direct: Infinity, native: Infinity, javascript: Infinity };
for (let round = 0; round < 4; round++) {
  for (const [name, origin] of Object.entries({ direct: upstream, native, javascript })) {
    least[name as keyof typeof least] = Math.min(least[name as keyof typeof least], await chunkUs(origin));
  }
}
const [passed, read] = [least.native - least.direct, least.javascript - least.direct];
Deno.stdout.writeSync(new TextEncoder().encode(
  `A paced chunk, passed on: natively ${passed.toFixed(1)} µs, through JavaScript ${read.toFixed(1)} µs, ` +
    `${(read / passed).toFixed(1)} ×\n`,
));
Deno.exit();
