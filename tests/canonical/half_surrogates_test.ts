import { assertEquals } from "@std/assert";
import { replaceHalves, toArgumentsText } from "../../src/canonical/half_surrogates.ts";

const CASES = [
  { name: "a high half", given: String.raw`"a \ud83d b"`, read: "a \ufffd b" },
  { name: "a low half", given: String.raw`"a \udc00 b"`, read: "a \ufffd b" },
  { name: "a pair stays", given: String.raw`"\ud83d\ude00"`, read: "\u{1f600}" },
  { name: "capitals", given: String.raw`"\uD83D\uDE00\uDE00"`, read: "\u{1f600}\ufffd" },
  { name: "two high halves", given: String.raw`"\ud83d\ud83d\ude00"`, read: "\ufffd\u{1f600}" },
  { name: "halves in the wrong order", given: String.raw`"\ude00\ud83d"`, read: "\ufffd\ufffd" },
  { name: "the text of an escape stays", given: String.raw`"\\ud83d"`, read: String.raw`\ud83d` },
  { name: "a backslash before a half", given: String.raw`"\\\ud83d"`, read: "\\\ufffd" },
  { name: "a half after the text of an escape", given: String.raw`"\\ud83d\ude00"`, read: "\\ud83d\ufffd" },
  { name: "the text of an escape after a half", given: String.raw`"\ud83d\\ude00"`, read: "\ufffd\\ude00" },
];

for (const { name, given, read } of CASES) {
  Deno.test(`half surrogates in JSON: ${name}`, () => {
    const replaced = replaceHalves(given);
    assertEquals(JSON.parse(replaced), read);
    assertEquals(replaced.length, given.length);
  });
}

Deno.test("the arguments of a call have no half surrogates, as an object or as text", () => {
  assertEquals(JSON.parse(toArgumentsText({ q: "a \ud83d" })), { q: "a \ufffd" });
  assertEquals(JSON.parse(toArgumentsText(String.raw`{"q":"a \ud83d"}`)), { q: "a \ufffd" });
});

Deno.test("a long run of backslashes takes no longer than other texts", () => {
  const given = `"${"\\".repeat(2_000_000)}\\ud83d"`;
  assertEquals(replaceHalves(given), given.replace("\\ud83d", "\\ufffd"));
});
