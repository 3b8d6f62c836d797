/** What can wait until clients do not ask. */
import { assertEquals } from "@std/assert";
import { createLull } from "../../src/cli/lull.ts";

/** A clock that goes on by what is waited for, and calls `meanwhile` at each wait. */
function clockWith(meanwhile: (now: number) => void) {
  let now = 0;
  const wait = (ms: number) => {
    now += ms;
    meanwhile(now);
    return Promise.resolve();
  };
  return { lull: createLull(() => now, wait), now: () => now };
}

Deno.test("lull: begins 50 ms after the start, or after the last request", async () => {
  let requests = 3;
  const { lull, now } = clockWith(() => requests-- > 0 && lull.broken());
  assertEquals(await lull.begun(), true);
  assertEquals(now(), 200);
  assertEquals(await lull.begun(), true);
  assertEquals(now(), 200);
});

Deno.test("lull: a gateway that is always asked is not waited for longer than two seconds", async () => {
  const { lull, now } = clockWith(() => lull.broken());
  assertEquals(await lull.begun(), false);
  assertEquals(now(), 2_000);
});
