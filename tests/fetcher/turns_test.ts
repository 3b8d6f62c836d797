/** How callers share the fetcher: all pages at once, a host's slots, and the threads that read pages. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { Refusal } from "../../src/fetcher/refusal.ts";
import { Slots, Turns } from "../../src/fetcher/turns.ts";

const forever = new AbortController().signal;
const names = (count: number) => Array.from({ length: count }, (_, index) => `key ${index}`);

/** Work that runs until it is let go. */
function gate() {
  const { promise, resolve } = Promise.withResolvers<void>();
  let running = 0;
  return {
    get running() {
      return running;
    },
    open: resolve,
    work: () => (running++, promise),
  };
}

/** How many of so many fetches the callers get to run at once, in this order. */
async function admitted(callers: (string | undefined)[], each: number): Promise<number[]> {
  const turns = new Turns({ inAll: 32, atHost: 2 });
  const { open, work } = gate();
  const refusals = callers.map(() => 0);
  const fetches = callers.flatMap((caller, index) =>
    Array.from({ length: each }, () =>
      turns.run(caller, work).catch((thrown) => {
        assert(thrown instanceof Refusal && thrown.code === "too_many_requests");
        refusals[index]!++;
      }))
  );
  open();
  await Promise.all(fetches);
  return refusals.map((count) => each - count);
}

Deno.test("one caller gets every fetch there is; one of several leaves a quarter to others", async () => {
  assertEquals(await admitted([undefined], 40), [32]);
  assertEquals(await admitted(["a"], 40), [24]);
  assertEquals(await admitted(["a", "b"], 40), [24, 1]);
  const [first, ...others] = await admitted(names(20), 40);
  assertEquals([first, others.filter((count) => count > 0).length], [24, 8]);
});

Deno.test("twenty callers that take a few each all get theirs", async () => {
  assertEquals(await admitted(names(20), 1), Array(20).fill(1));
});

Deno.test("with one caller a place runs as much as it can, and the rest in the order in which it came", async () => {
  const slots = new Slots(2);
  const held = gate();
  const order: number[] = [];
  const run = (index: number) => slots.run(undefined, forever, async () => (order.push(index), await held.work()));
  const all = [0, 1, 2, 3].map(run);
  await Promise.resolve();
  assertEquals(order, [0, 1]);
  held.open();
  await Promise.all(all);
  assertEquals([order, slots.isFree], [[0, 1, 2, 3], true]);
});

for (const others of [1, 19]) {
  Deno.test(`whoever queues a hundred pages in one place is one of ${others + 1} in turn there`, async () => {
    const slots = new Slots(2);
    const order: string[] = [];
    const run = (caller: string) =>
      slots.run(caller, forever, async () => {
        order.push(caller);
        for (let step = 0; step < 3; step++) await Promise.resolve();
      });
    const greedy = Array.from({ length: 100 }, () => run("greedy"));
    const modest = names(others).flatMap((name) => [run(name), run(name)]);
    await Promise.all([...greedy, ...modest]);
    // Two rounds of everybody hold the others' two pages each.
    const last = order.findLastIndex((caller) => caller !== "greedy");
    assert(last <= 2 * (others + 1), `${last}`);
    assertEquals(order.length, 100 + 2 * others);
    assertEquals(slots.isFree, true);
  });
}

Deno.test("who stops waiting leaves the queue, and nobody waits for it", async () => {
  const slots = new Slots(1);
  const held = gate();
  const first = slots.run("a", forever, held.work);
  const leaving = new AbortController();
  const left = assertRejects(() => slots.run("b", leaving.signal, () => Promise.reject("ran")), Error, "left");
  const next = slots.run("c", forever, () => Promise.resolve("ran"));
  leaving.abort(new Error("left"));
  await left;
  held.open();
  await first;
  assertEquals(await next, "ran");
  await assertRejects(() => slots.run("b", leaving.signal, () => Promise.resolve()), Error, "left");
  assertEquals(slots.isFree, true);
});
