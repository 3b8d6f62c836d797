/** What gateways count on a server that holds what none of them wrote, and what becomes of requests that it was not asked for. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import type { Quota } from "../../../src/contract/allowance.ts";
import { GatewayError } from "../../../src/errors.ts";
import type { Permit } from "../../../src/http/admission.ts";
import { SharedConcurrencyLimit } from "../../../src/routing/shared_concurrency.ts";
import { isRedisMissing } from "../../support/redis_server.ts";
import { until } from "../../support/wait.ts";
import { type CountingGateway, type CountingServer, startCounting } from "./counting_server.ts";

const START = Date.UTC(2026, 10, 21);
const LEASE_MS = 10_000;

interface Setting extends CountingServer {
  gateways: CountingGateway[];
  admit(at: number, name: string, quota: Quota, tokens?: number): Promise<Permit>;
  /** Runs Lua, with the names of what there is of a kind: `used`, `leases`. */
  lua(script: string, ...args: string[]): Promise<string>;
}

function test(what: string, use: (setting: Setting) => Promise<void>, count = 2): void {
  Deno.test({
    name: `counts: ${what}`,
    ignore: isRedisMissing,
    async fn() {
      const counting = await startCounting(START, 5);
      const gateways: CountingGateway[] = [];
      for (let index = 0; index < count; index++) gateways.push(await counting.gateway());
      for (const { counts } of gateways) await counts.begin();
      await until(() => gateways.every(({ counts }) => counts.gateways === count));
      try {
        await use({
          ...counting,
          gateways,
          admit: async (at, name, quota, tokens = 0) => await gateways[at]!.admission({ name, quota })!.admit(tokens),
          lua: (script, ...args) => counting.server.ask("EVAL", script, "0", ...args),
        });
      } finally {
        await counting.close();
      }
    },
  });
}

const KEYS = (kind: string) => `redis.call('KEYS', 'laneway:*:${kind}')`;
const ofAll = (kind: string, command: string) =>
  `for _, key in ipairs(${KEYS(kind)}) do redis.call('DEL', key) redis.call(${command}) end return 1`;
/** How many leases last beyond a time. */
const LEASES = `
local count = 0
for _, key in ipairs(${KEYS("leases")}) do count = count + redis.call('ZCOUNT', key, ARGV[1], '+inf') end
return count
`;
const REQUESTS = `
local sum = 0
for _, key in ipairs(${KEYS("used")}) do
  if redis.call('TYPE', key).ok == 'hash' then sum = sum + tonumber(redis.call('HGET', key, 'requests') or 0) end
end
return tostring(sum)
`;

const PLANTED: Record<string, string> = {
  "more than any number": "'HSET', key, 'requests', 'inf', 'requestsAt', '1', 'tokens', 'inf', 'tokensAt', '1'",
  "no number": "'HSET', key, 'requests', 'nan', 'requestsAt', 'nan', 'tokens', 'x', 'tokensAt', ''",
  "a count without its time": "'HSET', key, 'requests', '7', 'tokens', '7'",
  "a day without its count": `'HSET', key, 'day', '${START / 86_400_000}'`,
  "counts of a far future": "'HSET', key, 'requests', '1', 'requestsAt', '1e300', 'tokens', '1', 'tokensAt', '1e300'",
};

for (const [what, command] of Object.entries(PLANTED)) {
  test(`of ${what} that somebody has put there nothing is counted`, async ({ admit, lua, clock }) => {
    const quota = { requestsPerMinute: 2, tokensPerMinute: 1_000, tokensPerDay: 1_000 };
    await admit(0, "team", quota);
    await lua(ofAll("used", command));
    await admit(0, "team", quota, 5);
    await admit(1, "team", quota, 5);
    const refusal = await assertRejects(() => admit(0, "team", quota), GatewayError);
    assert(Number(refusal.details.retryAfter) <= 60, refusal.details.retryAfter);
    clock.ms += 60_000;
    await admit(0, "team", quota);
  });
}

test("what is not counted for one key, because something else lies there, holds up no other", async (setting) => {
  const { admit, lua, gateways: [one] } = setting;
  const quota = { requestsPerMinute: 1_000 };
  await admit(0, "spoilt", quota);
  await lua(ofAll("leases", "'SET', key, 'x'"));
  const permits = [];
  for (let count = 0; count < 120; count++) permits.push(await admit(0, "spoilt", quota));
  for (const permit of permits) permit.settle();
  one!.link.isDown = true;
  for (let count = 0; count < 7; count++) (await admit(0, "other", quota)).settle();
  one!.link.isDown = false;
  await until(async () => /\b8$/.test(await lua(REQUESTS)));
});

test("places are kept whatever lies among the gateways, or under another key", async ({ admit, lua, clock }) => {
  const quota = { concurrentRequests: 1 };
  for (let count = 0; count < 60; count++) await admit(0, `key ${count}`, quota);
  await lua("redis.call('SET', 'laneway:{gateways}:living', 'x') return 1");
  await lua(`local key = ${KEYS("leases")}[1] redis.call('DEL', key) redis.call('SET', key, 'x') return 1`);
  const keys = `
    local count = 0
    for _, key in ipairs(${KEYS("leases")}) do
      if redis.call('TYPE', key).ok == 'zset' then count = count + redis.call('ZCOUNT', key, ARGV[1], '+inf') end
    end
    return count`;
  clock.ms += LEASE_MS / 2;
  await until(async () => await lua(keys, String(clock.ms + LEASE_MS)) === ":59");
});

test("what was let in while the server was down takes its places there once it is back", async (setting) => {
  const { admit, gateways, lua, clock } = setting;
  const quota = { concurrentRequests: 4 };
  for (const { link } of gateways) link.isDown = true;
  const permits = [await admit(0, "team", quota), await admit(0, "team", quota), await admit(1, "team", quota)];
  for (const { link } of gateways) link.isDown = false;
  await until(async () => await lua(LEASES, String(clock.ms)) === ":3");
  permits.push(await admit(0, "team", quota));
  await assertRejects(() => admit(1, "team", quota));
  for (const permit of permits) permit.settle();
  await until(async () => await lua(LEASES, String(clock.ms)) === ":0");
});

test("one whose admission got lost holds one place, whether it arrived or not", async (setting) => {
  const { admit, gateways: [one], lua, clock } = setting;
  const quota = { concurrentRequests: 4, requestsPerMinute: 100 };
  const { run } = one!.link;
  one!.link.run = (script, ...call) => {
    if (!script.text.includes("atOnce")) return run(script, ...call);
    one!.link.run = run;
    return Promise.reject(new Error("The command was lost"));
  };
  const lost = await admit(0, "team", quota);
  one!.link.fate = () => (one!.link.fate = undefined, "reply lost");
  const arrived = await admit(0, "team", quota);
  await until(async () => await lua(LEASES, String(clock.ms)) === ":2");
  clock.ms += LEASE_MS - 1;
  await until(async () => await lua(LEASES, String(clock.ms + LEASE_MS)) === ":2");
  lost.settle();
  arrived.settle();
  await until(async () => await lua(LEASES, String(clock.ms)) === ":0");
}, 1);

test("an admission that arrives after its settlement counts nothing", async (setting) => {
  const { admit, gateways: [one], lua, clock } = setting;
  const quota = { concurrentRequests: 4, requestsPerMinute: 100, tokensPerDay: 1_000 };
  const { run } = one!.link;
  let arrive = () => Promise.resolve<unknown>(undefined);
  one!.link.run = (script, ...call) => {
    if (!script.text.includes("atOnce")) return run(script, ...call);
    arrive = () => run(script, ...call);
    return Promise.reject(new Error("The store did not answer within 250 ms"));
  };
  const permit = await admit(0, "team", quota, 10);
  permit.settle(5);
  await one!.link.settled();
  await until(async () => /\b1$/.test(await lua(REQUESTS)));
  await arrive();
  assertEquals([(await lua(REQUESTS)).split("\r\n")[1], await lua(LEASES, String(clock.ms))], ["1", ":0"]);
}, 1);

test("places at an upstream that were taken while the server was down are taken there, too", async (setting) => {
  const { gateways, lua, clock } = setting;
  const limits = { running: 4, waiting: 10, waitMs: 20_000 };
  const [one, two] = gateways.map(({ counts }) => new SharedConcurrencyLimit("up", limits, counts));
  const acquire = (limit = one!) => limit.acquire("a", new AbortController().signal);
  for (const { link } of gateways) link.isDown = true;
  const releases = [await acquire(), await acquire(), await acquire(two)];
  for (const { link } of gateways) link.isDown = false;
  await until(async () => await lua(LEASES, String(clock.ms)) === ":3");
  releases.push(await acquire(two));
  const waiting = acquire(two);
  await until(() => two!.load().waiting === 1);
  releases.pop()!();
  releases.push(await waiting);
  for (const release of releases) release();
  await until(async () => await lua(LEASES, String(clock.ms)) === ":0");
});

Deno.test({
  name: "counts: a gateway that has never found the server takes as many others to be there as the configuration says",
  ignore: isRedisMissing,
  async fn() {
    const counting = await startCounting(START, 5);
    try {
      const { admission, counts, link } = await counting.gateway(4);
      link.isDown = true;
      await counts.begin();
      const quota = { requestsPerMinute: 60 };
      let count = 0;
      for (; count < 60; count++) {
        try {
          await admission({ name: "team", quota })!.admit(0);
        } catch {
          break;
        }
      }
      assertEquals(count, 15);
      link.isDown = false;
      await until(() => counts.gateways === 1);
    } finally {
      await counting.close();
    }
  },
});
