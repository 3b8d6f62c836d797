/** Messages that never end: what has arrived of them stays within the gateway's memory, and others are served meanwhile. */
import { assert, assertEquals } from "@std/assert";
import { peakKb } from "../bench/server.ts";
import { frame, OPCODE, RawWebSocket } from "../sockets/raw_websocket.ts";
import type { ConfigInput } from "../support/app.ts";
import { type GatewayProcess, startGateway, statusOf } from "../support/gateway_process.ts";
import { delay } from "../support/wait.ts";
import { RARELY, report, scaled } from "./scale.ts";

const MIB = 2 ** 20;
const MEMORY = 1_024 * MIB;
/** As many sockets as the gateway opens by default with so much memory. */
const SOCKETS = 17;
/** How long the clients try, in milliseconds. */
const ATTACK_MS = scaled(20_000, 3_000, 5_000);

const secretOf = (key: string) => `secret-of-${key}-1a2b3c`;
const CHAT = JSON.stringify({ model: "sandbox", messages: [{ role: "user", content: "Hello" }] });

/** Messages that go on and on, each on one socket. */
const MESSAGES: Record<string, (write: (bytes: Uint8Array) => Promise<void>) => Promise<void>> = {
  async "one frame of 60 MiB, but for its last byte"(write) {
    await write(frame(OPCODE.text, "", { claimedLength: 60 * MIB }));
    for (let sent = 0; sent < 59; sent++) await write(new Uint8Array(MIB));
  },
  async "frame after frame, and none is the last"(write) {
    await write(frame(OPCODE.text, new Uint8Array(MIB), { isLast: false }));
    const more = frame(OPCODE.continuation, new Uint8Array(MIB), { isLast: false });
    for (;;) await write(more);
  },
};

for (const attackers of RARELY.ignore ? [2] : [1, 2, 20]) {
  for (const [what, send] of Object.entries(MESSAGES)) {
    const keys = attackers === 1 ? "one key sends" : `${attackers} keys send`;
    Deno.test(`socket memory: ${keys} ${what}`, () => attack(attackers, send));
  }
}

async function attack(attackers: number, send: (typeof MESSAGES)[string]): Promise<void> {
  const names = ["neighbour", ...Array.from({ length: attackers }, (_, at) => `attacker${at}`)];
  await withGateway(names, async (gateway) => {
    const port = Number(new URL(gateway.url).port);
    const clients = new Set<RawWebSocket>();
    let isOver = false;
    let sent = 0;
    const attackOnce = async (key: string) => {
      const client = await RawWebSocket.open(port, undefined, secretOf(key));
      clients.add(client);
      try {
        await send(async (bytes) => {
          if (isOver) throw new Error("Enough");
          await client.write(bytes);
          sent += bytes.length;
        });
        await client.readToEnd();
      } finally {
        client.close();
        clients.delete(client);
      }
    };
    const attackAgain = async (at: number) => {
      while (!isOver) {
        await attackOnce(`attacker${at % attackers}`).catch(() => {}); // it is refused, or was ended
        await delay(20);
      }
    };
    const attacking = Promise.all(Array.from({ length: Math.max(attackers, SOCKETS) }, (_, at) => attackAgain(at)));
    const statuses = await callFor(ATTACK_MS, gateway);
    isOver = true;
    for (const client of clients) client.close();
    await attacking;
    const peak = peakKb(gateway.pid)! / 1024;
    report(
      `${(sent / MIB).toFixed(0)} MiB were sent, ${peak.toFixed(0)} MiB held at most, ${statuses.length} others served`,
    );
    assert(statuses.length > 0);
    assertEquals(statuses.filter((status) => status !== 200), []);
    assert(peak < MEMORY / MIB, `${peak} MiB`);
  });
}

/** Sends small requests of another key for so many milliseconds, at least one, and returns their statuses. */
async function callFor(ms: number, { url }: GatewayProcess): Promise<number[]> {
  const statuses: number[] = [];
  for (const end = performance.now() + ms; performance.now() < end;) {
    const headers = { authorization: `Bearer ${secretOf("neighbour")}`, "content-type": "application/json" };
    statuses.push(await statusOf(`${url}/oss/v1/chat/completions`, { method: "POST", headers, body: CHAT }));
    await delay(20);
  }
  return statuses;
}

async function withGateway(names: readonly string[], use: (gateway: GatewayProcess) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir();
  const config: ConfigInput = {
    upstreams: { sandbox: { driver: "sandbox" } },
    lanes: { oss: { models: { sandbox: { task: "chat", targets: [{ upstream: "sandbox", model: "sandbox" }] } } } },
    keys: names.map((name) => ({ name, secret: { env: name.toUpperCase() } })),
    store: { kind: "memory" },
    limits: { memoryBytes: MEMORY },
  };
  await Deno.writeTextFile(`${folder}/gateway.json`, JSON.stringify(config));
  const env = Object.fromEntries(names.map((name) => [name.toUpperCase(), secretOf(name)]));
  const gateway = await startGateway(`${folder}/gateway.json`, [], undefined, env);
  try {
    await use(gateway);
  } finally {
    await gateway.kill();
    await Deno.remove(folder, { recursive: true });
  }
}
