/** What workers share through the keeper: limits, conversations, keys. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { type Launched, withFolder, withLaunched } from "../support/process.ts";
import { until, within } from "../support/wait.ts";
import {
  ask,
  chatBody,
  configOf,
  freePort,
  ignore,
  KEYS,
  startUpstream,
  type Status,
  withWorkers,
} from "./workers_rig.ts";

const keyed = (init: RequestInit, secret: string): RequestInit => {
  const headers = new Headers(init.headers);
  headers.set("authorization", `Bearer ${secret}`);
  return { ...init, headers };
};

const TEAM = "team";
const limited = (baseUrl: string, quota: object, changes: object = {}) => ({
  ...configOf(baseUrl),
  keys: [
    { name: TEAM, secret: { env: "TEAM_KEY" }, quota },
    { name: "guest", secret: { env: "GUEST_KEY" }, operator: true },
  ],
  ...changes,
});

/** Each over a connection of its own. */
async function statuses(url: string, count: number, secret = KEYS.TEAM_KEY): Promise<Record<number, number>> {
  const all = Array.from({ length: count }, () => ask(`${url}/oss/v1/chat/completions`, keyed(chatBody(), secret)));
  const counts: Record<number, number> = {};
  for (const { status } of await Promise.all(all)) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

const operator = { headers: { authorization: `Bearer ${KEYS.GUEST_KEY}` } };
const respond = async (url: string, body: object, secret = KEYS.GUEST_KEY) => {
  const init = keyed(chatBody(), secret);
  const response = await ask(`${url}/oss/v1/responses`, { ...init, body: JSON.stringify({ model: "m", ...body }) });
  return { status: response.status, body: await response.json() };
};

/** The process that keeps the store. */
async function keeperOf({ pid }: Launched): Promise<number> {
  const children = (await Deno.readTextFile(`/proc/${pid}/task/${pid}/children`)).trim().split(" ");
  const args = await Promise.all(children.map((child) => Deno.readTextFile(`/proc/${child}/cmdline`)));
  const keeper = args.findIndex((one) => one.includes("src/cli/keeper.ts"));
  assert(keeper >= 0, "Nothing keeps the store");
  return Number(children[keeper]);
}

function test(name: string, fn: () => Promise<void>): void {
  Deno.test({ name: `keeper: ${name}`, ignore, fn });
}

test("two a minute stay two, whichever process they come to, and whatever keeps them being killed", async () => {
  const upstream = startUpstream();
  await withWorkers(async (gateway) => {
    const { url, said, kill, ended } = gateway;
    assertEquals(await statuses(url, 40), { 200: 2, 429: 38 });
    const { workers } = await (await ask(`${url}/status`, operator)).json();
    assertEquals(workers.length, 2);
    const page = await (await ask(`${url}/metrics`, operator)).text();
    assertStringIncludes(page, "laneway_gateways 2\n");
    assertStringIncludes(page, "laneway_limits_alone 0\n");

    Deno.kill(await keeperOf(gateway), "SIGKILL");
    assertEquals(await statuses(url, 40), { 429: 40 });
    await said("The process that keeps the store ended (SIGKILL): restarting it");
    assertEquals(await statuses(url, 5, KEYS.GUEST_KEY), { 200: 5 });
    kill("SIGTERM");
    assertEquals(await within(ended), 0);
  }, limited(upstream.url, { requestsPerMinute: 2 }));
  await upstream.stop();
});

test("three at once stay three, and those of a process that is killed are free at once", async () => {
  const upstream = startUpstream();
  await withWorkers(async ({ url, said, kill, ended }) => {
    const clients: Deno.HttpClient[] = [];
    const open = async () => {
      const client = Deno.createHttpClient({});
      clients.push(client);
      const init = keyed(chatBody({ stream: true }), KEYS.TEAM_KEY);
      const response = await fetch(`${url}/oss/v1/chat/completions`, { ...init, client });
      if (response.status !== 200) await response.body?.cancel();
      return response;
    };
    const opened = await Promise.all(Array.from({ length: 30 }, open));
    const ends = opened.filter(({ status }) => status === 200).map((one) => one.text().catch(() => "broken"));
    assertEquals(ends.length, 3);
    const status = async () => await (await ask(`${url}/status`, operator)).json() as Status;
    await until(async () => (await status()).streamsOpen === 3);
    const { workers } = await status();
    const victim = workers.find(({ streamsOpen = 0 }) => streamsOpen > 0)!;
    Deno.kill(victim.pid, "SIGKILL");
    await said(`Worker ${victim.worker}: Serves again`);
    for (let count = 0; count < victim.streamsOpen!; count++) {
      await until(async () => {
        const response = await open();
        if (response.status === 200) ends.push(response.text().catch(() => "broken"));
        return response.status === 200;
      });
    }
    assertEquals((await open()).status, 429);
    upstream.release();
    const texts = await Promise.all(ends);
    assertEquals(texts.filter((text) => text.endsWith("data: [DONE]\n\n")).length, 3);
    assertEquals(texts.length - 3, victim.streamsOpen);
    kill("SIGTERM");
    assertEquals(await within(ended), 0);
    for (const client of clients) client.close();
  }, limited(upstream.url, { concurrentRequests: 3 }));
  await upstream.stop();
});

for (const store of [{ kind: "memory" }, { path: "./stored/store.sqlite3" }]) {
  test(`what one process stores the other reads: ${store.kind ?? "in a file"}`, async () => {
    const upstream = startUpstream();
    upstream.release();
    await withWorkers(async (gateway) => {
      const { url, kill, ended } = gateway;
      const { body: { id } } = await respond(url, { input: "Hello" });
      const { body: { id: background } } = await respond(url, { input: "Hello", background: true });
      const read = async (one: string) => await (await ask(`${url}/oss/v1/responses/${one}`, operator)).json();
      await until(async () => (await read(background)).status === "completed");
      const all = await Promise.all(Array.from({ length: 16 }, async () => [
        (await respond(url, { input: "Again", previous_response_id: id })).status,
        (await read(id)).status,
        (await read(background)).status,
      ]));
      assertEquals([...new Set(all.map(String))], ["200,completed,completed"]);
      assertEquals((await respond(url, { input: "Again", previous_response_id: id }, KEYS.TEAM_KEY)).status, 400);

      const keeper = await keeperOf(gateway);
      Deno.kill(keeper, "SIGKILL");
      await until(async () => await keeperOf(gateway).catch(() => keeper) !== keeper);
      // In memory they end with the process that kept them.
      const { status } = await respond(url, { input: "Again", previous_response_id: id });
      assertEquals(status, store.kind === "memory" ? 400 : 200);
      assertEquals((await respond(url, { input: "Hello" })).body.store, true);
      kill("SIGTERM");
      assertEquals(await within(ended), 0);
    }, limited(upstream.url, {}, { store }));
    await upstream.stop();
  });
}

test("a store's file that is removed is noticed by the workers, whose log and /readyz say so", async () => {
  const upstream = startUpstream();
  upstream.release();
  await withWorkers(async ({ url, pid, kill, ended, logged }) => {
    const warnings = async () => {
      const all = await Promise.all(Array.from({ length: 16 }, () => ask(`${url}/readyz`)));
      return [...new Set(await Promise.all(all.map(async (one) => String((await one.json()).warning))))];
    };
    const { body: { id } } = await respond(url, { input: "Hello" });
    assertEquals(await warnings(), ["undefined"]);
    const folder = `${await Deno.readLink(`/proc/${pid}/cwd`)}/stored`;
    for (const { name } of [...Deno.readDirSync(folder)]) await Deno.remove(`${folder}/${name}`, { recursive: true });
    await until(async () => {
      await Promise.all(Array.from({ length: 16 }, () => respond(url, { input: "Hello" })));
      return String(await warnings()) === "store-file-removed";
    });
    assertEquals((await respond(url, { input: "Again", previous_response_id: id })).status, 400);
    kill("SIGTERM");
    assertEquals(await within(ended), 0);
    const lines = (await logged).split("\n").filter((line) => line.includes('"warning":"store"'));
    assertEquals(lines.length, 2, "Each worker says it once");
  }, limited(upstream.url, {}));
  await upstream.stop();
});

test("one process and several go on with each other's days and conversations in the same file", async () => {
  const upstream = startUpstream();
  await withFolder(async (cwd) => {
    const config = limited(upstream.url, { tokensPerDay: 20 });
    await Deno.writeTextFile(`${cwd}/gateway.json`, JSON.stringify(config));
    const options = { cwd, env: KEYS };
    const stop = async ({ kill, ended }: Launched) => {
      kill("SIGTERM");
      assertEquals(await within(ended), 0);
    };
    let id = "";
    const goOn = async ({ url }: Launched) => {
      const previous = id && { previous_response_id: id };
      const { status, body } = await respond(url, { input: "Hello", ...previous });
      assertEquals(status, 200, JSON.stringify(body));
      id = body.id;
    };
    await withLaunched([], options, async (gateway) => {
      await goOn(gateway);
      await stop(gateway);
    });
    const several = ["--workers", "2", "--port", String(freePort())];
    await withLaunched(several, options, async (gateway) => {
      await gateway.said("Workers: 2 processes");
      await goOn(gateway);
      await until(async () => (await statuses(gateway.url, 1))[429] === 1);
      await stop(gateway);
    });
    await withLaunched([], options, async (gateway) => {
      await goOn(gateway);
      assertEquals(await statuses(gateway.url, 3), { 429: 3 });
      await stop(gateway);
    });
  });
  await upstream.stop();
});
