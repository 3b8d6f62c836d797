import { assert, assertEquals, assertStrictEquals } from "@std/assert";
import type { Message } from "../../src/canonical/generate.ts";
import { mendItems } from "../../src/transforms/unpaired_items.ts";

const call = (id: string): Message => ({
  role: "assistant",
  content: [{ type: "tool-call", kind: "function", id, name: "read", input: "{}" }],
});
const result = (id: string): Message => ({
  role: "tool",
  content: [{ type: "tool-result", id, content: [{ type: "text", text: id }] }],
});
const question = (): Message => ({ role: "user", content: [{ type: "text", text: "Go on" }] });
const speech = (): Message => ({ role: "assistant", content: [{ type: "text", text: "Yes" }] });
const ITEMS = [() => call("a"), () => call("b"), () => result("a"), () => result("b"), question, speech];

/** All conversations of so many items. */
function conversations(length: number): Message[][] {
  if (length === 0) return [[]];
  return conversations(length - 1).flatMap((before) => ITEMS.map((newItem) => [...before, newItem()]));
}

/** The calls without a result after which somebody else speaks, and the results without a call before them. */
function lonely(messages: readonly Message[]): number {
  const open: { id: string; at: number }[] = [];
  let strays = 0;
  for (const [at, { role, content: [part] }] of messages.entries()) {
    if (part?.type === "tool-call") open.push({ id: part.id, at });
    if (part?.type !== "tool-result" || role !== "tool") continue;
    const answered = open.findIndex(({ id }) => id === part.id);
    if (answered < 0) strays++;
    else open.splice(answered, 1);
  }
  return strays + open.filter(({ at }) => messages.slice(at).some(({ role }) => role !== "assistant")).length;
}

Deno.test("items: of all short conversations those are mended in which a call or a result has no counterpart", () => {
  for (const messages of [0, 1, 2, 3, 4, 5].flatMap(conversations)) {
    const notes: string[] = [];
    const mended = mendItems(messages, () => false, (note) => notes.push(note));
    assertEquals(notes.length, lonely(messages), JSON.stringify(messages));
    if (notes.length === 0) assertEquals(mended, messages);
    else assert(mended.length > messages.length || mended.some((message) => !messages.includes(message)));
  }
});

Deno.test("items: a conversation in order is the same one", () => {
  const messages = [question(), call("a"), result("a"), speech(), question()];
  assertStrictEquals(mendItems(messages, () => false, () => {}), messages);
});
