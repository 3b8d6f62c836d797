import { assertEquals } from "@std/assert";
import { repeat, TimeLimit } from "../../src/util/time_limit.ts";
import { collectGarbage } from "../../src/util/collect_garbage.ts";
import { withFakeClock } from "../support/fake_clock.ts";
import { delay } from "../support/wait.ts";

Deno.test("time limits: each ends at its time, unless it was cancelled before", () =>
  withFakeClock(async (clock) => {
    const log: string[] = [];
    const begin = (name: string, ms: number) => new TimeLimit(ms, () => log.push(name));
    begin("first", 50);
    await clock.advance(20);
    const limits = ["second", "third", "fourth"].map((name) => begin(name, 50));
    begin("short", 40);
    limits[1]!.cancel();
    limits[1]!.cancel();
    await clock.advance(29);
    assertEquals(log, []);
    await clock.advance(1);
    assertEquals(log.splice(0), ["first"]);
    await clock.advance(10);
    assertEquals(log.splice(0), ["short"]);
    limits[2]!.cancel();
    await clock.advance(9);
    begin("last", 50);
    await clock.advance(1);
    assertEquals(log.splice(0), ["second"]);
    limits[0]!.cancel();
    await clock.advance(48);
    assertEquals(log, []);
    await clock.advance(1);
    assertEquals(log, ["last"]);
  }));

Deno.test("time limits: one after all were cancelled, or had their time, ends at its own", () =>
  withFakeClock(async (clock) => {
    const ended: number[] = [];
    const begin = () => new TimeLimit(50, () => ended.push(performance.now()));
    const first = begin();
    first.cancel();
    await clock.advance(20);
    const due = [performance.now() + 50];
    begin();
    await clock.advance(60);
    begin().cancel();
    await clock.advance(100);
    due.push(performance.now() + 50);
    begin();
    await clock.advance(50);
    assertEquals(ended, due);
  }));

Deno.test("time limits: one that cancels another, or begins one, takes no turn from the rest", () =>
  withFakeClock(async (clock) => {
    const log: string[] = [];
    const begin = (name: string, run = () => {}) => new TimeLimit(50, () => (log.push(name), run()));
    begin("first", () => {
      second.cancel();
      begin("fourth");
    });
    const second = begin("second");
    begin("third");
    await clock.advance(50);
    assertEquals(log.splice(0), ["first", "third"]);
    await clock.advance(50);
    assertEquals(log.splice(0), ["fourth"]);
    begin("alone", () => void begin("its own"));
    await clock.advance(50);
    await clock.advance(50);
    assertEquals(log, ["alone", "its own"]);
  }));

Deno.test("time limits: one that is over holds none that came after it", async () => {
  const begin = () => new TimeLimit(60_000, () => {});
  const held = begin();
  const weak: WeakRef<TimeLimit>[] = [];
  const beginMany = () => {
    let last = begin();
    held.cancel();
    for (let time = 0; time < 10; time++) {
      const next = begin();
      last.cancel();
      weak.push(new WeakRef(last));
      last = next;
    }
    last.cancel();
  };
  beginMany();
  // What a weak reference was made of stays until others have had a turn.
  await delay(0);
  collectGarbage();
  assertEquals(weak.filter((one) => one.deref()), []);
  held.cancel();
});

/** Ends when nothing is left to wait for. */
const PROGRAM = `
  const { TimeLimit } = await import("${new URL("../../src/util/time_limit.ts", import.meta.url)}");
  new TimeLimit(60_000, () => {}).cancel();
  new TimeLimit(100, () => console.log("in time"));
`;

Deno.test("time limits: a process ends after the last of them, and for none that was cancelled", async () => {
  const { success, stdout } = await new Deno.Command(Deno.execPath(), { args: ["eval", PROGRAM] }).output();
  assertEquals([success, new TextDecoder().decode(stdout)], [true, "in time\n"]);
});

Deno.test("time limits: what is repeated has its turn every so many milliseconds until it is ended", () =>
  withFakeClock(async (clock) => {
    const turns: number[] = [];
    const began = performance.now();
    const end = repeat(50, () => turns.push(performance.now() - began));
    await clock.advance(120);
    assertEquals(turns, [50, 100]);
    end();
    end();
    await clock.advance(200);
    assertEquals(turns, [50, 100]);
    const endItself = repeat(50, () => {
      turns.push(0);
      endItself();
    });
    await clock.advance(200);
    assertEquals(turns, [50, 100, 0]);
  }));
