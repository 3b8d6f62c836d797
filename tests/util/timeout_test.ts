import { assertEquals, assertRejects } from "@std/assert";
import { abortAfter, delay, failAfter, failAfterAwake, settleWithin } from "../../src/util/timeout.ts";
import { withFakeClock } from "../support/fake_clock.ts";

const never = () => new Promise<never>(() => {});
const late = () => new Error("late");

Deno.test("time-outs: what is there in time is the result, and no timer is left", async () => {
  assertEquals(await settleWithin(Promise.resolve(1), 60_000), 1);
  assertEquals(await failAfter(60_000, Promise.resolve(2), late), 2);
  assertEquals(await abortAfter(60_000, new AbortController().signal, () => Promise.resolve(3), late), 3);
});

Deno.test("time-outs: what takes too long gives nothing, or fails by the caller's own error", () =>
  withFakeClock(async (clock) => {
    const settled = settleWithin(never(), 50);
    const failed = assertRejects(() => failAfter(50, never(), late), Error, "late");
    const seen: AbortSignal[] = [];
    const aborted = assertRejects(
      () => abortAfter(50, new AbortController().signal, (signal) => (seen.push(signal), never()), late),
      Error,
      "late",
    );
    await clock.advance(50);
    assertEquals(await settled, undefined);
    await failed;
    await aborted;
    assertEquals(seen[0]?.aborted, true);
  }));

Deno.test("time-outs: the outer signal ends the work with its own reason", async () => {
  const outer = new AbortController();
  const work = abortAfter(60_000, outer.signal, never, late);
  outer.abort(new Error("stopped"));
  await assertRejects(() => work, Error, "stopped");
});

Deno.test("time-outs: a wait ends after its time, or with the reason of its signal", () =>
  withFakeClock(async (clock) => {
    const controller = new AbortController();
    const waits = delay(50, controller.signal);
    const given = assertRejects(() => delay(60, controller.signal), Error, "stopped");
    await clock.advance(50);
    await waits;
    controller.abort(new Error("stopped"));
    await given;
    await assertRejects(() => delay(1, controller.signal), Error, "stopped");
    assertEquals(clock.waiting(), 0);
  }));

Deno.test("time-outs: what comes while the process is busy is not late", async () => {
  const { promise, resolve } = Promise.withResolvers<number>();
  setTimeout(resolve, 50, 1);
  const answer = failAfterAwake(40, promise, late);
  for (const until = performance.now() + 60; performance.now() < until;);
  assertEquals(await answer, 1);
});

Deno.test("time-outs: what does not come while the process could notice is late, and no timer is left", () =>
  withFakeClock(async (clock) => {
    let isLate = false;
    const answer = failAfterAwake(240, never(), late).catch(() => isLate = true);
    await clock.advance(239);
    assertEquals(isLate, false);
    await clock.advance(1);
    await answer;
    assertEquals([isLate, clock.waiting()], [true, 0]);
  }));
