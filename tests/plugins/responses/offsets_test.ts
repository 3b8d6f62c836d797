import { assertEquals } from "@std/assert";
import { toCodePoints, toUnits } from "../../../plugins/responses/offsets.ts";

Deno.test("offsets: places count code points on the wire and UTF-16 units inside", () => {
  const text = "🙂 a🙂b";
  assertEquals([0, 2, 3, 4, 6, 7].map((units) => toCodePoints(text, units)), [0, 1, 2, 3, 4, 5]);
  assertEquals([0, 1, 2, 3, 4, 5].map((points) => toUnits(text, points)), [0, 2, 3, 4, 6, 7]);
});

Deno.test("offsets: a place far beyond the text takes no time", () => {
  assertEquals([toCodePoints("🙂", 1e15), toUnits("🙂", 1e15)], [1e15 - 1, 1e15 + 1]);
});
