import { assert, assertEquals } from "@std/assert";
import { isSameItem, OpenItems } from "../../../plugins/responses/open_items.ts";
import type { OutputItem } from "../../../plugins/responses/wire.ts";
import { parseJson } from "../../../src/canonical/json.ts";
import { assertCheap } from "../../support/cost.ts";

Deno.test("open items: what is forgotten before the list of all is read has no place in it", () => {
  const items = new OpenItems();
  for (const key of ["a", "b", "c", "d"]) items.begin(key, "message");
  items.forget("b");
  assertEquals(items.find({ type: "message" }, 0), "a");
  // What is forgotten while the list is read moves nothing of it.
  items.forget("a");
  assertEquals([1, 2, 3].map((at) => items.find({ type: "message" }, at)), ["c", "d", "#4"]);
});

Deno.test("open items: forgetting most of many costs little, while their list is read as well", async () => {
  const count = 300_000;
  await assertCheap(200, () => {
    const items = new OpenItems();
    for (let at = 0; at < count; at++) items.begin(`i${at}`, "message");
    for (let at = count / 2; at < count; at++) items.forget(`i${at}`);
    assertEquals(items.find({ type: "message" }, count / 2), `#${count}`);
    for (let at = 0; at < count / 2; at++) {
      assertEquals(items.find({ type: "message" }, at), `i${at}`);
      items.forget(`i${at}`);
    }
  });
});

const same = (one: string, other: string) => isSameItem(parseJson(one) as OutputItem, parseJson(other) as OutputItem);

Deno.test("same item: neither the status nor the order of fields makes another", () => {
  assert(
    same(
      '{"type":"a","id":"1","status":"in_progress","b":[{"c":1,"d":null}]}',
      '{"b":[{"d":null,"c":1}],"id":"1","type":"a"}',
    ),
  );
  const one = '{"type":"a","b":[1,{"c":2}]}';
  for (
    const other of [
      '{"type":"a"}',
      '{"type":"a","b":[1]}',
      '{"type":"a","b":[1,{"c":3}]}',
      '{"type":"a","b":[1,{"d":2}]}',
    ]
  ) {
    assertEquals([same(one, other), same(other, one)], [false, false], other);
  }
});

Deno.test("same item: numbers that a double cannot hold are compared digit by digit", () => {
  assert(same('{"type":"a","b":9007199254740993}', '{"type":"a","b":9007199254740993}'));
  assertEquals(same('{"type":"a","b":9007199254740993}', '{"type":"a","b":9007199254740995}'), false);
});

Deno.test("same item: many small items beside a large one cost little", async () => {
  const done: OutputItem = {
    type: "message",
    id: "x",
    content: [{ type: "output_text", text: "b".repeat(5_000_000) }],
  };
  await assertCheap(200, () => {
    for (let at = 0; at < 20_000; at++) assertEquals(isSameItem(done, { type: "message" }), false);
  });
});
