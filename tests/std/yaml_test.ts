import { parse, parseAll } from "@std/yaml";
import { assertEquals, assertThrows } from "@std/assert";

Deno.test("@std/yaml: one document is read, and several are", () => {
  assertEquals(parse("a: [1, two]\n"), { a: [1, "two"] });
  assertEquals(parseAll("a: 1\n---\nb: 2\n"), [{ a: 1 }, { b: 2 }]);
  assertThrows(() => parse("a: 1\n---\nb: 2\n"), Error);
});
