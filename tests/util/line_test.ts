import { assertEquals } from "@std/assert";
import { Line } from "../../src/util/line.ts";

Deno.test("line: first come, first served, also after it was empty", () => {
  const line = new Line<number>();
  assertEquals([line.first, line.shift(), line.length], [undefined, undefined, 0]);
  for (let round = 0; round < 3; round++) {
    for (const item of [1, 2, 3]) line.push(item);
    assertEquals([line.shift(), line.first, line.length], [1, 2, 2]);
    line.push(4);
    assertEquals([line.shift(), line.shift(), line.shift(), line.shift(), line.length], [2, 3, 4, undefined, 0]);
  }
});
