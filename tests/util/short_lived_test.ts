/**
 * What is listed while a request runs must be collected soon after it. V8 (15) replaces the table of a `Set` or `Map` that changes all
 * the time, and the old table refers to the new one. A list that grew old would keep everything that was ever in it until the next
 * collection of the whole heap.
 */
import { assert } from "@std/assert";
import { getHeapSpaceStatistics } from "node:v8";
import { collectGarbage } from "../../src/util/collect_garbage.ts";
import { Feed } from "../../src/observe/feed.ts";
import { Dependents } from "../../src/util/abort.ts";
import { every } from "../../src/util/every.ts";
import { heldBy } from "../support/heap.ts";

/** Lists something that leads to the ballast. The returned function takes it out again. */
type Enter = (ballast: number[]) => () => void;

const LISTS: Record<string, () => Enter> = {
  dependents() {
    const dependents = new Dependents(new AbortController().signal);
    return (ballast) => {
      const dependent = dependents.add(Object.assign(new AbortController(), { ballast }));
      return () => dependents.delete(dependent);
    };
  },
  feed() {
    const feed = new Feed();
    let count = 0;
    return (ballast) => {
      const id = `req_${count++}`;
      feed.begin(id, { entry: {}, elapsedMs: () => ballast.length }, new Headers());
      return () => feed.end({ time: "", id, method: "POST", path: "/", status: 200, durationMs: 1 });
    };
  },
  every() {
    return (ballast) => every(60_000, () => void ballast.length);
  },
};

const [AT_ONCE, COUNT, NUMBERS] = [8, 20_000, 1_000];
/** A quarter of what the ballast takes. The feed keeps its latest thousand entries, which grow old by right. */
const MOST_BYTES = (COUNT * NUMBERS * 8) / 4;

for (const [name, open] of Object.entries(LISTS)) {
  Deno.test(`short-lived: ${name} let go of what has left, and do not take it with them into old age`, () => {
    const enter = open();
    const inside: (() => void)[] = [];
    const come = () => inside.push(enter(new Array(NUMBERS).fill(1)));
    for (let at = 0; at < AT_ONCE; at++) come();
    collectGarbage();
    collectGarbage();

    const before = oldBytes();
    let most = 0;
    for (let at = 0; at < COUNT; at++) {
      come();
      inside.shift()!();
      if (at % 100 === 0) most = Math.max(most, oldBytes() - before);
    }
    for (const leave of inside) leave();
    assert(most < MOST_BYTES, `${most} bytes grew old`);
  });
}

const MANY = 100_000;

for (const [name, open] of Object.entries(LISTS)) {
  Deno.test(`short-lived: ${name} keep no place for what has left`, async () => {
    const enter = open();
    const leaveLast = enter([]);
    const comeAndGo = () => {
      for (let at = 0; at < MANY; at++) enter([])();
      return enter;
    };
    comeAndGo();
    const bytes = await heldBy(comeAndGo) / MANY;
    leaveLast();
    assert(bytes < 10, `${bytes} bytes are left of each`);
  });
}

function oldBytes(): number {
  const old = getHeapSpaceStatistics().find(({ space_name }) => space_name === "old_space");
  return old!.space_used_size;
}
