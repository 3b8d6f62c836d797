import { assert } from "@std/assert";
import type { FilePart, Message } from "../../src/canonical/generate.ts";
import { holdsPart } from "../../src/canonical/part_types.ts";

const PICTURE: FilePart = {
  type: "file",
  mediaType: "image/png",
  source: { type: "url", url: "https://example.org/a.png" },
};
const question: Message = { role: "user", content: [{ type: "text", text: "What is it?" }] };
const result: Message = { role: "tool", content: [{ type: "tool-result", id: "a", content: [PICTURE] }] };

Deno.test("a part is found in any message, and inside the result of a tool", () => {
  assert(!holdsPart([question], "file"));
  assert(holdsPart([question, { role: "user", content: [PICTURE] }], "file"));
  assert(holdsPart([question, result], "file"));
  assert(holdsPart([question, result], "tool-result"));
  assert(!holdsPart([question, result], "opaque"));
});

Deno.test("a longer list of the same messages is looked through anew", () => {
  const messages = [question];
  assert(!holdsPart(messages, "file"));
  assert(holdsPart([...messages, result], "file"));
});
