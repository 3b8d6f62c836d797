/** What holds for the places at an upstream, whoever counts them. */
import { assertEquals, assertRejects } from "@std/assert";
import { GatewayError } from "../../src/errors.ts";
import type { Concurrency } from "../../src/routing/concurrency.ts";
import type { ConcurrencyLimits } from "../../src/routing/fair_queue.ts";
import { until, within } from "../support/wait.ts";

const NEVER = new AbortController().signal;

/** `use` is called with what makes the limit of an upstream "up". */
export type WithConcurrency = (
  use: (open: (limits: ConcurrencyLimits) => Promise<Concurrency>) => Promise<void>,
) => Promise<void>;

const LAWS: [what: string, use: Parameters<WithConcurrency>[0]][] = [];
const test = (...law: typeof LAWS[number]) => void LAWS.push(law);

export function testConcurrency(
  who: string,
  withConcurrency: WithConcurrency,
  options: { ignore?: boolean } = {},
): void {
  for (const [what, use] of LAWS) {
    Deno.test({ name: `concurrency ${who}: ${what}`, ...options, fn: () => withConcurrency(use) });
  }
}

test("no more calls run than there are places, and one that ends lets the next one in", async (open) => {
  const concurrency = await open({ running: 2, waiting: 5, waitMs: 10_000 });
  const [first] = [await concurrency.acquire("a", NEVER), await concurrency.acquire("a", NEVER)];
  let third = false;
  const waiting = concurrency.acquire("a", NEVER).then((leave) => {
    third = true;
    return leave;
  });
  assertEquals(third, false);
  first();
  first(); // Given back once, however often it is said.
  const leave = await waiting;
  assertEquals(third, true);
  let fourth = false;
  const next = concurrency.acquire("a", NEVER).then((leave) => {
    fourth = true;
    return leave;
  });
  assertEquals(fourth, false);
  leave();
  (await next)();
});

test("those who wait get their places in turn, whoever asked more often", async (open) => {
  const concurrency = await open({ running: 1, waiting: 10, waitMs: 10_000 });
  const leave = await concurrency.acquire("greedy", NEVER);
  const order: string[] = [];
  const wait = async (caller: string, name: string) => {
    const done = await concurrency.acquire(caller, NEVER);
    order.push(name);
    done();
  };
  const all = [
    wait("greedy", "g1"),
    wait("greedy", "g2"),
    wait("greedy", "g3"),
    wait("modest", "m1"),
    wait("other", "o1"),
    wait("modest", "m2"),
  ];
  leave();
  await Promise.all(all);
  assertEquals(order, ["g1", "m1", "o1", "g2", "m2", "g3"]);
});

test("a caller with many calls leaves a place to the others, and gives its own calls no more than its share", async (open) => {
  const concurrency = await open({ running: 4, waiting: 100, waitMs: 10_000, isShared: true });
  const releases: (() => void)[] = [];
  let flooding = 0;
  const flood = Array.from({ length: 20 }, async () => {
    const release = await concurrency.acquire("greedy", NEVER);
    flooding++;
    releases.push(release);
  });
  await until(() => flooding === 3);
  // Without waiting for any of the flood.
  const modest = await within(concurrency.acquire("modest", NEVER));
  assertEquals(flooding, 3);
  modest();
  let most = 0;
  while (flooding < 20) {
    const before = flooding;
    releases.shift()!();
    await until(() => flooding > before);
    most = Math.max(most, releases.length);
  }
  assertEquals(most, 3);
  await Promise.all(flood);
  for (const release of releases) release();
  // What one caller alone has left is there for another.
  const all = await Promise.all([1, 2, 3].map(() => within(concurrency.acquire("modest", NEVER))));
  for (const release of all) release();
  assertEquals(concurrency.load(), { running: 0, waiting: 0 });
});

test("a caller that alone fills the line leaves places in it to the others", async (open) => {
  const concurrency = await open({ running: 1, waiting: 4, waitMs: 10_000, isShared: true });
  const leave = await concurrency.acquire("greedy", NEVER);
  const waiting = Array.from({ length: 3 }, () => concurrency.acquire("greedy", NEVER));
  const refused = await assertRejects(() => concurrency.acquire("greedy", NEVER), GatewayError);
  assertEquals(refused.message, 'Upstream "up" is busy: 3 requests of this caller wait, which is its share');
  const modest = concurrency.acquire("modest", NEVER);
  leave();
  for (const next of [...waiting.slice(0, 1), modest, ...waiting.slice(1)]) (await next)();
});

test("with one caller only, it may have all places", async (open) => {
  const concurrency = await open({ running: 4, waiting: 4, waitMs: 10_000 });
  const all = await Promise.all([1, 2, 3, 4].map(() => within(concurrency.acquire("a", NEVER))));
  const waiting = Array.from({ length: 4 }, () => concurrency.acquire("a", NEVER));
  for (const release of all) release();
  for (const next of waiting) (await next)();
});

test("completions are called so where their places are taken", async (open) => {
  const concurrency = await open({ running: 1, waiting: 0, waitMs: 10_000, kind: "completions" });
  const leave = await concurrency.acquire("a", NEVER);
  const { message } = await assertRejects(() => concurrency.acquire("b", NEVER), GatewayError);
  assertEquals(message, 'Upstream "up" is busy: 1 completions run and 0 wait');
  leave();
});

test("a full line and a long wait are told as busy, with the time to come back", async (open) => {
  const limits = { running: 1, waiting: 1, waitMs: 100 };
  const concurrency = await open(limits);
  const leave = await concurrency.acquire("a", NEVER);
  const late = concurrency.acquire("a", NEVER);
  const refused = await assertRejects(() => concurrency.acquire("b", NEVER), GatewayError, 'Upstream "up" is busy');
  assertEquals([refused.code, refused.details.retryAfter], ["unavailable", "1"]);
  assertEquals((await assertRejects(() => late, GatewayError)).code, "unavailable");
  // Those who gave up stand in no line, and hold nothing.
  limits.waitMs = 10_000;
  const next = concurrency.acquire("c", NEVER);
  leave();
  (await next)();
  (await concurrency.acquire("d", NEVER))();
});

test("a client that has left by then stands in no line", async (open) => {
  const concurrency = await open({ running: 1, waiting: 1, waitMs: 10_000 });
  const leave = await concurrency.acquire("a", NEVER);
  await assertRejects(
    () => within(concurrency.acquire("b", AbortSignal.abort(new Error("left")))),
    Error,
    "left",
  );
  const next = concurrency.acquire("c", NEVER);
  leave();
  (await next)();
});

test("a client that leaves while it waits gives its turn to the next", async (open) => {
  const concurrency = await open({ running: 1, waiting: 5, waitMs: 10_000 });
  const leave = await concurrency.acquire("a", NEVER);
  const gone = new AbortController();
  const left = concurrency.acquire("a", gone.signal);
  const next = concurrency.acquire("b", NEVER);
  gone.abort(new Error("left"));
  await assertRejects(() => left, Error, "left");
  leave();
  (await next)();
});
