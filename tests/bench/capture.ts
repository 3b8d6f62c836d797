/**
 * What it costs to have the console open and requests recorded: two gateways over HTTP, one with both and one with neither, asked in
 * turn. Processor time of their processes, and the median of many rounds of how many times as much the first takes.
 *
 *     deno run --config tests/deno.json --allow-all tests/bench/capture.ts [rounds] [perMinute]
 *
 * `perMinute`: how many requests are recorded in a minute, where that is not the default. A million is each of them.
 */
import { createApp, parseConfig } from "../../src/app.ts";
import { createMemoryStore } from "../../src/state/memory_store.ts";
import { bodyFor } from "./bodies.ts";
import { streamOf } from "./own.ts";
import { streamedAnswer, wholeAnswer } from "./own_answers.ts";

const WIRE = "chat";
const CHUNKS = 200;
const LOADS = {
  "whole answer, 1 kB": { load: { bytes: 1_000 }, times: 400 },
  "whole answer, 100 kB": { load: { bytes: 100_000 }, times: 60 },
  [`stream of ${CHUNKS} chunks`]: { load: { bytes: 1_000, stream: "" }, times: 60 },
};
const WARM_ROUNDS = 8;
/** How often a page asks what is new, in milliseconds. */
const PAGE_MS = 1_000;
/** How long there was work since the page asked last, and up to which number it knows what ended. */
let [shownMs, next] = [0, 0];

if (import.meta.main) {
  const [role, ...args] = Deno.args;
  if (role === "gateway on") serveGateway(args[0]!, { record: args[1] ? { perMinute: Number(args[1]) } : {} });
  else if (role === "gateway off") serveGateway(args[0]!, false);
  else if (role === "upstream") await serveUpstream();
  else await measure(Number(role ?? 15), args);
}

function say(port: number): void {
  // deno-lint-ignore no-console -- read by who started it
  console.log(port);
}

async function serveUpstream(): Promise<void> {
  const whole = await wholeAnswer(WIRE);
  const reads = streamedAnswer(WIRE, "text", CHUNKS, 1);
  Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: ({ port }) => say(port) }, async (request) => {
    const { stream } = await request.json();
    return stream ? streamOf(reads) : new Response(whole, { headers: { "content-type": "application/json" } });
  });
}

function serveGateway(upstream: string, console: unknown): void {
  const targets = [{ upstream: "chat", model: "org/model" }];
  const config = parseConfig({
    upstreams: { chat: { driver: "chat", baseUrl: `http://127.0.0.1:${upstream}/v1` } },
    lanes: { oss: { models: { bench: { task: "chat", targets } } } },
    console,
  });
  const store = createMemoryStore({ now: Date.now, limitBytes: 1e8 });
  const app = createApp({ config, store, log: () => {} });
  Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: ({ port }) => say(port) },
    (request, info) => app.fetch(request, { remoteAddr: info.remoteAddr as Deno.NetAddr }),
  );
}

interface Started {
  port: string;
  pid: number;
  stop(): Promise<void>;
}

async function start(...args: string[]): Promise<Started> {
  const process = new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "--no-check",
      "--allow-all",
      "--config",
      "tests/deno.json",
      new URL(import.meta.url).pathname,
      ...args,
    ],
    stdout: "piped",
  }).spawn();
  const reader = process.stdout.pipeThrough(new TextDecoderStream()).getReader();
  const { value = "" } = await reader.read();
  const stop = async () => {
    process.kill();
    await reader.cancel();
    await process.status;
  };
  return { port: value.trim(), pid: process.pid, stop };
}

/** In microseconds: of every thread, to a nanosecond. */
async function cpuOf(pid: number): Promise<number> {
  let ns = 0;
  for await (const { name } of Deno.readDir(`/proc/${pid}/task`)) {
    ns += Number((await Deno.readTextFile(`/proc/${pid}/task/${name}/schedstat`)).split(" ")[0]);
  }
  return ns / 1_000;
}

async function measure(rounds: number, perMinute: readonly string[]): Promise<void> {
  const upstream = await start("upstream");
  const gateways = [await start("gateway off", upstream.port), await start("gateway on", upstream.port, ...perMinute)];
  try {
    for (const [name, { load, times }] of Object.entries(LOADS)) {
      const body = JSON.stringify(bodyFor(WIRE, load));
      const ratios: number[] = [];
      const costs: [number[], number[]] = [[], []];
      for (let round = 0; round < WARM_ROUNDS + rounds; round++) {
        const us = [0, 0];
        for (const which of round % 2 === 0 ? [0, 1] : [1, 0]) {
          us[which] = await batch(gateways[which]!, body, times, which);
        }
        if (round < WARM_ROUNDS) continue;
        ratios.push(us[1]! / us[0]!);
        for (const which of [0, 1] as const) costs[which].push(us[which]! / times);
      }
      const [off, on] = costs.map(median);
      // deno-lint-ignore no-console -- this is what it is for
      console.log(`${name}: ${off!.toFixed(0)} µs, ${on!.toFixed(0)} µs; ${median(ratios).toFixed(3)} times`);
    }
  } finally {
    for (const { stop } of [...gateways, upstream]) await stop();
  }
}

async function batch({ port, pid }: Started, body: string, times: number, isOpen: number): Promise<number> {
  const url = `http://127.0.0.1:${port}`;
  const before = await cpuOf(pid);
  const since = performance.now();
  const init = { method: "POST", headers: { "content-type": "application/json" }, body };
  const ask = async () => {
    const answer = await fetch(`${url}/oss/v1/chat/completions`, init);
    await answer.arrayBuffer();
    if (!answer.ok) throw new Error(`The gateway answered ${answer.status}`);
  };
  for (let done = 0; done < times; done += 4) await Promise.all([ask(), ask(), ask(), ask()]);
  shownMs += isOpen ? performance.now() - since : 0;
  for (; shownMs > PAGE_MS; shownMs -= PAGE_MS) {
    next = (await (await fetch(`${url}/console/api/live?since=${next}`)).json()).next;
    await (await fetch(`${url}/console/api/records`)).arrayBuffer();
  }
  return await cpuOf(pid) - before;
}

function median(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[values.length >> 1]!;
}
