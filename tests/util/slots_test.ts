/** How callers share the slots of one place. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { Slots } from "../../src/util/shares.ts";

const forever = new AbortController().signal;
const names = (count: number) => Array.from({ length: count }, (_, index) => `key ${index}`);

/** Work that runs until it is let go. */
function gate() {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { open: resolve, work: () => promise };
}

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
    // Each of the others' two pages comes before more than a round of everybody's.
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

Deno.test("a failure holds up nobody, and a caller that waited while its own work ran comes after the others", async () => {
  const slots = new Slots(1);
  const order: string[] = [];
  const run = (caller: string, name: string) =>
    slots.run(caller, undefined, () => {
      order.push(name);
      if (name === "a2") throw new RangeError("failed");
    });
  const works = [run("a", "a1"), run("a", "a2"), run("a", "a3"), run("b", "b1")];
  const outcomes = await Promise.allSettled(works);
  assertEquals(order, ["a1", "b1", "a2", "a3"]);
  assertEquals(outcomes.map(({ status }) => status), ["fulfilled", "rejected", "fulfilled", "fulfilled"]);
  assertEquals(slots.isFree, true);
});
