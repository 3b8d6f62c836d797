/** Calls and results that do not fit together, from a client to an upstream of its own wire. */
import { assert, assertEquals } from "@std/assert";
import type { JsonObject } from "../../src/canonical/json.ts";
import type { ConfigInput } from "../support/app.ts";
import { CONFIG, listOf, type RequestRow, testRequests } from "./support.ts";

type Turn = { asked: string } | { called: string[] } | { said: string } | { results: Record<string, string> };

/** The turns in each of the wires whose servers insist on the order of results. */
const SPOKEN: Record<"chat" | "messages", (turn: Turn) => JsonObject[]> = {
  chat(turn) {
    if ("asked" in turn) return [{ role: "user", content: turn.asked }];
    if ("said" in turn) return [{ role: "assistant", content: turn.said }];
    if ("results" in turn) {
      return Object.entries(turn.results).map(([id, content]) => ({ role: "tool", tool_call_id: id, content }));
    }
    const calls = turn.called.map((id) => ({ id, type: "function", function: { name: "look", arguments: "{}" } }));
    return [{ role: "assistant", content: null, tool_calls: calls }];
  },
  messages(turn) {
    if ("asked" in turn) return [{ role: "user", content: turn.asked }];
    if ("said" in turn) return [{ role: "assistant", content: turn.said }];
    const content = "results" in turn
      ? Object.entries(turn.results).map(([id, content]) => ({ type: "tool_result", tool_use_id: id, content }))
      : turn.called.map((id) => ({ type: "tool_use", id, name: "look", input: {} }));
    return [{ role: "results" in turn ? "user" : "assistant", content }];
  },
};

/** A model that knows custom tools. */
const VENDORS = {
  ...CONFIG,
  lanes: {
    oss: { models: { responses: { task: "chat", targets: [{ upstream: "responses", model: "gpt-5.2" }] } } },
  },
} satisfies ConfigInput;

interface Case {
  id: string;
  title: string;
  turns: Turn[];
  /** What the upstream gets; the same where nothing is wrong. */
  want?: Turn[];
  noted?: string;
}

const CASES: Case[] = [
  {
    id: "R38",
    title: "calls that have their results are left as they are",
    turns: [
      { asked: "Look" },
      { called: ["call_1", "call_2"] },
      { results: { call_1: "one", call_2: "two" } },
      { called: ["call_1"] },
      { results: { call_1: "three" } },
      { said: "Done" },
      { asked: "Again" },
      { called: ["call_3"] },
    ],
  },
  {
    id: "R38",
    title: "a call that nothing answered is answered as not done",
    turns: [{ asked: "Look" }, { called: ["call_1", "call_2"] }, { results: { call_1: "one" } }, { asked: "And?" }],
    want: [
      { asked: "Look" },
      { called: ["call_1", "call_2"] },
      { results: { call_1: "one", call_2: "The call was not answered" } },
      { asked: "And?" },
    ],
    noted: "added a result for call call_2",
  },
  {
    id: "R39",
    title: "results of tools follow their calls directly",
    turns: [{ asked: "Look" }, { called: ["call_1"] }, { asked: "Also this" }, { results: { call_1: "one" } }],
    want: [{ asked: "Look" }, { called: ["call_1"] }, { results: { call_1: "one" } }, { asked: "Also this" }],
    noted: "moved results",
  },
  {
    id: "R39",
    title: "what is said after a call and before its result belongs to the call's turn",
    turns: [{ asked: "Look" }, { called: ["call_1"] }, { said: "Wait" }, { results: { call_1: "one" } }],
    noted: "moved results",
  },
];

/** Who answers or calls what, in their order; on the messages wire blocks of one turn may stand in several. */
function shape(messages: readonly JsonObject[]): string[] {
  return messages.flatMap(({ role, content, tool_calls, tool_call_id }) => {
    if (role === "tool") return [`result ${tool_call_id}: ${String(content).replace(/^Error: /, "")}`];
    const blocks = Array.isArray(content) ? listOf(content) : content ? [{ type: "text", text: content }] : [];
    return [
      ...blocks.map((block) => {
        if (block.type === "tool_use") return `call ${block.id}`;
        return block.type === "tool_result"
          ? `result ${block.tool_use_id}: ${block.content}`
          : `${role}: ${block.text}`;
      }),
      ...listOf(tool_calls).map(({ id }) => `call ${id}`),
    ];
  });
}

for (const wire of ["chat", "messages"] as const) {
  const spoken = (turns: readonly Turn[]) => turns.flatMap(SPOKEN[wire]);
  testRequests([
    ...CASES.map(({ id, title, turns, want = turns, noted }): RequestRow => ({
      id,
      title: `${title}, of the client's own wire too`,
      upstream: wire,
      bodies: { [wire]: { messages: spoken(turns) } },
      check({ messages }, { headers }) {
        const notes = headers.get("x-laneway-notes");
        if (noted === undefined) assertEquals([messages, notes], [spoken(want), null]);
        else assert(notes?.includes(noted), String(notes));
        const wanted = shape(spoken(want));
        assertEquals([...shape(listOf(messages))].sort(), [...wanted].sort());
        const results = (list: readonly string[]) => list.filter((one) => /^(call|result)/.test(one));
        assertEquals(results(shape(listOf(messages))), results(wanted));
        assertPaired(listOf(messages));
      },
    })),
    {
      id: "R38",
      title: "a result that nothing called for becomes the user's words, of the client's own wire too",
      upstream: wire,
      bodies: { [wire]: { messages: spoken([{ results: { call_1: "one" } }, { asked: "And?" }]) } },
      check({ messages }, { headers }) {
        assertEquals(new Set(listOf(messages).map(({ role }) => role)), new Set(["user"]));
        const said = JSON.stringify(messages);
        assert(said.includes("one") && said.includes("And?") && !said.includes("tool"), said);
        assert(headers.get("x-laneway-notes")?.includes("call_1"));
      },
    },
  ]);
}

const called = (id: string, more: JsonObject = {}): JsonObject => {
  return { type: "function_call", call_id: id, name: "look", arguments: "{}", ...more };
};
const result = (call_id: string, output: string): JsonObject => ({ type: "function_call_output", call_id, output });
const asked = (content: string): JsonObject => ({ type: "message", role: "user", content });

/** On this wire a result may stand anywhere after its call. */
const ITEMS: { title: string; input: JsonObject[]; want?: JsonObject[]; noted?: string }[] = [
  {
    title: "calls that have their results are left as they are, wherever those stand",
    input: [
      asked("Look"),
      called("call_1", { id: "fc_1" }),
      asked("Also this"),
      called("call_2", { id: "fc_2" }),
      result("call_2", "two"),
      result("call_1", "one"),
      called("call_1"),
      result("call_1", "three"),
      called("call_3"),
    ],
  },
  {
    title: "a call that nothing answered is answered as not done",
    input: [asked("Look"), called("call_1"), called("call_2"), result("call_1", "one"), asked("And?")],
    want: [
      asked("Look"),
      called("call_1"),
      called("call_2"),
      result("call_2", "Error: The call was not answered"),
      result("call_1", "one"),
      asked("And?"),
    ],
    noted: "added a result for call call_2",
  },
  {
    title: "a custom tool's call that nothing answered is answered as one",
    input: [{ type: "custom_tool_call", call_id: "call_1", name: "patch", input: "a" }, asked("And?")],
    want: [
      { type: "custom_tool_call", call_id: "call_1", name: "patch", input: "a" },
      { type: "custom_tool_call_output", call_id: "call_1", output: "Error: The call was not answered" },
      asked("And?"),
    ],
    noted: "added a result for call call_1",
  },
  {
    title: "a result that nothing called for becomes the user's words",
    input: [result("call_1", "one"), called("call_2"), result("call_2", "two"), result("call_2", "again")],
    want: [
      said("Result of call_1:", "one"),
      called("call_2"),
      result("call_2", "two"),
      said("Result of call_2:", "again"),
    ],
    noted: "moved the result of call_1",
  },
];

function said(...texts: string[]): JsonObject {
  return { type: "message", role: "user", content: texts.map((text) => ({ type: "input_text", text })) };
}

testRequests(ITEMS.map(({ title, input, want = input, noted }): RequestRow => ({
  id: "R38",
  title: `${title}, of the client's own wire too`,
  config: VENDORS,
  upstream: "responses",
  bodies: { responses: { input } },
  check({ input }, { headers }) {
    assertEquals(input, want);
    const notes = headers.get("x-laneway-notes");
    if (noted === undefined) assertEquals(notes, null);
    else assert(notes?.includes(noted), String(notes));
  },
})));

/** After a turn with calls comes the turn, or the turns, that answer each of them. */
function assertPaired(messages: readonly JsonObject[]): void {
  let open: string[] = [];
  for (const one of shape(messages)) {
    const [kind, id = ""] = one.split(/[ :]+/);
    if (kind === "call") open.push(id);
    else if (kind === "result") open = open.filter((other) => other !== id);
    else if (kind === "user") assertEquals(open, [], "A user speaks after all results");
  }
}
