import { assert, assertEquals } from "@std/assert";
import { formatNotes } from "../../src/http/notes.ts";

Deno.test("notes: each is said once, in order", () => {
  assertEquals(formatNotes(["dropped top_k", "dropped user", "dropped top_k"]), "dropped top_k; dropped user");
});

Deno.test("notes: what they hold fits into a header", () => {
  const text = formatNotes(["dropped tool Übersetzer 🛠", "dropped a\r\nset-cookie: x=1"]);
  assertEquals(text, "dropped tool ?bersetzer ??; dropped a??set-cookie: x=1");
  assertEquals(new Headers({ "x-laneway-notes": text }).get("x-laneway-notes"), text);
});

Deno.test("notes: they are 4 kB at most", () => {
  const text = formatNotes(Array.from({ length: 1_000 }, (_, index) => `dropped field_${index}`));
  assertEquals(text.length, 4_096);
  assert(text.startsWith("dropped field_0; dropped field_1;") && text.endsWith("..."));
});
