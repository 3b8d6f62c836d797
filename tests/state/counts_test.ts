/** Gateways that count together, on a real server or at a keeper: what holds for all of them, whatever becomes of their calls. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import type { Quota } from "../../src/contract/allowance.ts";
import type { Permit } from "../../src/http/admission.ts";
import { isRedisMissing } from "../support/redis_server.ts";
import { type KeeperCounting, startKeeperCounting } from "./keeper_counting.ts";
import { until } from "../support/wait.ts";
import { type Counting, type CountingGateway, type CountingServer, startCounting } from "./redis/counting_server.ts";

const START = Date.UTC(2026, 10, 21);
const LEASE_MS = 10_000;

interface Setting extends Counting {
  gateways: CountingGateway[];
  admit(at: number, tokens?: number): Promise<Permit>;
  /** How many of `count` requests are let in, each by the next gateway. */
  letIn(count: number, tokens?: number): Promise<number>;
}

interface Options {
  count?: number;
  beatMs?: number;
  /** Absent where it holds of each kind. */
  only?: keyof typeof KINDS;
}

type Start = (start: number, beatMs?: number) => Promise<Counting> | Counting;
const KINDS: Record<"server" | "keeper", Start> = { server: startCounting, keeper: startKeeperCounting };

function test<Kind extends Counting = Counting>(
  what: string,
  quota: Quota,
  use: (setting: Setting & Kind) => Promise<void>,
  { count = 4, beatMs = 0, only }: Options = {},
) {
  for (const [kind, start] of Object.entries(KINDS)) {
    if (only !== undefined && kind !== only) continue;
    Deno.test({
      name: `counts at a ${kind}: ${what}`,
      ignore: kind === "server" && isRedisMissing,
      async fn() {
        const counting = await start(START, beatMs || undefined) as Kind;
        const gateways: CountingGateway[] = [];
        for (let index = 0; index < count; index++) gateways.push(await counting.gateway());
        const admit = async (at: number, tokens = 0) =>
          await gateways[at]!.admission({ name: "team", quota })!.admit(tokens);
        try {
          await use({
            ...counting,
            gateways,
            admit,
            async letIn(count, tokens) {
              const all = Array.from({ length: count }, (_, index) => admit(index % gateways.length, tokens));
              return (await Promise.allSettled(all)).filter(({ status }) => status === "fulfilled").length;
            },
          });
        } finally {
          await counting.close();
        }
      },
    });
  }
}

/** Everything that was settled is counted. */
const settled = ({ gateways }: Pick<Setting, "gateways">) => Promise.all(gateways.map(({ link }) => link.settled()));

test(
  "sixty a minute stay sixty, whichever of four gateways they come to",
  { requestsPerMinute: 60 },
  async (setting) => {
    const { clock, letIn } = setting;
    assertEquals(await letIn(200), 60);
    clock.ms += 10_000;
    assertEquals(await letIn(200), 10);
    clock.ms += 3_600_000;
    assertEquals(await letIn(200), 60);
  },
);

test(
  "five at once stay five, and one that ends on one gateway lets one in on another",
  { concurrentRequests: 5 },
  async (setting) => {
    const { admit, letIn } = setting;
    const first = await admit(0);
    assertEquals(await letIn(40), 4);
    first.settle();
    await settled(setting);
    await admit(3);
    await assertRejects(() => admit(1));
  },
);

test(
  "tokens that an answer used are known to all",
  { tokensPerMinute: 1_000, tokensPerDay: 5_000 },
  async (setting) => {
    const { admit, used } = setting;
    const permit = await admit(0, 100);
    assertEquals(await used(), [0, 100, 100]);
    permit.settle(800);
    await settled(setting);
    assertEquals(await used(), [0, 900, 900]);
    await admit(1, 100);
    await assertRejects(() => admit(2, 100));
    await (await admit(3, 0).catch(() => undefined))?.settle();
  },
);

test(
  "what a gateway ran that is dead counts as running until its leases end",
  { concurrentRequests: 2 },
  async (setting) => {
    const { clock, gateways, admit } = setting;
    await admit(0);
    await admit(0);
    gateways[0]!.link.isDown = true;
    await assertRejects(() => admit(1));
    clock.ms += LEASE_MS;
    await assertRejects(() => admit(1));
    clock.ms += 1;
    await admit(1);
    await admit(2);
    await assertRejects(() => admit(3));
  },
);

test("a request that runs for long keeps its place", { concurrentRequests: 1 }, async (setting) => {
  const { clock, gateways, admit, lastLease } = setting;
  const [one] = gateways;
  await one!.counts.begin();
  const permit = await admit(0);
  for (let round = 0; round < 10; round++) {
    clock.ms += LEASE_MS / 2;
    await until(async () => await lastLease() === clock.ms + LEASE_MS);
    await assertRejects(() => admit(1));
  }
  permit.settle();
  await settled(setting);
  await admit(1);
}, { beatMs: 5 });

test("a request whose admission got lost on the way back is counted once, with what it used", {
  requestsPerMinute: 60,
  tokensPerMinute: 1_000,
}, async (setting) => {
  const { gateways, admit, used } = setting;
  await gateways[0]!.counts.begin();
  gateways[0]!.link.losesReplies = 1;
  const lost = await admit(0, 100);
  assertEquals(await used(), [1, 100, 0]);
  lost.settle(50);
  await settled(setting);
  assertEquals(await used(), [1, 150, 0]);
});

test("one that never arrived is counted once, too, once it is over", {
  requestsPerMinute: 60,
  tokensPerMinute: 1_000,
}, async (setting) => {
  const { gateways: [one], admit, used } = setting;
  await one!.counts.begin();
  const { run } = one!.link;
  one!.link.run = () => Promise.reject(new Error("The command was lost"));
  const lost = await admit(0, 100);
  one!.link.run = run;
  assertEquals(await used(), [0, 0, 0]);
  lost.settle(50);
  await settled(setting);
  assertEquals(await used(), [1, 150, 0]);
});

test("a settlement whose reply gets lost is sent again, and counts once", {
  requestsPerMinute: 60,
  tokensPerMinute: 1_000,
}, async (setting) => {
  const { gateways: [one], admit, used } = setting;
  await one!.counts.begin();
  const known = await admit(0, 100);
  one!.link.losesReplies = 1;
  const unknown = await admit(0, 100);
  one!.link.losesReplies = 2;
  known.settle(10);
  unknown.settle(20);
  await settled(setting);
  assertEquals([one!.link.losesReplies, await used()], [0, [2, 230, 0]]);
  const sent = one!.link.scripts;
  await one!.counts.close();
  assertEquals(one!.link.scripts - sent, 2);
  assertEquals(await used(), [2, 230, 0]);
});

test("while the server is down the gateways let in no more than before, and are counted once it is back", {
  requestsPerMinute: 60,
  tokensPerDay: 10_000,
}, async (setting) => {
  const { gateways, admit, letIn, used, clock } = setting;
  for (const { counts } of gateways) await counts.begin();
  await until(() => gateways.every(({ counts }) => counts.gateways === 4));
  for (const { link } of gateways) link.isDown = true;
  const explained: unknown[] = [];
  const permits: Permit[] = [];
  for (let count = 0; count < 200; count++) {
    const account = gateways[count % 4]!.admission({
      name: "team",
      quota: { requestsPerMinute: 60, tokensPerDay: 10_000 },
    })!;
    try {
      const permit = account.admit(10, (failure) => explained.push(failure));
      assert(!(permit instanceof Promise), "Nobody waits for a server that is down");
      permits.push(permit as Permit);
    } catch {
      // as many as there may be are in
    }
  }
  assertEquals(permits.length, 60);
  assertEquals(explained.map((one) => (one as Error).message.slice(0, ALONE.length)), gateways.map(() => ALONE));
  for (const permit of permits) permit.settle(5);
  clock.ms += 5_000;
  for (const { link } of gateways) link.isDown = false;
  await until(async () => (await used())[2] === 60 * 15);
  // Five seconds have made room for five.
  assertEquals(await letIn(100), 5);
  await assertRejects(() => admit(0));
}, { beatMs: 5 });

const ALONE = "Limits are counted by this gateway alone, as one of 4 gateways: ";

test("an outage after a burst gives nobody the burst again", { requestsPerMinute: 60 }, async ({ gateways, letIn }) => {
  for (const { counts } of gateways) await counts.begin();
  await until(() => gateways.every(({ counts }) => counts.gateways === 4));
  assertEquals([await letIn(80), await letIn(80)], [60, 0]);
  for (const { link } of gateways) link.isDown = true;
  assertEquals(await letIn(80), 0);
}, { beatMs: 5 });

test<CountingServer>("a server that has lost everything goes on from nothing, and running requests keep their places", {
  requestsPerMinute: 60,
  concurrentRequests: 2,
}, async (setting) => {
  const { server, clock, gateways, admit, letIn, lastLease } = setting;
  await gateways[0]!.counts.begin();
  const [one, two] = [await admit(0), await admit(0)];
  assertEquals(await server.ask("FLUSHALL"), "+OK");
  clock.ms += LEASE_MS / 2;
  await until(async () => await lastLease() === clock.ms + LEASE_MS);
  await assertRejects(() => admit(1));
  one.settle(10);
  two.settle(10);
  await settled(setting);
  assertEquals(await letIn(5), 2);
}, { beatMs: 5, only: "server" });

for (const seed of [1, 2, 3]) {
  test(`whatever gets lost on the way, a day's tokens are what answers used (seed ${seed})`, {
    tokensPerDay: 1e9,
    concurrentRequests: 1_000,
  }, async (setting) => {
    const { gateways, admit, used, clock, lastLease } = setting;
    const random = randomFrom(seed);
    for (const { counts, link } of gateways) {
      await counts.begin();
      link.fate = () => random() < 0.2 ? "reply lost" : random() < 0.2 ? "command lost" : undefined;
    }
    let all = 0;
    const running: Permit[] = [];
    for (let step = 0; step < 400; step++) {
      const { link } = gateways[Math.floor(random() * 4)]!;
      if (random() < 0.05) link.isDown = !link.isDown;
      clock.ms += Math.floor(random() * 200);
      if (running.length < 5 || random() < 0.5) {
        const tokens = Math.floor(random() * 50);
        running.push(await admit(step % 4, tokens));
        all += tokens;
      } else {
        const more = Math.floor(random() * 100);
        running.splice(Math.floor(random() * running.length), 1)[0]!.settle(more);
        all += more;
      }
    }
    for (const permit of running) permit.settle();
    for (const { link } of gateways) Object.assign(link, { isDown: false, fate: undefined });
    await until(async () => (await used())[2] === all);
    for (const { counts } of gateways) await counts.close();
    setting.gateways.length = 0;
    assertEquals((await used())[2], all);
    assertEquals(await lastLease(), 0);
  }, { beatMs: 5 });
}

/** The same numbers for the same seed. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32;
    return state / 2 ** 32;
  };
}

for (const [where, stepMs] of [["back", -3_600_000], ["on", 3_600_000]] as const) {
  test(`a server's clock that is set ${where} by an hour holds nobody up for long`, {
    requestsPerMinute: 2,
    concurrentRequests: 3,
  }, async (setting) => {
    const { clock, admit, letIn } = setting;
    await admit(0);
    await admit(0);
    clock.ms += stepMs;
    await letIn(1);
    clock.ms += 60_000;
    assertEquals(await letIn(10), 2);
  }, { only: "server" });
}

test(
  "a target that rests on one gateway is known to rest to the others, once, and for as long as is left",
  {},
  async (setting) => {
    const { clock, gateways } = setting;
    for (const { counts } of gateways) await counts.begin();
    gateways[0]!.counts.rest("up/model", 20_000);
    await until(() => gateways.slice(1).every(({ rested }) => rested.length > 0));
    assertEquals(gateways[1]!.rested, [["up/model", 20_000]]);
    clock.ms += 5_000;
    const late = await setting.gateway();
    await late.counts.begin();
    assertEquals(late.rested, [["up/model", 15_000]]);
    assertEquals(gateways.map(({ rested }) => rested.length), [0, 1, 1, 1]);
  },
  { beatMs: 5 },
);

test(
  "a gateway that ends is no longer one of them, and one that dies is one for a while",
  {},
  async ({ clock, gateways }) => {
    for (const { counts } of gateways) await counts.begin();
    const [one, two, three] = gateways;
    await until(() => one!.counts.gateways === 4);
    three!.link.isDown = true;
    await gateways[3]!.counts.close();
    await until(() => one!.counts.gateways === 3);
    clock.ms += 20_000;
    await until(() => two!.counts.gateways === 3);
    // All that live say so before the dead one's time is over.
    const before = clock.ms;
    clock.ms += 11_000;
    await until(() => two!.counts.gateways === 2);
    assertEquals(clock.ms - before, 11_000);
  },
  { beatMs: 5 },
);

const keeperTest = (what: string, quota: Quota, use: (setting: Setting & KeeperCounting) => Promise<void>) =>
  test<KeeperCounting>(what, quota, use, { only: "keeper" });

keeperTest("one that takes the place of a killed one knows what all had used, and what runs", {
  requestsPerMinute: 60,
  tokensPerMinute: 10_000,
  concurrentRequests: 50,
}, async ({ gateways, admit, letIn, used, clock, replaceKeeper }) => {
  const running = [await admit(0, 10), await admit(1, 10), await admit(2, 10)];
  assertEquals(await letIn(37, 10), 37);
  clock.ms += 5_000; // makes room for five
  await replaceKeeper(gateways.length);
  assertEquals(await letIn(200, 0), 10); // 50 may run
  running[0]!.settle(50);
  await settled({ gateways });
  clock.ms += 1;
  assertEquals(await letIn(5, 0), 1);
  assertEquals((await used())[0]! > 45, true);
});

keeperTest("what a gateway ran ends with its connection", { concurrentRequests: 2 }, async (setting) => {
  const { gateways: [one], admit } = setting;
  await one!.counts.begin();
  await admit(0);
  await admit(0);
  await assertRejects(() => admit(1));
  one!.disconnect!();
  await until(() => admit(1).then(() => true, () => false));
  await admit(2);
  await assertRejects(() => admit(3));
});
