import { assertEquals } from "@std/assert";
import { every } from "../../src/util/every.ts";

/** Intervals that `turn` runs by hand; `count` is how many there are. */
function withIntervals(test: (turn: (ms: number) => void, count: () => number) => void): void {
  const running = new Map<number, { run: () => void; ms: number }>();
  let made = 0;
  const { setInterval, clearInterval } = globalThis;
  Object.assign(globalThis, {
    setInterval(run: () => void, ms: number) {
      running.set(++made, { run, ms });
      return made;
    },
    clearInterval: (id: number) => void running.delete(id),
  });
  try {
    test((ms) => running.forEach((one) => one.ms === ms && one.run()), () => running.size);
  } finally {
    Object.assign(globalThis, { setInterval, clearInterval });
  }
}

Deno.test("every: whoever has the same period shares one timer, which ends with the last of them", () => {
  withIntervals((turn, count) => {
    const log: string[] = [];
    const ends = ["a", "b"].map((name) => every(20, () => log.push(name)));
    const endOther = every(50, () => log.push("c"));
    assertEquals(count(), 2);
    turn(20);
    assertEquals(log.splice(0), ["a", "b"]);
    ends[0]!();
    ends[0]!();
    turn(20);
    turn(50);
    assertEquals([log.splice(0), count()], [["b", "c"], 2]);
    ends[1]!();
    assertEquals(count(), 1);
    endOther();
    assertEquals(count(), 0);
  });
});

Deno.test("every: one that ends itself, or begins another, takes no turn from the rest", () => {
  withIntervals((turn, count) => {
    const log: string[] = [];
    let endThird = () => {};
    const endFirst = every(20, () => {
      log.push("first");
      endFirst();
      endThird = every(50, () => log.push("third"));
    });
    const endSecond = every(20, () => log.push("second"));
    turn(20);
    turn(20);
    turn(50);
    assertEquals(log, ["first", "second", "second", "third"]);
    endSecond();
    endThird();
    assertEquals(count(), 0);
  });
});
