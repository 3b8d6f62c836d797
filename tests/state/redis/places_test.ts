/** The places at an upstream that several gateways count together on a real server, and targets that rest. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { SharedConcurrencyLimit } from "../../../src/routing/shared_concurrency.ts";
import { testConcurrency } from "../../routing/concurrency_contract.ts";
import { CHAT, chatBody, ENV, newApp, type TestApp, TWO_UPSTREAMS } from "../../support/app.ts";
import { answerWhole } from "../../support/chat.ts";
import { fakeUpstream } from "../../support/fake_upstream.ts";
import { isRedisMissing, startRedis } from "../../support/redis_server.ts";
import { delay, until } from "../../support/wait.ts";
import { type CountingGateway, type CountingServer, startCounting } from "./counting_server.ts";

const NEVER = new AbortController().signal;
const LIMITS = { running: 5, waiting: 1_000, waitMs: 20_000 };
const START = Date.UTC(2026, 10, 21);

testConcurrency("on a server", async (use) => {
  const counting = await startCounting(START);
  try {
    const { counts } = await counting.gateway();
    await use((limits) => Promise.resolve(new SharedConcurrencyLimit("up", limits, counts)));
  } finally {
    await counting.close();
  }
}, { ignore: isRedisMissing });

interface Setting extends CountingServer {
  gateways: CountingGateway[];
  limits: SharedConcurrencyLimit[];
}

function test(what: string, use: (setting: Setting) => Promise<void>): void {
  Deno.test({
    name: `places: ${what}`,
    ignore: isRedisMissing,
    async fn() {
      const counting = await startCounting(START, 5);
      try {
        const gateways: CountingGateway[] = [];
        for (let index = 0; index < 4; index++) gateways.push(await counting.gateway());
        for (const { counts } of gateways) await counts.begin();
        await until(() => gateways.every(({ counts }) => counts.gateways === 4));
        const limits = gateways.map(({ counts }) => new SharedConcurrencyLimit("up", LIMITS, counts));
        await use({ ...counting, gateways, limits });
      } finally {
        await counting.close();
      }
    },
  });
}

test("no more than five run on four gateways, all who wait get their turn, and none of the gateways is left out", async ({ limits }) => {
  let running = 0;
  let most = 0;
  let taken = 0;
  const served = new Set<number>();
  const { promise: fiveRun, resolve } = Promise.withResolvers<void>();
  await Promise.all(Array.from({ length: 60 }, async (_, index) => {
    do {
      const release = await limits[index % 4]!.acquire("a", NEVER);
      most = Math.max(most, ++running);
      // The first five found places that nobody had.
      if (++taken > 5) served.add(index % 4);
      if (running === 5) resolve();
      await fiveRun;
      await delay(1);
      running--;
      release();
    } while (served.size < 4);
  }));
  assertEquals([most, running], [5, 0]);
  assertEquals(limits.map((limit) => limit.load()), limits.map(() => ({ running: 0, waiting: 0 })));
});

test("while the server is down each gateway has its share, and one may always run", async ({ gateways, limits }) => {
  for (const { link } of gateways) link.isDown = true;
  const [one, two] = limits;
  const release = await one!.acquire("a", NEVER);
  const waiting = one!.acquire("a", NEVER);
  await two!.acquire("a", NEVER);
  assertEquals([one!.load(), two!.load()], [{ running: 1, waiting: 1 }, { running: 1, waiting: 0 }]);
  release();
  (await waiting)();
});

test("the places of a dead gateway are free once its leases end", async ({ gateways, limits, clock, server }) => {
  for (let count = 0; count < 5; count++) await limits[0]!.acquire("a", NEVER);
  gateways[0]!.link.isDown = true;
  const waiting = limits[1]!.acquire("a", NEVER);
  await until(() => limits[1]!.load().waiting === 1);
  clock.ms += 10_001;
  (await waiting)();
  // What is taken and not known to be is given back.
  gateways[1]!.link.losesReplies = 1;
  (await limits[1]!.acquire("a", NEVER))();
  await until(async () => (await server.ask("EVAL", RUNNING, "0", String(clock.ms))) === ":0");
});

const RUNNING = `
local count = 0
for _, key in ipairs(redis.call('KEYS', 'laneway:*:leases')) do count = count + redis.call('ZCOUNT', key, ARGV[1], '+inf') end
return count
`;

Deno.test({
  name: "places: who waits too long on a gateway, or leaves, holds nothing on any",
  ignore: isRedisMissing,
  async fn() {
    const counting = await startCounting(START);
    try {
      const [one, two] = [await counting.gateway(), await counting.gateway()];
      const limits = { running: 1, waiting: 5, waitMs: 30 };
      const [here, there] = [one, two].map(({ counts }) => new SharedConcurrencyLimit("up", limits, counts));
      const release = await here!.acquire("a", NEVER);
      await assertRejects(() => there!.acquire("a", NEVER), Error, "no place within 30 ms");
      limits.waitMs = 10_000;
      const gone = new AbortController();
      const left = there!.acquire("a", gone.signal);
      gone.abort(new Error("left"));
      await assertRejects(() => left, Error, "left");
      release();
      await one.link.settled();
      (await there!.acquire("a", NEVER))();
      await two.link.settled();
      (await here!.acquire("a", NEVER))();
    } finally {
      await counting.close();
    }
  },
});

Deno.test({
  name:
    "places: a target that fails again and again on one gateway is asked last by the others, without their asking it",
  ignore: isRedisMissing,
  async fn() {
    const server = await startRedis();
    const ids = { first: 0, second: 0 };
    const upstream = () =>
      fakeUpstream(({ url }) => {
        const isFirst = url.hostname === "first.test";
        ids[isFirst ? "first" : "second"]++;
        return isFirst ? Response.json({ error: { message: "Overloaded" } }, { status: 503 }) : answerWhole();
      });
    const open = () =>
      newApp({
        config: { ...TWO_UPSTREAMS, store: { kind: "redis", url: { env: "STORE_URL" } } },
        env: { ...ENV, STORE_URL: server.url },
        fetch: upstream().fetch,
        store: undefined,
        now: Date.now,
        monotonic: () => performance.now(),
      });
    const apps = [open(), open()] as [TestApp, TestApp];
    const ask = async (app: TestApp, count: number) => {
      const messages = [{ role: "user", content: `Hello ${count}` }];
      const response = await app.post(CHAT, chatBody({ messages }));
      await response.body?.cancel();
      assertEquals(response.status, 200);
    };
    const restsAt = async (app: TestApp) =>
      (await (await app.get("/status")).text()).includes('"resting":["org/model"]');
    try {
      await ask(apps[1], 0);
      for (let count = 1; count < 20 && !await restsAt(apps[0]); count++) await ask(apps[0], count);
      assert(await restsAt(apps[0]));
      await until(() => restsAt(apps[1]));
      const before = ids.first;
      await ask(apps[1], 99);
      assertEquals(ids.first, before);
    } finally {
      for (const app of apps) await app.close();
      await server.stop();
    }
  },
});
