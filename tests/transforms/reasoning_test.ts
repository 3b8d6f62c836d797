import { assertEquals } from "@std/assert";
import type { GenerateRequest } from "../../src/canonical/generate.ts";
import { markReasoning, withoutForeignReasoning } from "../../src/transforms/reasoning.ts";

const sealed = { type: "reasoning" as const, text: "", opaque: { origin: "messages", data: "c2ln" } };
const signed = { ...sealed, text: "hm" };
const request: GenerateRequest = {
  model: "m",
  stream: false,
  messages: [
    { role: "user", content: [{ type: "text", text: "a" }] },
    { role: "assistant", content: [markReasoning(sealed, "one/m")] },
    { role: "assistant", content: [markReasoning(signed, "one/m"), { type: "text", text: "b" }] },
  ],
};

Deno.test("reasoning: the target that wrote it gets it back as it was", () => {
  const notes: string[] = [];
  assertEquals(withoutForeignReasoning(request, "one/m", (note) => void notes.push(note)), request);
  assertEquals(notes, []);
});

Deno.test("reasoning: another target gets the plain text of it, no turn without content, and the client a note", () => {
  const notes: string[] = [];
  const { messages } = withoutForeignReasoning(request, "two/m", (note) => void notes.push(note));
  assertEquals(messages, [
    { role: "user", content: [{ type: "text", text: "a" }] },
    { role: "assistant", content: [{ type: "reasoning", text: "hm" }, { type: "text", text: "b" }] },
  ]);
  assertEquals(notes, ["dropped reasoning that only another model can read"]);
});

Deno.test("reasoning: what a client brings itself is not judged", () => {
  const own: GenerateRequest = { ...request, messages: [{ role: "assistant", content: [sealed] }] };
  assertEquals(withoutForeignReasoning(own, "two/m", () => {}), own);
});
