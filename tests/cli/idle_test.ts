/** What can wait until clients do not ask. */
import { assert, assertEquals } from "@std/assert";
import { createIdleWatch } from "../../src/cli/idle.ts";

/** A clock that goes on by what is waited for, and some more, and calls `meanwhile` at each wait. */
function clockWith(meanwhile: (now: number) => void, late = 0) {
  let now = 0;
  const wait = (ms: number) => {
    now += ms + late;
    meanwhile(now);
    return Promise.resolve();
  };
  return { idleWatch: createIdleWatch(() => now, wait), now: () => now };
}

Deno.test("idleWatch: begins 50 ms after the start, or after the last request", async () => {
  let requests = 3;
  const { idleWatch, now } = clockWith(() => requests-- > 0 && idleWatch.broken());
  assertEquals(await idleWatch.begun(), true);
  assertEquals(now(), 200);
  assertEquals(await idleWatch.begun(), true);
  assertEquals(now(), 200);
});

Deno.test("idleWatch: it may have to be longer, and begins no later for the time that a wait takes too long", async () => {
  let requests = 3;
  const { idleWatch, now } = clockWith(() => requests-- > 0 && idleWatch.broken());
  assertEquals(await idleWatch.begun(300), true);
  assertEquals(now(), 1_200);
  const busy = clockWith(() => busy.idleWatch.broken(), 7);
  assertEquals(await busy.idleWatch.begun(300), false);
  assert(busy.now() < 2_010, `${busy.now()} ms`);
});

Deno.test("idleWatch: a gateway that is always asked is not waited for longer than two seconds", async () => {
  const { idleWatch, now } = clockWith(() => idleWatch.broken());
  assertEquals(await idleWatch.begun(), false);
  assertEquals(now(), 2_000);
});
