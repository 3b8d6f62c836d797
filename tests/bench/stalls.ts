/**
 * `deno task bench:stalls [--times=<n>] [part of a case's name ...]`: what a stream notes of a heavy request or answer beside
 * it. The stream's upstream sends an event every 5 ms. Of each case it tells
 *
 * - gap: the longest that the stream's client waited for an event, by the clock;
 * - held: the longest that the gateway's one thread was busy without a look at anybody else, in processor time of that
 *   thread, so that other programs of the machine do not count;
 * - cpu: the processor time of the whole gateway.
 *
 * Each is the least of several times, because a machine that does something else makes them greater and never less.
 */
import { parseArgs } from "node:util";
import type { JsonObject } from "../../src/canonical/json.ts";
import { cpuUs, type Server, startServer, stopServers } from "./server.ts";
import { CASES, type StallCase } from "./stall_cases.ts";

interface Stall {
  gapMs: number;
  heldMs: number;
  cpuMs: number;
  answered: string;
}

/** A gap that begins with the last byte of the answer is over by then. */
const AFTER_MS = 60;
const BEFORE_MS = 30;
const PIECE_BYTES = 64 * 1024;
/** What takes longer has shown by then how it holds others up. */
const DEADLINE_MS = 20_000;
const LANES = {
  chat: { driver: "chat", batch: 2_048 },
  messages: { driver: "messages" },
  responses: { driver: "responses" },
  repairing: { driver: "chat", textForms: "parse", repairArguments: true },
  instructed: { driver: "chat", structuredOutput: "instruct" },
  hub: { driver: "hub", path: "hub" },
};
const TASKS = ["chat", "embedding", "rerank", "speech", "transcription"];

const { values: { times: timesText }, positionals: parts } = parseArgs({
  args: Deno.args,
  options: { times: { type: "string", default: "3" } },
  allowPositionals: true,
});
const cases = CASES.filter(({ name }) => parts.length === 0 || parts.some((part) => name.includes(part)));

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  Deno.addSignalListener(signal, () => void stopServers().then(() => Deno.exit(1)));
}

try {
  const upstream = await startServer([import.meta.resolve("./stall_upstream.ts")]);
  const other = await startServer([import.meta.resolve("./stall_upstream.ts")]);
  say(`| case | gap | held | cpu | answer |\n|---|--:|--:|--:|---|`);
  let gateway = await startGateway(upstream, other);
  for (const one of cases) {
    try {
      const stall = await measure(one, gateway, upstream);
      say(
        `| ${one.name} | ${round(stall.gapMs)} | ${round(stall.heldMs)} | ${round(stall.cpuMs)} | ${stall.answered} |`,
      );
    } catch (error) {
      say(`| ${one.name} | | | | ${error} |`);
      await gateway.stop();
      gateway = await startGateway(upstream, other);
    }
  }
} finally {
  await stopServers();
}

async function startGateway(heavy: Server, ping: Server): Promise<Server> {
  const folder = await Deno.makeTempDir({ prefix: "laneway-stalls-" });
  const upstreams = Object.entries(LANES).map(([name, { ...upstream }]) => {
    const path = "path" in upstream ? upstream.path : "v1";
    return [name, { ...upstream, path: undefined, baseUrl: `${heavy.origin}/${path}` }];
  });
  const served = (name: string) => {
    const { driver } = LANES[name as keyof typeof LANES];
    const tasks = driver === "chat" ? TASKS : driver === "hub" ? ["embedding", "rerank"] : ["chat"];
    return { upstreams: Object.fromEntries(tasks.map((task) => [task, name])) };
  };
  const config = {
    upstreams: { ...Object.fromEntries(upstreams), ping: { driver: "chat", baseUrl: `${ping.origin}/v1` } },
    lanes: {
      ...Object.fromEntries(Object.keys(LANES).map((name) => [name, served(name)])),
      ping: { upstreams: { chat: "ping" } },
    },
    store: { path: `${folder}/store.sqlite3` },
  };
  await Deno.writeTextFile(`${folder}/gateway.json`, JSON.stringify(config));
  return await startServer([import.meta.resolve("./metered.ts"), `${folder}/gateway.json`], folder);
}

async function measure(one: StallCase, gateway: Server, upstream: Server): Promise<Stall> {
  const prepare = async (name: string) => void await (await fetch(`${upstream.origin}/prepare/${name}`)).text();
  if (one.prepares) await prepare(one.prepares);
  const earlier = await one.before?.(gateway.origin) ?? {};
  const { request, model } = await requestOf(one, earlier, gateway.origin);
  await prepare(String(model));
  const stalls: Stall[] = [];
  for (let time = 0; time < Number(timesText); time++) {
    const ping = await openPing(gateway.origin);
    try {
      await delay(BEFORE_MS);
      await readMeter(gateway);
      const before = cpuUs(gateway.pid) ?? 0;
      ping.reset();
      const answered = await post(request, gateway.origin);
      const cpuMs = ((cpuUs(gateway.pid) ?? 0) - before) / 1_000;
      await delay(AFTER_MS);
      stalls.push({ gapMs: ping.gap(), heldMs: await readMeter(gateway), cpuMs, answered });
    } finally {
      ping.close();
    }
  }
  const least = (figure: "gapMs" | "heldMs" | "cpuMs") => Math.min(...stalls.map((stall) => stall[figure]));
  return { gapMs: least("gapMs"), heldMs: least("heldMs"), cpuMs: least("cpuMs"), answered: stalls[0]!.answered };
}

async function readMeter({ origin }: Server): Promise<number> {
  const { heldMs } = await (await fetch(`${origin}/meter`)).json();
  return heldMs;
}

/** The whole request as bytes: whoever sends it has nothing else to do, and nothing of the machine is taken but for that. */
async function requestOf({ path, body, headers = {} }: StallCase, earlier: JsonObject, origin: string) {
  const made = body(earlier);
  const isForm = made instanceof FormData;
  const content = new Response(isForm ? made : JSON.stringify(made));
  const type = isForm ? content.headers.get("content-type")! : "application/json";
  const bytes = await content.bytes();
  const model = isForm ? made.get("model") : (made as { model: string }).model;
  const { host } = new URL(origin);
  const lines = { host, "content-type": type, "content-length": bytes.length, connection: "close", ...headers };
  const head = `POST ${path} HTTP/1.1\r\n${
    Object.entries(lines).map(([name, value]) => `${name}: ${value}\r\n`).join("")
  }\r\n`;
  return { request: [new TextEncoder().encode(head), bytes], model };
}

/** Sends the request and reads to the end of the connection, or to the deadline. Tells the status and how much came. */
async function post(request: readonly Uint8Array[], origin: string): Promise<string> {
  const socket = await connect(origin);
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    socket.close();
  }, DEADLINE_MS);
  try {
    const sent = send(socket, request).catch(() => {}); // it was refused before all of it was sent
    const buffer = new Uint8Array(PIECE_BYTES);
    let status = "";
    let bytes = 0;
    const read = () => socket.read(buffer).catch(() => null);
    for (let count = await read(); count !== null; count = await read()) {
      if (bytes === 0) status = new TextDecoder().decode(buffer.subarray(9, 12));
      bytes += count;
    }
    await sent;
    const size = bytes < 10_000 ? `${bytes} B` : `${(bytes / 1e6).toFixed(1)} MB`;
    return `${status}, ${size}${isLate ? " so far" : ""}`;
  } finally {
    clearTimeout(timer);
    if (!isLate) socket.close();
  }
}

async function send(socket: Deno.TcpConn, pieces: readonly Uint8Array[]): Promise<void> {
  for (const piece of pieces) {
    for (let sent = 0; sent < piece.length;) sent += await socket.write(piece.subarray(sent, sent + PIECE_BYTES));
  }
}

function connect(origin: string): Promise<Deno.TcpConn> {
  const { hostname, port } = new URL(origin);
  return Deno.connect({ hostname, port: Number(port) });
}

/** The stream beside, from its first event on. */
async function openPing(origin: string) {
  const socket = await connect(origin);
  const body = new TextEncoder().encode(
    JSON.stringify({ model: "ping", messages: [{ role: "user", content: "Hi" }], stream: true }),
  );
  const head = `POST /ping/v1/chat/completions HTTP/1.1\r\nhost: ${new URL(origin).host}\r\n` +
    `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`;
  await send(socket, [new TextEncoder().encode(head), body]);
  const buffer = new Uint8Array(PIECE_BYTES);
  await socket.read(buffer);
  let last = performance.now();
  let longest = 0;
  const gap = () => Math.max(longest, performance.now() - last);
  const reading = (async () => {
    while (await socket.read(buffer).catch(() => null) !== null) {
      longest = gap();
      last = performance.now();
    }
  })();
  return {
    reset() {
      longest = 0;
      last = performance.now();
    },
    gap,
    async close() {
      socket.close();
      await reading;
    },
  };
}

function delay(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function round(ms: number): number {
  return Math.round(ms);
}

function say(text: string): void {
  Deno.stdout.writeSync(new TextEncoder().encode(`${text}\n`));
}
