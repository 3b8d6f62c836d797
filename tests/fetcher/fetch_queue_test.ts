/** How callers share all the fetches that run at once. */
import { assert, assertEquals } from "@std/assert";
import { Refusal } from "../../src/fetcher/refusal.ts";
import { FetchQueue } from "../../src/fetcher/fetch_queue.ts";

const names = (count: number) => Array.from({ length: count }, (_, index) => `key ${index}`);

/** Work that runs until it is let go. */
function gate() {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { open: resolve, work: () => promise };
}

/** How many of so many fetches the callers get to run at once, in this order. */
async function admitted(callers: (string | undefined)[], each: number): Promise<number[]> {
  const queue = new FetchQueue({ inAll: 32, atHost: 2 });
  const { open, work } = gate();
  const refusals = callers.map(() => 0);
  const fetches = callers.flatMap((caller, index) =>
    Array.from({ length: each }, () =>
      queue.run(caller, work).catch((thrown) => {
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
