import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { locateFault } from "../../src/config/load.ts";

for (
  const [name, text, line, column] of [
    ["a bare word", '{\n  "port": yes\n}', 2, 11],
    ["a trailing comma", '{\n  "a": 1,\n}', 3, 1],
    ["a missing comma", '{\n  "a": 1\n  "b": 2\n}', 3, 3],
    ["a key without quotes", "{ a: 1 }", 1, 3],
    ["single quotes", "['a']", 1, 2],
    ["a string that does not end", '["a]', 1, 2],
    ["a bad escape", String.raw`["\x"]`, 1, 2],
    ["a comment", "[1, // one\n 2]", 1, 5],
    ["a file that ends early", '{"a": [1,\n', 2, 1],
    ["text after the end", "{}\n\n}", 3, 1],
    ["a number that is none", "[01]", 1, 3],
  ] as const
) {
  Deno.test(`locateFault: ${name}`, () => assertEquals(locateFault(text), { line, column }));
}

Deno.test("locateFault: finds no fault in JSON", () => {
  fc.assert(fc.property(fc.jsonValue(), fc.constantFrom(undefined, 2, "\t"), (value, indent) => {
    const lines = JSON.stringify(value, null, indent).split("\n");
    assertEquals(locateFault(lines.join("\n")), { line: lines.length, column: lines.at(-1)!.length + 1 });
  }));
});

Deno.test("locateFault: points to what was put into JSON", () => {
  fc.assert(fc.property(fc.array(fc.integer(), { minLength: 1 }), fc.nat(), (numbers, seed) => {
    const position = seed % numbers.length;
    const before = numbers.slice(0, position).map((number) => `${number},`).join("");
    const text = `[${before}?${numbers.slice(position).join(",")}]`;
    assertEquals(locateFault(text), { line: 1, column: before.length + 2 });
  }));
});
