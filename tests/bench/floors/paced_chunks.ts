/**
 * `deno run --allow-net tests/bench/floors/paced_chunks.ts`: what a paced chunk costs whoever only passes it on, natively and
 * through JavaScript, whoever does that with what keeps a gateway safe (limits of an event and of the stream, comments for a client
 * that waits, an end to an upstream that is silent or whose client left), and whoever reads its JSON and writes it again, in one
 * function and with no safeguard. The last two are the floor of a gateway that translates streams. The same process is upstream
 * and client, whose own cost without a gateway is taken off.
 *
 * A paced chunk finds little of its code in the processor's caches, so its JSON is not what is dear. V8's collector with one thread
 * was no cheaper, and a young generation of 1 MB was dearer.
 */
import process from "node:process";

const [STREAMS, CHUNKS, PACE_MS] = [50, 150, 20];
const [encoder, decoder] = [new TextEncoder(), new TextDecoder()];
const DELTA = { id: "chatcmpl-1", model: "bench", choices: [{ index: 0, delta: { content: "x".repeat(100) } }] };
const FRAME = encoder.encode(`data: ${JSON.stringify(DELTA)}\n\n`);
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
const [MOST_BYTES, SILENT_MS, LATE_MS, WATCH_MS] = [32 * 1024 * 1024, 15_000, 300_000, 5_000];
const native = serve(async () => new Response((await fetch(upstream)).body));
const readBy = (change: (bytes: Uint8Array<ArrayBuffer>) => Uint8Array<ArrayBuffer>) =>
  serve(async () => {
    const reader = (await fetch(upstream)).body!.getReader({ mode: "byob" });
    let buffer = new ArrayBuffer(2_048);
    const pull = async (to: ReadableStreamDefaultController) => {
      const { done, value } = await reader.read(new Uint8Array(buffer));
      if (done) return to.close();
      buffer = value.buffer;
      to.enqueue(change(value));
    };
    return new Response(new ReadableStream({ pull }, { highWaterMark: 0 }));
  });
const javascript = readBy((bytes) => bytes.slice());
const guarded = serve(async ({ signal }) => {
  const over = new AbortController();
  signal.addEventListener("abort", () => over.abort(), { once: true });
  const reader = (await fetch(upstream, { signal: over.signal })).body!.getReader({ mode: "byob" });
  let [buffer, length, open, came] = [new ArrayBuffer(2_048), 0, 0, performance.now()];
  let to: ReadableStreamDefaultController;
  const watch = setInterval(() => {
    const silentMs = performance.now() - came;
    if (silentMs > SILENT_MS) to.enqueue(encoder.encode(": keep-alive\n\n"));
    if (silentMs > LATE_MS) over.abort();
  }, WATCH_MS);
  const pull = async (controller: typeof to) => {
    to = controller;
    const { done, value } = await reader.read(new Uint8Array(buffer));
    came = performance.now();
    if (done) return clearInterval(watch), to.close();
    buffer = value.buffer;
    const end = value.lastIndexOf(10) + 1;
    open = end === 0 ? open + value.length : value.length - end;
    length += value.length;
    if (open > MOST_BYTES || length > 10 * MOST_BYTES) over.abort();
    to.enqueue(value.slice());
  };
  return new Response(new ReadableStream({ pull, cancel: () => over.abort() }, { highWaterMark: 0 }));
});
const json = readBy((bytes) => {
  const { choices: [{ delta: { content } }] } = JSON.parse(decoder.decode(bytes).slice(6));
  const event = { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: content } };
  return encoder.encode(`event: content_block_delta\ndata: ${JSON.stringify(event)}\n\n`);
});

async function chunkUs(origin: string): Promise<number> {
  const before = cpuUs();
  await Promise.all(Array.from({ length: STREAMS }, async () => (await fetch(origin)).bytes()));
  return (cpuUs() - before) / (STREAMS * CHUNKS);
}

const origins = { direct: upstream, native, javascript, guarded, json };
const least = { direct: Infinity, native: Infinity, javascript: Infinity, guarded: Infinity, json: Infinity };
for (let round = 0; round < 4; round++) {
  for (const name of Object.keys(origins) as (keyof typeof origins)[]) {
    least[name] = Math.min(least[name], await chunkUs(origins[name]));
  }
}
const us = (name: keyof typeof least) => (least[name] - least.direct).toFixed(1);
Deno.stdout.writeSync(encoder.encode(
  `A paced chunk, passed on natively ${us("native")} µs, through JavaScript ${us("javascript")} µs, ` +
    `with safeguards ${us("guarded")} µs, ` +
    `with its JSON read and written ${us("json")} µs\n`,
));
Deno.exit();
