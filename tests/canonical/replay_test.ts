import { assert, assertEquals } from "@std/assert";
import { collect } from "../../src/canonical/collect.ts";
import type { GenerateResponse } from "../../src/canonical/generate.ts";
import { replay } from "../../src/canonical/replay.ts";
import { assertWellFormed } from "../../src/programs/testing/well_formed.ts";

const response: GenerateResponse = {
  model: "m",
  content: [
    { type: "reasoning", text: " Two\n\nand two ", opaque: { origin: "x", data: "sig" } },
    {
      type: "text",
      text: "The answer  is 4.\n",
      annotations: [{ type: "url-citation", url: "https://example.org" }],
      extra: { wire: "x", fields: { mark: true } },
    },
    { type: "refusal", text: "No more" },
    { type: "tool-call", kind: "function", id: "a", name: "f", input: '{"a": "b c"}' },
    { type: "file", mediaType: "image/png", source: { type: "base64", data: "AA==" } },
    { type: "opaque", extra: { wire: "x", fields: { type: "new" } } },
    { type: "text", text: "" },
    { type: "text", text: "   " },
  ],
  finish: { reason: "stop", stopSequence: "END" },
  usage: { inputTokens: 20, outputTokens: 9, cachedInputTokens: 3 },
  extra: { wire: "x", fields: { served_by: "y" } },
};

Deno.test("a replayed answer is a well-formed stream that tells the same", () => {
  const events = [...replay(response)];
  assertWellFormed(events);
  assertEquals(collect(events), response);
});

Deno.test("what belongs to a whole part comes with its end", () => {
  const events = [...replay(response)];
  assertEquals(events[1], { type: "part-start", index: 0, part: { type: "reasoning", text: "" } });
  assertEquals(events.find(({ type }) => type === "part-end"), {
    type: "part-end",
    index: 0,
    opaque: { origin: "x", data: "sig" },
  });
});

Deno.test("text is replayed word by word", () => {
  const words = [...replay({ ...response, content: [{ type: "text", text: "One two,\n three. " }] })]
    .flatMap((event) => event.type === "part-delta" ? [event.delta.text] : []);
  assertEquals(words, ["One", " two,", "\n three. "]);
});

Deno.test("an answer whose usage is not known starts with a token nevertheless", () => {
  const [start] = replay({ ...response, usage: { inputTokens: 0, outputTokens: 0 } });
  assert(start?.type === "start" && start.inputTokens === 1);
});

for (const unit of ["word ", "a ", " ", "a", "\n\n", "word  \n"]) {
  for (const length of [1, 10, 50_000, 1_000_000]) {
    Deno.test(`a text of ${length} times ${JSON.stringify(unit)} is told in pieces, of which none is empty and few are many`, () => {
      const text = unit.repeat(length / unit.length + 1);
      const events = [...replay({ ...response, content: [{ type: "text", text }] })];
      const pieces = events.flatMap((event) => event.type === "part-delta" ? [event.delta.text] : []);
      assertEquals(pieces.join("") === text, true);
      assert(pieces.every((piece) => piece !== ""));
      assert(pieces.length <= 100_000 / 2, `${pieces.length} pieces`);
    });
  }
}
