/**
 * Claim: a gateway that reads the request, sends a Blob and writes what it reads of the answer takes 0.06 to 0.18 ms longer until the
 * first byte of a stream than a bare passthrough. One that waits for the first content before it answers, so that it can still ask
 * another target, waits for a second chunk of the upstream: 0.01 to 0.04 ms more. One that runs 500 small functions as well, which
 * take 40 µs in a loop, takes more than 0.3 ms longer than bare. `deno run --allow-all` prints the medians, in milliseconds.
 */
import { bodyFor, type Load } from "../bodies.ts";
import { Connection, postBytes } from "../client.ts";
import { BARE, laneway, requestTo, startGateway, startUpstream } from "../gateways.ts";
import { manyFunctions } from "../many_functions.ts";
import { stopPrograms } from "../program.ts";
import { startServer, stopServers } from "../server.ts";
import { quantile } from "../table.ts";

const [UPSTREAM, WAITS, FUNCTIONS = "0"] = Deno.args;
const [WARM_UP, REQUESTS, ROUNDS] = [1_500, 100, 10];
const LOAD: Load = { bytes: 1_000, stream: "chunks=3" };
const decoder = new TextDecoder();
const TYPE = { "content-type": "text/event-stream" };

if (UPSTREAM) serve(UPSTREAM);
else await compare();

function serve(upstream: string): void {
  const run = manyFunctions(Number(FUNCTIONS));
  Deno.serve({ hostname: "127.0.0.1", port: 0 }, async (request) => {
    const { pathname } = new URL(request.url);
    if (pathname === "/healthz") return new Response("ok");
    run();
    const body = new Blob([JSON.stringify(JSON.parse(await request.text()))]);
    const headers = { "content-type": "application/json" };
    const answer = await fetch(upstream + pathname, { method: "POST", headers, body });
    const reader = answer.body!.getReader({ mode: "byob" });
    const first: Uint8Array<ArrayBuffer>[] = [];
    while (WAITS) {
      const { value } = await reader.read(new Uint8Array(16_384));
      first.push(value!);
      if (decoder.decode(value).includes('"content":"')) break;
    }
    const pull = async (controller: ReadableByteStreamController) => {
      if (first.length > 0) return controller.enqueue(first.shift()!);
      const { value, done } = await reader.read(new Uint8Array(16_384));
      if (done) controller.close();
      else controller.enqueue(value);
    };
    return new Response(new ReadableStream({ type: "bytes", pull }), { headers: TYPE });
  });
}

async function compare(): Promise<void> {
  const { origin } = await startUpstream();
  const gateway = laneway();
  const [bare, read, waiting, busy, own] = [
    await startGateway(BARE, origin),
    await startServer([import.meta.url, origin]),
    await startServer([import.meta.url, origin, "waits"]),
    await startServer([import.meta.url, origin, "waits", "500"]),
    await startGateway(gateway, origin),
  ];
  const plain = (origin: string) => postBytes(`${origin}/v1/chat/completions`, bodyFor("chat", LOAD));
  const subjects = [
    { name: "passed on", origin: bare.origin, request: plain(bare.origin) },
    { name: "read and written", origin: read.origin, request: plain(read.origin) },
    { name: "the same, from the first content on", origin: waiting.origin, request: plain(waiting.origin) },
    { name: "the same, with small functions", origin: busy.origin, request: plain(busy.origin) },
    { name: "Laneway", origin: own.origin, request: requestTo(gateway, "chat", own.origin, LOAD) },
  ].map((subject) => ({ ...subject, times: [] as number[] }));
  for (const { origin, request } of subjects) await ask(origin, request, WARM_UP);
  for (let round = 0; round < ROUNDS; round++) {
    for (const { origin, request, times } of subjects) times.push(...await ask(origin, request, REQUESTS));
  }
  await stopServers();
  await stopPrograms();
  const lines = subjects.map(({ name, times }) => `${name}: ${quantile(times, 0.5).toFixed(2)} ms\n`);
  Deno.stdout.writeSync(new TextEncoder().encode(lines.join("")));
}

/** When the first byte of each answer came. */
async function ask(origin: string, request: Uint8Array, count: number): Promise<number[]> {
  const connection = await Connection.open(origin);
  const times: number[] = [];
  while (times.length < count) times.push((await connection.ask(request)).firstByteMs);
  connection.close();
  return times;
}
