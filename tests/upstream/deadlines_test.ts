import { assertEquals } from "@std/assert";
import { GatewayError } from "../../src/errors.ts";
import { Watch } from "../../src/upstream/deadlines.ts";
import { delay, within } from "../support/wait.ts";
import { withFakeClock } from "../support/fake_clock.ts";

const LONG = 60_000;

/** Why the call was aborted, once it is. */
async function reason({ signal }: Watch): Promise<unknown> {
  const aborted = new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
  if (!signal.aborted) await within(aborted);
  return signal.reason;
}

async function expectTimeout(watch: Watch, message: string): Promise<void> {
  const error = await reason(watch);
  if (!(error instanceof GatewayError)) throw error;
  assertEquals([error.code, error.message], ["upstream_timeout", message]);
  watch.stop();
}

Deno.test("watch: the whole call has a limit", async () => {
  await expectTimeout(new Watch(new AbortController().signal, 30), "The upstream did not answer within 30 ms");
});

Deno.test("watch: a phase has a limit, and the next one its own", async () => {
  const watch = new Watch(new AbortController().signal, LONG);
  watch.begin(LONG, "begin to answer");
  watch.begin(30, "send a first event");
  await expectTimeout(watch, "The upstream did not send a first event within 30 ms");
});

Deno.test("watch: a sign of life begins the phase's time anew", async () => {
  await withFakeClock(async (clock) => {
    const watch = new Watch(new AbortController().signal, LONG);
    watch.begin(300, "send another event");
    for (let time = 0; time < 10; time++) {
      await clock.advance(200);
      watch.touch();
    }
    await clock.advance(299);
    assertEquals(watch.signal.aborted, false);
    await clock.advance(1);
    await expectTimeout(watch, "The upstream did not send another event within 300 ms");
  });
});

Deno.test("watch: while nobody waits for the upstream, its time stands still", async () => {
  await withFakeClock(async (clock) => {
    const watch = new Watch(new AbortController().signal, LONG);
    watch.begin(30, "send another event");
    watch.isResting = true;
    await clock.advance(200);
    assertEquals(watch.signal.aborted, false);
    watch.touch();
    await clock.advance(30);
    await expectTimeout(watch, "The upstream did not send another event within 30 ms");
  });
});

Deno.test("watch: who waits for the answer can abort it too, for a reason of its own", async () => {
  const outer = new AbortController();
  const watch = new Watch(outer.signal, LONG);
  const gone = new GatewayError("client_closed", "The client closed the connection");
  outer.abort(gone);
  assertEquals(await reason(watch), gone);
  watch.stop();
});

Deno.test("watch: stopped, it leaves no timer and aborts nothing", async () => {
  const watch = new Watch(new AbortController().signal, 20);
  watch.begin(10, "begin to answer");
  watch.stop();
  await delay(50);
  assertEquals(watch.signal.aborted, false);
});
