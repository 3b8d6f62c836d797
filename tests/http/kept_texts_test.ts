import { assertEquals } from "@std/assert";
import { type KeptText, KeptTexts } from "../../src/http/body_memory.ts";

const has = ({ text }: KeptText) => text !== undefined;

Deno.test("kept texts: the oldest make way, and room that is given back counts", () => {
  // A character counts as two bytes.
  const texts = new KeptTexts();
  const [one, two] = [texts.keep("12345", 20), texts.keep("12345", 20)];
  assertEquals([one, two].map(has), [true, true]);
  const three = texts.keep("1", 20);
  assertEquals([one, two, three].map(has), [false, true, true]);
  texts.release(two);
  texts.release(two);
  texts.release(one);
  const four = texts.keep("123456789", 20);
  assertEquals([two, three, four].map(has), [false, true, true]);
});

Deno.test("kept texts: one that is too long is not kept, and all are let go of when memory is short", () => {
  const texts = new KeptTexts();
  const long = texts.keep("12345678901", 20);
  assertEquals(has(long), false);
  const kept = [texts.keep("1", 20), texts.keep("2", 20)];
  texts.releaseAll();
  assertEquals(kept.map(has), [false, false]);
  assertEquals(has(texts.keep("1234567890", 20)), true);
});
