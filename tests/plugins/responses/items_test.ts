import { assertEquals } from "@std/assert";
import { parseOther } from "../../../plugins/responses/parse_items.ts";
import { assertCheap } from "../../support/cost.ts";

const wordsOf = (content: string) => parseOther({ type: "screenshot", content }).standIn;

Deno.test("items in words: bytes are left out, with what says what they are", () => {
  const bytes = "iVBOR".repeat(200);
  assertEquals(wordsOf(`a data:image/png;base64,${bytes}== b`), "[screenshot: a ... b]");
  assertEquals(wordsOf(`(${bytes})`), "[screenshot: (...)]");
  assertEquals(wordsOf("iVBOR".repeat(99)), `[screenshot: ${"iVBOR".repeat(99)}]`);
});

Deno.test("items in words: text that looks like bytes everywhere, and is too short to be some, is cheap to read", async () => {
  const text = `data:${"a".repeat(494)} `.repeat(4_000);
  await assertCheap(100, () => assertEquals(wordsOf(text), `[screenshot: ${text}]`));
});

Deno.test("items in words: a picture of any size is left out, and cheap to leave out", async () => {
  const picture = "iVBOR".repeat(6_000_000);
  assertEquals(wordsOf(`a ${picture}== b data:image/png;base64,${picture}`), "[screenshot: a ... b ...]");
  await assertCheap(40, () => wordsOf(picture));
});
