import { assert, assertEquals } from "@std/assert";
import { hint } from "../../src/config/hint.ts";

const known = ["hostname", "port", "baseUrl", "timeouts"];

for (
  const [name, meant] of [
    ["prot", "port"],
    ["ports", "port"],
    ["Port", "port"],
    ["base_url", "baseUrl"],
    ["baseurl", "baseUrl"],
    ["timeuot", "timeouts"],
    ["hostnaem", "hostname"],
  ] as const
) {
  Deno.test(`hint: "${name}" means "${meant}"`, () => assertEquals(hint(name, known), `; did you mean "${meant}"?`));
}

Deno.test("hint: a name like none of them gets the whole list", () => {
  assertEquals(hint("colour", ["hostname", "port"]), '; known: "hostname", "port"');
});

Deno.test("hint: of very many names the first are listed", () => {
  const text = hint("colour", Array.from({ length: 60 }, (_, index) => `upstream-${index}`));
  assert(text.endsWith('"upstream-49" and 10 more'), text);
});

Deno.test("hint: short names are not confused with each other", () => {
  assertEquals(hint("ab", ["cd"]), '; known: "cd"');
});

Deno.test("hint: the nearest name wins", () => {
  assertEquals(hint("sandbix", ["sandbags", "sandbox"]), '; did you mean "sandbox"?');
});

Deno.test("hint: names that are too long to compare are still listed", () => {
  const long = "a".repeat(100_000);
  assertEquals(hint(`${long}b`, [long]), `; known: "${long}"`);
});

Deno.test("hint: nothing to say where nothing is known", () => assertEquals(hint("x", []), ""));
