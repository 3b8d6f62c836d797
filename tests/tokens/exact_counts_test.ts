import { assertEquals } from "@std/assert";
import { GatewayError } from "../../src/errors.ts";
import { ExactCounts, type ExactPace } from "../../src/tokens/exact_counts.ts";

function newCounts(pace: Partial<ExactPace> = {}) {
  const clock = { ms: 0 };
  return { clock, counts: new ExactCounts({ now: () => clock.ms, pace }) };
}

Deno.test("the same text at the same place is counted once, also while its count is on its way", async () => {
  const { counts, clock } = newCounts({ freshMs: 1_000 });
  let asked = 0;
  const ask = () => Promise.resolve(++asked);
  assertEquals(await Promise.all([counts.of("a", "x", ask), counts.of("a", "x", ask)]), [1, 1]);
  assertEquals([await counts.of("b", "x", ask), await counts.of("a", "y", ask), await counts.of("a", "x", ask)], [
    2,
    3,
    1,
  ]);
  clock.ms = 1_001;
  assertEquals(await counts.of("a", "x", ask), 4);
});

Deno.test("a place gets a few at once, the others wait their turn, and too many get none", async () => {
  const { counts } = newCounts({ mostAtOnce: 2, mostWaiting: 3 });
  const open: (() => void)[] = [];
  const ask = (n: number) => () => new Promise<number>((resolve) => open.push(() => resolve(n)));
  const all = Array.from({ length: 7 }, (_, n) => counts.of("a", n, ask(n)));
  assertEquals(open.length, 2);
  for (let at = 0; at < 5; at++) {
    open[at]!();
    await all[at];
  }
  assertEquals(await Promise.all(all), [0, 1, 2, 3, 4, undefined, undefined]);
  assertEquals(open.length, 5);
});

Deno.test("a place that failed is left in peace for a while, by those that wait for it too; the others are not", async () => {
  const { counts, clock } = newCounts({ mostAtOnce: 1, restMs: 1_000 });
  let asked = 0;
  const fail = () => {
    asked++;
    return Promise.reject(new Error("broken"));
  };
  assertEquals(await Promise.all([1, 2, 3].map((n) => counts.of("a", n, fail))), [undefined, undefined, undefined]);
  assertEquals(asked, 1);
  assertEquals(await counts.of("b", 1, () => Promise.resolve(7)), 7);
  clock.ms = 1_001;
  assertEquals(await counts.of("a", 1, () => Promise.resolve(8)), 8);
});

Deno.test("nobody waits longer than has patience", async () => {
  const { counts } = newCounts({ patienceMs: 5 });
  assertEquals(await counts.of("a", "x", () => new Promise(() => {})), undefined);
});

Deno.test("what was counted is known at once, as long as it is good; nothing else is", async () => {
  const { counts, clock } = newCounts({ freshMs: 1_000 });
  const known = (place: string, text: string) => counts.known(place, () => text);
  const open = Promise.withResolvers<number>();
  const counting = counts.of("a", "x", () => open.promise);
  assertEquals(known("a", "x"), undefined);
  open.resolve(7);
  await counting;
  assertEquals([known("a", "x"), known("a", "y"), known("b", "x")], [7, undefined, undefined]);
  clock.ms = 1_000;
  assertEquals(known("a", "x"), undefined);
});

Deno.test("only the latest are kept", async () => {
  const { counts } = newCounts({ mostKept: 2 });
  let asked = 0;
  const ask = () => Promise.resolve(++asked);
  for (const text of ["x", "y", "x", "z", "x", "y"]) await counts.of("a", text, ask);
  assertEquals(asked, 4);
});

Deno.test("places are forgotten that nobody asks any more: clients name as many as they like", async () => {
  const { counts } = newCounts({ mostKept: 3 });
  let failures = 0;
  const fail = () => {
    failures++;
    return Promise.reject(new Error("broken"));
  };
  const open = Promise.withResolvers<number>();
  const running = counts.of("running", "x", () => open.promise);
  await counts.of("failed", "x", fail);
  await counts.of("a", "x", () => Promise.resolve(1));
  await counts.of("failed", "x", fail);
  assertEquals(failures, 1);
  for (const place of ["b", "c", "d"]) await counts.of(place, "x", () => Promise.resolve(1));
  await counts.of("failed", "x", fail);
  assertEquals(failures, 2);
  open.resolve(7);
  assertEquals(await running, 7);
});

Deno.test("a failure of the gateway's own, such as of a stage, does not stop the counts of others at the place", async () => {
  const { counts } = newCounts({ restMs: 1_000 });
  const fail = () => Promise.reject(new GatewayError("internal", "The stage failed", { own: true }));
  assertEquals(await counts.of("a", "x", fail), undefined);
  assertEquals(await counts.of("a", "y", () => Promise.resolve(7)), 7);
});
