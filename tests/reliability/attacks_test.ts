/** Keys that take all they can of everything that callers share, all at once, and beside them a key that wants little. */
import { assert, assertEquals, assertLess } from "@std/assert";
import { mainThreadMs, peakKb, type Server, startServer } from "../bench/server.ts";
import { RawWebSocket } from "../sockets/raw_websocket.ts";
import type { ConfigInput } from "../support/app.ts";
import { word } from "../support/chat.ts";
import { delay, until, within } from "../support/wait.ts";
import { RARELY, report } from "./scale.ts";

const EVENT_MS = 10;
/** How many small requests the neighbour sends in a round. */
const ASKED = 15;
const ROUNDS = 3;
/**
 * How long the one thread may be held without a look at anybody else, in milliseconds of its processor time: 100, and as much again
 * because other programs spoil the processor's caches.
 */
const HELD_MS = 200;
/** The limit between two events of the neighbour's stream. It is higher, because this busy process may see an event late. */
const STARVED_MS = 1_000;

const keyOf = (name: string) => `secret-of-${name}-1a2b3c`;

for (
  const [attackers, memoryMiB] of [[["greedy"], 1_024], [["greedy", "other"], 1_024], [
    ["greedy", "other"],
    512,
  ]] as const
) {
  Deno.test({
    name:
      `attacks: ${attackers.length} at once with all that they have leave a neighbour its part of ${memoryMiB} MiB${RARELY.why}`,
    ignore: RARELY.ignore,
    sanitizeOps: false,
    sanitizeResources: false,
    fn: () => withGateway([...attackers, "neighbour"], memoryMiB, (gateway) => attack(gateway, attackers, memoryMiB)),
  });
}

async function attack(gateway: Server, attackers: readonly string[], memoryMiB: number): Promise<void> {
  const stream = await openStream(gateway);
  const attacking = attackers.map((name) => startAttack(gateway, name));
  try {
    await until(() => stream.events > 0);
    stream.mostMs = 0;
    const helds: number[] = [];
    for (let round = 0; round < ROUNDS; round++) helds.push(await askUnderAttack(gateway));
    // What else the machine does makes it greater, and never less.
    const held = Math.min(...helds);
    const before = stream.events;
    await until(() => stream.events > before);
    const peak = peakKb(gateway.pid)! / 1_024;
    const got = await Promise.all(attacking.map((one) => one.stop()));
    report(
      `held for ${helds.map((ms) => ms.toFixed(0)).join(", ")} ms at most, a stream for ${
        stream.mostMs.toFixed(0)
      } ms, ${peak.toFixed(0)} MiB at most; the attackers got ${got.join(" and ")}`,
    );
    assertLess(held, HELD_MS);
    assertLess(stream.mostMs, STARVED_MS);
    assertLess(peak, memoryMiB);
    assert(!stream.isOver, "The neighbour's stream ended");
  } finally {
    await Promise.all(attacking.map((one) => one.stop()));
    stream.close();
  }
}

/** Asks small things as the neighbour, each of which is answered. Returns how long the gateway's thread was held meanwhile. */
async function askUnderAttack(gateway: Server): Promise<number> {
  await readMeter(gateway);
  for (let asked = 1; asked <= ASKED; asked++) {
    assertEquals(await ask(gateway), 200);
    if (asked % 5 === 0) assertEquals(await talk(gateway), "response.completed");
    await delay(50);
  }
  return await readMeter(gateway);
}

async function withGateway(
  names: readonly string[],
  memoryMiB: number,
  use: (gateway: Server) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir();
  const upstream = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, endless);
  const config: ConfigInput = {
    upstreams: {
      sandbox: { driver: "sandbox" },
      endless: { driver: "chat", baseUrl: `http://127.0.0.1:${upstream.addr.port}/v1` },
    },
    lanes: {
      oss: {
        models: {
          sandbox: { task: "chat", targets: [{ upstream: "sandbox", model: "sandbox" }] },
          endless: { task: "chat", targets: [{ upstream: "endless", model: "endless" }] },
        },
      },
    },
    keys: names.map((name) => ({ name, secret: { env: name.toUpperCase() } })),
    store: { path: `${folder}/store.sqlite3` },
    limits: { memoryBytes: memoryMiB * 2 ** 20 },
  };
  await Deno.writeTextFile(`${folder}/gateway.json`, JSON.stringify(config));
  const env = Object.fromEntries(names.map((name) => [name.toUpperCase(), keyOf(name)]));
  const gateway = await startServer(
    [import.meta.resolve("../bench/metered.ts"), `${folder}/gateway.json`],
    folder,
    env,
  );
  try {
    await use(gateway);
  } finally {
    await gateway.stop();
    await upstream.shutdown();
  }
}

/** An upstream's stream without an end. */
function endless(): Response {
  const event = new TextEncoder().encode(word("word "));
  const body = new ReadableStream({
    async pull(controller) {
      await delay(EVENT_MS);
      controller.enqueue(event);
    },
  });
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
}

function post({ origin }: Server, body: object): Promise<Response> {
  return fetch(`${origin}/oss/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${keyOf("neighbour")}`, "content-type": "application/json" },
    body: JSON.stringify({ messages: [{ role: "user", content: "Hello" }], ...body }),
  });
}

async function ask(gateway: Server): Promise<number> {
  const response = await within(post(gateway, { model: "sandbox" }));
  await response.body?.cancel();
  return response.status;
}

/** Opens a WebSocket, and tells how its only answer ends. */
async function talk({ origin }: Server): Promise<unknown> {
  const socket = await within(RawWebSocket.open(Number(new URL(origin).port), undefined, keyOf("neighbour")));
  await socket.send({ type: "response.create", model: "sandbox", input: "Hello" });
  const events = await within(socket.turn());
  socket.close();
  return events.at(-1)?.type;
}

async function openStream(gateway: Server) {
  const response = await post(gateway, { model: "endless", stream: true });
  assertEquals(response.status, 200);
  const reader = response.body!.getReader();
  const stream = { events: 0, mostMs: 0, isOver: false, close: () => void reader.cancel().catch(() => {}) };
  let before = mainThreadMs(gateway.pid);
  void (async () => {
    while (!(await reader.read()).done) {
      stream.events++;
      const now = mainThreadMs(gateway.pid);
      stream.mostMs = Math.max(stream.mostMs, now - before);
      before = now;
    }
    stream.isOver = true;
  })().catch(() => stream.isOver = true);
  return stream;
}

async function readMeter({ origin }: Server): Promise<number> {
  const { heldMs } = await (await fetch(`${origin}/meter`)).json();
  return heldMs;
}

function startAttack({ origin }: Server, name: string) {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "--allow-all", "--no-lock", import.meta.resolve("./attacker.ts"), origin, keyOf(name)],
    stdin: "piped",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  let counts: Promise<string> | undefined;
  const end = async () => {
    await child.stdin.close();
    const text = await child.stdout.text();
    await child.status;
    return text.trim();
  };
  return { stop: () => counts ??= end() };
}
