import { assertEquals, assertRejects } from "@std/assert";
import { Turns } from "../../src/util/turns.ts";

Deno.test("turns: one runs at a time, in order, after failures too, and who has left is passed over", async () => {
  const turns = new Turns();
  const { signal } = new AbortController();
  const done: string[] = [];
  const first = Promise.withResolvers<void>();
  const run = (name: string) => turns.take(() => void done.push(name), signal);
  const left = new AbortController();
  const all = [
    turns.take(() => first.promise.then(() => void done.push("first")), signal),
    assertRejects(() => turns.take(() => Promise.reject(new RangeError("failed")), signal), RangeError, "failed"),
    assertRejects(() => turns.take(() => void done.push("left"), left.signal), Error, "has left"),
    run("last"),
  ];
  left.abort(new Error("has left"));
  assertEquals(done, []);
  first.resolve();
  await Promise.all(all);
  assertEquals(done, ["first", "last"]);
});
