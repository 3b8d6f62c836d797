/** What can wait until clients do not ask. */
import { assert, assertEquals } from "@std/assert";
import { createLull } from "../../src/cli/idle.ts";

/** A clock that goes on by what is waited for, and some more, and calls `meanwhile` at each wait. */
function clockWith(meanwhile: (now: number) => void, late = 0) {
  let now = 0;
  const wait = (ms: number) => {
    now += ms + late;
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

Deno.test("lull: it may have to be longer, and begins no later for the time that a wait takes too long", async () => {
  let requests = 3;
  const { lull, now } = clockWith(() => requests-- > 0 && lull.broken());
  assertEquals(await lull.begun(300), true);
  assertEquals(now(), 1_200);
  const busy = clockWith(() => busy.lull.broken(), 7);
  assertEquals(await busy.lull.begun(300), false);
  assert(busy.now() < 2_010, `${busy.now()} ms`);
});

Deno.test("lull: a gateway that is always asked is not waited for longer than two seconds", async () => {
  const { lull, now } = clockWith(() => lull.broken());
  assertEquals(await lull.begun(), false);
  assertEquals(now(), 2_000);
});
