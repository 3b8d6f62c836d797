import { assert, assertEquals } from "@std/assert";
import process from "node:process";
import { OpenItems } from "../../../plugins/responses/open_items.ts";

Deno.test("open items: what is forgotten leaves the order of those without names", () => {
  const items = new OpenItems();
  for (const key of ["a", "b", "c", "d"]) items.begin(key, "message");
  items.forget("b");
  assertEquals([0, 1, 2].map((at) => items.find({ type: "message" }, at)), ["a", "c", "d"]);
  items.forget("a");
  items.begin("e", "message");
  assertEquals([0, 1, 2].map((at) => items.find({ type: "message" }, at)), ["c", "d", "e"]);
});

Deno.test("open items: forgetting most of many costs little", () => {
  const count = 300_000;
  const items = new OpenItems();
  for (let at = 0; at < count; at++) items.begin(`i${at}`, "message");
  const before = process.threadCpuUsage();
  for (let at = count / 2; at < count; at++) items.forget(`i${at}`);
  assertEquals(items.find({ type: "message" }, count / 2), `#${count}`);
  const { user } = process.threadCpuUsage(before);
  // It takes 0.1 s. A walk through the order for each of them would take a minute.
  assert(user < 3_000_000, `${user} µs`);
});
