import { assertEquals } from "@std/assert";
import { BoundedMap } from "../../src/util/bounded_map.ts";

Deno.test("bounded map: the entry that was set longest ago makes room", () => {
  const map = new BoundedMap<string, number>(2);
  map.set("a", 1).set("b", 2).set("a", 3).set("c", 4);
  assertEquals([...map], [["a", 3], ["c", 4]]);
});

Deno.test("bounded map: reading an entry does not keep it", () => {
  const map = new BoundedMap<string, number>(2);
  map.set("a", 1).set("b", 2);
  assertEquals(map.get("a"), 1);
  map.set("c", 3);
  assertEquals([...map.keys()], ["b", "c"]);
});
