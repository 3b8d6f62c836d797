import { assertEquals } from "@std/assert";
import { type EventSource, opening, sourceOf } from "../../src/util/event_source.ts";
import { toArray } from "../support/chunks.ts";
import { eachOf } from "../support/sources.ts";
import { turnsDuring } from "../support/turns.ts";

/** Gives these batches, then fails with `failure` or ends. */
function batches<E>(all: readonly E[][], failure?: unknown): EventSource<E> & { isCancelled: boolean } {
  const left = [...all];
  return {
    isCancelled: false,
    next() {
      const batch = left.shift();
      return batch || failure === undefined ? Promise.resolve(batch) : Promise.reject(failure);
    },
    cancel() {
      this.isCancelled = true;
      return Promise.resolve();
    },
  };
}

Deno.test("sources: what is all there comes in batches, in order, and ends", async () => {
  const numbers = Array.from({ length: 150 }, (_, at) => at);
  const source = sourceOf(numbers);
  const sizes: number[] = [];
  const all: number[] = [];
  for (let batch = await source.next(); batch; batch = await source.next()) {
    sizes.push(batch.length);
    all.push(...batch);
  }
  assertEquals([sizes, all], [[64, 64, 22], numbers]);
  assertEquals(await source.next(), undefined);
});

Deno.test("sources: what is all there is made only as far as somebody asks", async () => {
  let made = 0;
  const source = sourceOf((function* () {
    for (;;) yield ++made;
  })());
  await source.next();
  assertEquals(made, 64);
  await source.cancel();
  assertEquals([await source.next(), made], [undefined, 64]);
});

Deno.test("sources: others have a turn between events that are all there", async () => {
  const turns = await turnsDuring(async () => assertEquals((await toArray(eachOf(sourceOf([1, 2, 3, 4])))).length, 4));
  assertEquals(turns >= 2, true, `${turns} turns`);
});

Deno.test("sources: one is opened when it is asked, and never once it is ended", async () => {
  let opened = 0;
  const open = () => (opened++, Promise.resolve(sourceOf([1])));
  const source = opening(open);
  assertEquals(opened, 0);
  assertEquals([await toArray(eachOf(source)), opened], [[1], 1]);
  const ended = opening(open);
  await ended.cancel();
  assertEquals([await ended.next(), opened], [undefined, 1]);
});

Deno.test("sources: one that is ended while it opens ends what was opened, and gives nothing", async () => {
  const { promise, resolve } = Promise.withResolvers<EventSource<number>>();
  const inner = batches([[1]]);
  const source = opening(() => promise);
  const next = source.next();
  const ended = source.cancel();
  resolve(inner);
  await ended;
  assertEquals([await next, inner.isCancelled], [undefined, true]);
});
