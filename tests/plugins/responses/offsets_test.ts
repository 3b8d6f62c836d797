import { assertEquals } from "@std/assert";
import { messageEnd, serializeContent } from "../../../plugins/responses/content.ts";
import { offsetsIn } from "../../../plugins/responses/offsets.ts";
import { assertCheap } from "../../support/cost.ts";
import { newContext } from "../../support/context.ts";

Deno.test("offsets: places count code points on the wire and UTF-16 units inside", () => {
  const { toCodePoints, toUnits } = offsetsIn("🙂 a🙂b");
  assertEquals([0, 1, 2, 3, 4, 5, 6, 7].map(toCodePoints), [0, 1, 1, 2, 3, 4, 4, 5]);
  assertEquals([0, 1, 2, 3, 4, 5].map(toUnits), [0, 2, 3, 4, 6, 7]);
});

Deno.test("offsets: half a pair is a code point of its own", () => {
  const { toCodePoints, toUnits } = offsetsIn("\ud83d🙂\ude42a");
  assertEquals([0, 1, 3, 4, 5].map(toCodePoints), [0, 1, 2, 3, 4]);
  assertEquals([0, 1, 2, 3, 4].map(toUnits), [0, 1, 3, 4, 5]);
});

Deno.test("offsets: a place far beyond the text takes no time", () => {
  const { toCodePoints, toUnits } = offsetsIn("🙂");
  assertEquals([toCodePoints(1e15), toUnits(1e15)], [1e15 - 1, 1e15 + 1]);
});

Deno.test("offsets: thousands of citations of a long text cost little, both ways", async () => {
  const count = 20_000;
  const text = `🙂${"—".repeat(count * 100)}`;
  const annotations = Array.from({ length: count }, (_, index) => ({
    type: "url_citation",
    url: "https://cited.test",
    title: "Cited",
    start_index: (count - index) * 100 - 9,
    end_index: (count - index) * 100,
  }));
  const part = { type: "output_text", text, annotations };
  await assertCheap(200, () => {
    const end = messageEnd(part, {});
    assertEquals(serializeContent([{ type: "text", text, ...end }], newContext(), "output"), [part]);
    assertEquals(end.annotations?.[0]?.start, count * 100 - 8);
  });
});
