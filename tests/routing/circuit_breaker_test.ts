import { assertEquals } from "@std/assert";
import { Breaker } from "../../src/routing/circuit_breaker.ts";

const PACE = { failures: 3, restMs: 1_000, longestRestMs: 4_000 };

function breaker() {
  const clock = { ms: 1_000_000 };
  const own = new Breaker(() => clock.ms, PACE);
  const order = (...targets: string[]) => own.order(targets, (target) => target).join(" ");
  const fail = (id: string, times: number) => {
    for (let time = 0; time < times; time++) own.failed(id);
  };
  return { clock, own, order, fail };
}

Deno.test("breaker: targets keep their order while they answer, and after a few failures", () => {
  const { own, order, fail } = breaker();
  assertEquals(order("a", "b", "c"), "a b c");
  fail("a", 2);
  assertEquals(order("a", "b", "c"), "a b c");
  own.succeeded("a");
  fail("a", 2);
  assertEquals(order("a", "b", "c"), "a b c");
});

Deno.test("breaker: a target that fails again and again comes last, and no other does", () => {
  const { order, fail } = breaker();
  fail("a", 3);
  assertEquals(order("a", "b", "c"), "b c a");
  assertEquals(order("a"), "a");
});

Deno.test("breaker: after its rest one request finds out, while the others go elsewhere", () => {
  const { clock, own, order, fail } = breaker();
  fail("a", 3);
  clock.ms += 1_000;
  assertEquals(order("a", "b"), "a b");
  assertEquals(order("a", "b"), "b a");
  own.succeeded("a");
  assertEquals(order("a", "b"), "a b");
});

Deno.test("breaker: a probe that fails lets it rest for twice as long, up to a limit", () => {
  const { clock, order, fail } = breaker();
  fail("a", 3);
  for (const restMs of [1_000, 2_000, 4_000, 4_000]) {
    clock.ms += restMs - 1;
    assertEquals(order("a", "b"), "b a", `rest of ${restMs}`);
    clock.ms += 1;
    assertEquals(order("a", "b"), "a b", `rest of ${restMs}`);
    fail("a", 1);
  }
});

Deno.test("breaker: a probe that never comes back is followed by another one", () => {
  const { clock, order, fail } = breaker();
  fail("a", 3);
  clock.ms += 1_000;
  assertEquals(order("a", "b"), "a b");
  clock.ms += 60_000;
  assertEquals(order("a", "b"), "a b");
});

Deno.test("breaker: a target that asks for time gets it at once", () => {
  const { clock, own, order } = breaker();
  own.failed("a", 2_000);
  assertEquals(order("a", "b"), "b a");
  clock.ms += 2_000;
  assertEquals(order("a", "b"), "a b");
});

Deno.test("breaker: nobody rests for longer than the limit, nor for less than it once asked for", () => {
  const { clock, own, order } = breaker();
  own.failed("a", 3_000);
  own.failed("a", 1_000);
  clock.ms += 2_999;
  assertEquals(order("a", "b"), "b a");
  clock.ms += 1;
  assertEquals(order("a", "b"), "a b");
  own.failed("a", 1_000_000);
  clock.ms += 3_999;
  assertEquals(order("a", "b"), "b a");
  clock.ms += 1;
  assertEquals(order("a", "b"), "a b");
});

Deno.test("breaker: of too many that fail those are forgotten that have not failed for the longest time", () => {
  const { order, fail } = breaker();
  fail("first", 3);
  fail("second", 3);
  for (let other = 2; other < 10_000; other++) fail(`other ${other}`, 1);
  fail("first", 1);
  assertEquals(order("first", "second", "b"), "b first second");
  fail("one more", 1);
  assertEquals(order("first", "second", "b"), "second b first");
});

Deno.test("breaker: a target that another gateway found failing rests for as long, and then one request finds out", () => {
  const { clock, own, order, fail } = breaker();
  own.rest("a", 500);
  assertEquals([order("a", "b"), own.resting()], ["b a", ["a"]]);
  clock.ms += 500;
  assertEquals([order("a", "b"), order("a", "b")], ["a b", "b a"]);
  fail("a", 1);
  assertEquals(order("a", "b"), "b a");
  clock.ms += 2_000;
  assertEquals(order("a", "b"), "a b");
  own.succeeded("a");
  assertEquals([order("a", "b"), order("a", "b")], ["a b", "a b"]);
});

Deno.test("breaker: another gateway puts a target to rest for no longer than any rests", () => {
  const { clock, own } = breaker();
  own.rest("a", 3_600_000);
  clock.ms += PACE.longestRestMs;
  assertEquals(own.resting(), []);
});

Deno.test("breaker: whoever is to know learns of each rest and how long it is", () => {
  const rests: unknown[] = [];
  const own = new Breaker(() => 0, PACE, (id, ms) => rests.push([id, ms]));
  for (let time = 0; time < 2; time++) own.failed("a");
  assertEquals(rests, []);
  own.failed("a");
  own.failed("b", 700);
  own.rest("c", 900);
  assertEquals(rests, [["a", 1_000], ["b", 700]]);
});
