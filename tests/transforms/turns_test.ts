import { assertEquals, assertStrictEquals } from "@std/assert";
import fc from "fast-check";
import type { AssistantMessage, Message, ToolMessage } from "../../src/canonical/generate.ts";
import { mendItems } from "../../src/transforms/unpaired_items.ts";
import { arrangeTurns, mendTurns } from "../../src/transforms/turns.ts";
import { assertCheap } from "../support/cost.ts";
import { law } from "../support/law.ts";

const system = (text: string): Message => ({ role: "system", content: [{ type: "text", text }] });
const user = (...texts: string[]): Message => ({
  role: "user",
  content: texts.map((text) => ({ type: "text", text })),
});
const calls = (...ids: string[]): AssistantMessage => ({
  role: "assistant",
  content: ids.map((id) => ({ type: "tool-call", kind: "function", id, name: "f", input: "{}" })),
});
const results = (...ids: string[]): ToolMessage => ({
  role: "tool",
  content: ids.map((id) => ({ type: "tool-result", id, content: [{ type: "text", text: id }] })),
});
const reminder = (text: string) => `<system-reminder>\n${text}\n</system-reminder>`;

function arrange(
  messages: Message[],
  taken: "first" | "anywhere" = "first",
): { turns: readonly Message[]; notes: string[] } {
  const notes: string[] = [];
  return {
    turns: arrangeTurns(messages, { wire: "chat", systemMessages: taken }, (note) => void notes.push(note)),
    notes,
  };
}

Deno.test("instructions before the first turn are one message, and stay first", () => {
  const { turns, notes } = arrange([system("a"), system("b"), user("c")]);
  assertEquals(turns, [
    { role: "system", content: [{ type: "text", text: "a" }, { type: "text", text: "b" }] },
    user("c"),
  ]);
  assertEquals(notes, []);
});

Deno.test("later instructions are said in the user's turn, before or after the user's words", () => {
  const { turns, notes } = arrange([user("a"), system("b"), calls(), system("c"), user("d")]);
  assertEquals(turns, [user("a", reminder("b")), calls(), user(reminder("c"), "d")]);
  assertEquals(notes.length, 2);
});

Deno.test("an upstream that takes instructions anywhere gets them where they were said", () => {
  const messages = [user("a"), system("b"), calls(), system("c"), user("d")];
  assertEquals(arrange(messages, "anywhere"), { turns: messages, notes: [] });
});

Deno.test("nothing stands between calls and their results, wherever instructions are taken", () => {
  const messages = [user("a"), calls("1", "2"), system("b"), results("1"), user("c"), results("2")];
  assertEquals(arrange(messages, "anywhere").turns, [
    user("a"),
    calls("1", "2"),
    results("1"),
    results("2"),
    system("b"),
    user("c"),
  ]);
  assertEquals(arrange(messages).turns.at(-1), user(reminder("b"), "c"));
});

Deno.test("a call that has no result is answered as a failure", () => {
  const { turns, notes } = arrange([user("a"), calls("1", "2"), results("2"), user("b")]);
  const unanswered = {
    role: "tool",
    content: [{
      type: "tool-result",
      id: "1",
      content: [{ type: "text", text: "The call was not answered" }],
      isError: true,
    }],
  };
  assertEquals(turns, [user("a"), calls("1", "2"), unanswered, results("2"), user("b")] as Message[]);
  assertEquals(notes, ["added a result for call 1, which had none"]);
});

Deno.test("results stand in the order of the calls, whichever tool was done first", () => {
  const mixed = { ...results("3", "1"), extra: { wire: "other", fields: { hint: 1 } } };
  const messages = [user("a"), calls("1", "2", "3"), mixed, results("2"), user("b")];
  assertEquals(arrange(messages), {
    turns: [user("a"), calls("1", "2", "3"), results("1"), results("2"), { ...mixed, ...results("3") }, user("b")],
    notes: [],
  });
});

Deno.test("calls at the end wait for their results", () => {
  assertEquals(arrange([user("a"), calls("1")]), { turns: [user("a"), calls("1")], notes: [] });
});

Deno.test("a result that nothing called for is said by the user", () => {
  const { turns, notes } = arrange([user("a"), calls("1"), results("1", "9"), calls()]);
  assertEquals(turns, [user("a"), calls("1"), results("1"), user("Result of 9:", "9"), calls()]);
  assertEquals(notes, ["moved the result of 9, which has no call, into the user turn"]);
});

Deno.test("ids that come again in a later turn belong to the calls of that turn", () => {
  const messages = [user("a"), calls("1"), results("1"), calls("1"), results("1")];
  assertEquals(arrange(messages), { turns: messages, notes: [] });
});

Deno.test("calls of one turn that share an id get one each, and so do their results", () => {
  const result = (id: string, text: string): ToolMessage => ({
    role: "tool",
    content: [{ type: "tool-result", id, content: [{ type: "text", text }] }],
  });
  const messages = [
    user("a"),
    calls("1", "1_2", "1"),
    result("1", "first"),
    result("1_2", "other"),
    result("1", "second"),
  ];
  const notes: string[] = [];
  for (const turns of [arrange(messages).turns, mendTurns(messages, (note) => void notes.push(note))]) {
    assertEquals(turns, [
      user("a"),
      calls("1", "1_2", "1_3"),
      result("1", "first"),
      result("1_2", "other"),
      result("1_3", "second"),
    ]);
  }
  assertEquals(notes, ["renamed a call with the duplicate id 1"]);
});

Deno.test("what only another wire has to say about a message is noted where the message goes", () => {
  const extra = { wire: "other", fields: { hint: 1 } };
  const { turns, notes } = arrange([{ role: "system", content: [], extra }, user("a")]);
  assertEquals(turns, [user("a")]);
  assertEquals(notes, ["dropped hint"]);
});

const anyTurn = fc.oneof(
  fc.constantFrom(system("s"), user("u"), calls()),
  fc.array(fc.constantFrom("1", "2", "3"), { minLength: 1, maxLength: 3 }).map((ids) => calls(...ids)),
  fc.array(fc.constantFrom("1", "2", "3"), { minLength: 1, maxLength: 3 }).map((ids) => results(...ids)),
);

law("turns of the same wire that are mended need it no more", fc.array(anyTurn, { maxLength: 8 }), (turns) => {
  const notes: string[] = [];
  const mended = mendTurns(turns, (note) => void notes.push(note));
  assertEquals(mended !== turns, notes.length > 0, "What is changed is noted, and only that");
  assertStrictEquals(mendTurns(mended, (note) => void notes.push(`again: ${note}`)), mended, notes.join("\n"));
});

Deno.test("items: a result that is one too many takes no later call of the same id its own", () => {
  const notes: string[] = [];
  const messages = [
    calls("a"),
    results("a"),
    results("a"),
    calls("a"),
    results("a"),
    calls("b", "b"),
    results("b", "b"),
  ];
  const mended = mendItems(messages, () => false, (note) => void notes.push(note));
  assertEquals(mended.map(({ role }) => role), ["assistant", "tool", "user", "assistant", "tool", "assistant", "tool"]);
  assertEquals(notes, ["moved the result of a, which has no call, into the user turn"]);
});

/** What no wire but another one has. */
const foreign: Message = {
  role: "user",
  content: [{ type: "opaque", extra: { wire: "messages", fields: { type: "x" } } }],
};

const conversation = fc.array(
  fc.constantFrom(
    system("a"),
    user("b"),
    user("c", "d"),
    user(),
    calls(),
    calls("1"),
    calls("2", "1"),
    calls("3", "3"),
    results("1"),
    results("2"),
    results("2", "1"),
    results("1", "2"),
    results("3", "3"),
    results(),
    { role: "assistant", content: [{ type: "text", text: "e" }] } as Message,
    foreign,
  ),
  { maxLength: 8 },
);

// Two calls under one id, for which the whole conversation is arranged step by step.
law("a conversation that is in order already is arranged like every other one", conversation, (messages) => {
  if (messages.at(-1)?.role === "assistant" || messages.at(-1) === foreign) return;
  for (const taken of ["first", "anywhere"] as const) {
    const before = structuredClone(messages);
    const { turns, notes } = arrange(messages, taken);
    const longer = arrange([...messages, calls("9", "9"), results("9", "9")], taken);
    // What the assistant said last would go on.
    if (turns.at(-1)?.role === "assistant") return;
    const [first, second] = results("9", "9").content;
    const end = { role: "tool", content: [first!, { ...second!, id: "9_2" }] } as ToolMessage;
    assertEquals(longer.turns, [...turns, calls("9", "9_2"), end]);
    assertEquals(longer.notes.toSorted(), [...notes, "renamed a call with the duplicate id 9"].toSorted());
    assertEquals(messages, before);
  }
});

Deno.test("turns that are in order are the same turns", () => {
  const messages = [system("a"), user("b"), calls("1", "2"), results("1"), results("2"), user("c")];
  assertStrictEquals(arrange(messages, "anywhere").turns, messages);
  assertEquals(arrange(messages).turns.every((turn, at) => turn === messages[at]), true);
});

Deno.test("very many outputs of one turn, each with a field of its own, are joined at little cost", async () => {
  const fieldOf = (at: number) => ({ [`field_${at}`]: at });
  const outputs = Array.from({ length: 20_000 }, (_, at): AssistantMessage => ({
    ...calls(`${at}`),
    extra: { wire: "chat", fields: fieldOf(at) },
  }));
  for (const arrangeAll of [arrange, (messages: Message[]) => ({ turns: mendTurns(messages, () => {}) })]) {
    await assertCheap(200, () => {
      const { turns } = arrangeAll([user("a"), ...outputs]);
      assertEquals([turns.length, turns[1]!.content.length], [2, outputs.length]);
      assertEquals(Object.keys(turns[1]!.extra!.fields).length, outputs.length);
    });
  }
});
