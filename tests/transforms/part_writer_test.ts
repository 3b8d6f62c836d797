import { assertEquals, assertThrows } from "@std/assert";
import { collect } from "../../src/canonical/collect.ts";
import type { FinishReason, GenerateEvent, GenerateRequest, GenerateResponse } from "../../src/canonical/generate.ts";
import { PartWriter } from "../../src/transforms/part_writer.ts";
import { GatewayError } from "../../src/errors.ts";
import { assertWellFormed } from "../../src/programs/testing/well_formed.ts";
import { assertCheap } from "../support/cost.ts";

type Script = (writer: PartWriter) => GenerateEvent[][];
const usage = { inputTokens: 5, outputTokens: 7 };

type Asked = Pick<GenerateRequest, "messages" | "tools">;

/** All events of an answer in which the upstream says what the script says. */
function write(script: Script, reason: FinishReason = "stop", asked: Asked = { messages: [] }): GenerateEvent[] {
  const writer = new PartWriter(asked);
  const events: GenerateEvent[] = [
    { type: "start", model: "m", inputTokens: 5 },
    ...script(writer).flat(),
    ...writer.finish({ reason }, usage),
  ];
  assertWellFormed(events);
  return events;
}

const answer = (script: Script, reason?: FinishReason): GenerateResponse => collect(write(script, reason));
const contentOf = (script: Script, asked?: Asked) => collect(write(script, "stop", asked)).content;
const call = (id: string, name: string, input: string) => ({
  type: "tool-call" as const,
  kind: "function" as const,
  id,
  name,
  input,
});

Deno.test("text, then reasoning, then a call are three parts in that order", () => {
  assertEquals(
    contentOf((w) => [w.text("---"), w.reasoning("hm"), w.toolCall("0", { id: "a", name: "f", input: "{}" })]),
    [{ type: "text", text: "---" }, { type: "reasoning", text: "hm" }, call("a", "f", "{}")],
  );
});

Deno.test("the first piece of a new part is not lost, and pieces of one kind are one part", () => {
  assertEquals(
    contentOf((w) => [w.reasoning("x"), w.reasoning("y"), w.text("Hel"), w.text("lo")]),
    [{ type: "reasoning", text: "xy" }, { type: "text", text: "Hello" }],
  );
});

Deno.test("empty pieces open no part", () => {
  assertEquals(contentOf((w) => [w.reasoning(""), w.text(""), w.refusal("")]), []);
  assertEquals(contentOf((w) => [w.text("a"), w.reasoning(""), w.text("b")]), [{ type: "text", text: "ab" }]);
});

Deno.test("a refusal is a part of its own", () => {
  assertEquals(
    contentOf((w) => [w.text("I"), w.refusal("can"), w.refusal("not")]),
    [{ type: "text", text: "I" }, { type: "refusal", text: "cannot" }],
  );
});

Deno.test("calls that come one after the other are streamed as they come", () => {
  const events = write((w) => [
    w.toolCall("0", { id: "a", name: "f", input: '{"a"' }),
    w.toolCall("0", { input: ":1}" }),
    w.toolCall("1", { id: "b", name: "g", input: '{"b"' }),
    w.toolCall("1", { input: ":2}" }),
  ]);
  assertEquals(events.slice(1, -1), [
    { type: "part-start", index: 0, part: call("a", "f", "") },
    { type: "part-delta", index: 0, delta: { type: "tool-input", text: '{"a"' } },
    { type: "part-delta", index: 0, delta: { type: "tool-input", text: ":1}" } },
    { type: "part-end", index: 0 },
    { type: "part-start", index: 1, part: call("b", "g", "") },
    { type: "part-delta", index: 1, delta: { type: "tool-input", text: '{"b"' } },
    { type: "part-delta", index: 1, delta: { type: "tool-input", text: ":2}" } },
    { type: "part-end", index: 1 },
  ]);
});

Deno.test("calls whose fragments interleave are kept apart", () => {
  assertEquals(
    contentOf((w) => [
      w.toolCall("0", { id: "a", name: "f", input: '{"a"' }),
      w.toolCall("1", { id: "b", name: "g", input: '{"b"' }),
      w.toolCall("2", { id: "c", name: "h", input: '{"c"' }),
      w.toolCall("0", { input: ":1}" }),
      w.toolCall("2", { input: ":3}" }),
      w.toolCall("1", { input: ":2}" }),
    ]),
    [call("a", "f", '{"a":1}'), call("b", "g", '{"b":2}'), call("c", "h", '{"c":3}')],
  );
});

Deno.test("a call whose input is not complete keeps the next one waiting", () => {
  assertEquals(
    contentOf((w) => [
      w.toolCall("0", { id: "a", name: "f", input: '{"a":"' }),
      w.toolCall("1", { id: "b", name: "g", input: "{}" }),
      w.toolCall("0", { input: '"}' }),
    ]),
    [call("a", "f", '{"a":""}'), call("b", "g", "{}")],
  );
});

Deno.test("an empty fragment of a call that is over changes nothing", () => {
  assertEquals(
    contentOf((w) => [
      w.toolCall("0", { id: "a", name: "f", input: "{}" }),
      w.toolCall("1", { id: "b", name: "g", input: "{" }),
      w.toolCall("0", { input: "" }),
      w.toolCall("1", { input: "}" }),
    ]),
    [call("a", "f", "{}"), call("b", "g", "{}")],
  );
});

Deno.test("a call waits for its name, and so does its input", () => {
  assertEquals(
    contentOf((w) => [
      w.toolCall("0", { id: "a" }),
      w.toolCall("0", { input: '{"a":' }),
      w.toolCall("0", { name: "f", input: "1" }),
      w.toolCall("0", { input: "}" }),
    ]),
    [call("a", "f", '{"a":1}')],
  );
});

Deno.test("a second call does not start before the first one's late name", () => {
  assertEquals(
    contentOf((w) => [
      w.toolCall("0", { id: "a", input: "{}" }),
      w.toolCall("1", { id: "b", name: "g", input: "{}" }),
      w.toolCall("0", { name: "f" }),
    ]),
    [call("a", "f", "{}"), call("b", "g", "{}")],
  );
});

Deno.test("a call that never gets a name is the upstream's error", () => {
  const error = assertThrows(() => write((w) => [w.toolCall("0", { id: "a", input: "{}" })]), GatewayError);
  assertEquals(error.code, "upstream_error");
});

Deno.test("calls without ids get ids that count", () => {
  assertEquals(
    contentOf((w) => [
      w.toolCall("0", { name: "f", input: "{}" }),
      w.toolCall("1", { id: "", name: "g", input: "{}" }),
      w.toolCall("2", { id: "c", name: "h", input: "{}" }),
    ]),
    [call("call_0", "f", "{}"), call("call_1", "g", "{}"), call("c", "h", "{}")],
  );
});

Deno.test("an id that the conversation has already is not given again", () => {
  const asked: Asked = {
    messages: [{ role: "assistant", content: [call("call_0", "f", "{}"), call("call_7", "f", "{}")] }],
  };
  assertEquals(
    contentOf((w) => [w.toolCall("0", { name: "f", input: "{}" }), w.toolCall("1", { name: "g", input: "{}" })], asked)
      .map((part) => part.type === "tool-call" ? part.id : ""),
    ["call_2", "call_3"],
  );
});

Deno.test("an id and a name that come again do not start another call", () => {
  assertEquals(
    contentOf((w) => [
      w.toolCall("0", { id: "a", name: "f", input: "{" }),
      w.toolCall("0", { id: "a", name: "f", input: "}" }),
    ]),
    [call("a", "f", "{}")],
  );
});

Deno.test("a function called without arguments gets an empty object, a custom tool nothing", () => {
  assertEquals(contentOf((w) => [w.toolCall("0", { id: "a", name: "f" })]), [call("a", "f", "{}")]);
  assertEquals(contentOf((w) => [w.toolCall("0", { id: "a", name: "f", input: " " })]).length, 1);
  assertEquals(
    contentOf((w) => [w.toolCall("0", { id: "a", name: "f", kind: "custom" })]),
    [{ type: "tool-call", kind: "custom", id: "a", name: "f", input: "" }],
  );
});

const CUSTOM: Asked = { messages: [], tools: [{ type: "custom", name: "shell" }, { type: "function", name: "f" }] };
const custom = (id: string, input: string) => ({
  type: "tool-call" as const,
  kind: "custom" as const,
  id,
  name: "shell",
  input,
});

Deno.test("the function that stood in for a custom tool is turned back once its text is whole", () => {
  const events = write(
    (w) => [
      w.toolCall("0", { id: "a", name: "shell", input: '{"inp' }),
      w.toolCall("0", { input: 'ut":"ls \\"x\\""}' }),
      w.toolCall("1", { id: "b", name: "f", input: "{}" }),
    ],
    "stop",
    CUSTOM,
  );
  assertEquals(events.slice(1, 4), [
    { type: "part-start", index: 0, part: custom("a", "") },
    { type: "part-delta", index: 0, delta: { type: "tool-input", text: 'ls "x"' } },
    { type: "part-end", index: 0 },
  ]);
});

Deno.test("a custom tool's input that was not wrapped is taken as it is, in its place", () => {
  assertEquals(
    contentOf((w) => [
      w.toolCall("0", { id: "a", name: "shell", input: "ls -la" }),
      w.toolCall("1", { id: "b", name: "shell", input: '{"command":"ls","dir":"/"}' }),
      w.toolCall("2", { id: "c", name: "shell" }),
      w.toolCall("3", { id: "d", name: "f" }),
    ], CUSTOM),
    [custom("a", "ls -la"), custom("b", '{"command":"ls","dir":"/"}'), custom("c", ""), call("d", "f", "{}")],
  );
});

for (
  const [written, text] of [
    ['{"patch":"ls"}', "ls"],
    ['{"content":"ls"}', "ls"],
    ['"ls"', "ls"],
    ['{"command":["shell","ls"]}', "ls"],
    ['{"command":["ls"]}', "ls"],
    ['{"command":["ls","-la"]}', '{"command":["ls","-la"]}'],
    ['{"input":"ls","why":"x"}', "ls"],
    ['{"lines":3}', '{"lines":3}'],
    ['{"command":[]}', '{"command":[]}'],
    ["[1]", "[1]"],
    ["{}", "{}"],
  ] as const
) {
  Deno.test(`a custom tool's input that came as ${written} is ${text}, whole and in pieces`, () => {
    const pieces = [[written], written.split("")];
    for (const inputs of pieces) {
      const script: Script = (w) => inputs.map((input) => w.toolCall("0", { id: "a", name: "shell", input }));
      assertEquals(contentOf(script, CUSTOM), [custom("a", text)]);
    }
  });
}

Deno.test("a call by an offered name with marks around it is the tool's, and is noted", () => {
  const notes: string[] = [];
  const writer = new PartWriter({ messages: [], tools: [{ type: "function", name: "f" }] }, {
    note: (text) => void notes.push(text),
  });
  const events = [...writer.toolCall("0", { id: "a", name: "f</arg_value>", input: "{}" }), ...writer.endToolCall("0")];
  assertEquals(events[0], { type: "part-start", index: 0, part: call("a", "f", "") });
  assertEquals(notes, ["took marks off the tool name f"]);
});

Deno.test("a call that the upstream ends makes room for the next", () => {
  const events = write((w) => [
    w.toolCall("0", { id: "a", name: "f" }),
    w.toolCall("1", { id: "b", name: "g", input: '{"b"' }),
    w.endToolCall("0"),
    w.toolCall("1", { input: ":2}" }),
  ]);
  assertEquals(events.slice(1, -1).map(({ type }) => type), [
    "part-start",
    "part-delta",
    "part-end",
    "part-start",
    "part-delta",
    "part-delta",
    "part-end",
  ]);
});

Deno.test("text after a call is a part after it", () => {
  assertEquals(
    contentOf((w) => [w.toolCall("0", { id: "a", name: "f", input: "{}" }), w.text("done")]),
    [call("a", "f", "{}"), { type: "text", text: "done" }],
  );
});

Deno.test("what comes with the end of a part is the part's", () => {
  const opaque = { origin: "chat", data: "sig" };
  assertEquals(
    contentOf((w) => {
      const before = w.reasoning("hm");
      w.attach({ opaque });
      return [before, w.reasoning("!"), w.text("a")];
    }),
    [{ type: "reasoning", text: "hm!", opaque }, { type: "text", text: "a" }],
  );
});

Deno.test("a part that comes whole ends the one before it", () => {
  const file = { type: "file" as const, mediaType: "image/png", source: { type: "base64" as const, data: "AA==" } };
  assertEquals(
    contentOf((w) => [w.text("a"), w.whole(file), w.text("b")]),
    [{ type: "text", text: "a" }, file, { type: "text", text: "b" }],
  );
});

Deno.test("stop after a call means that the agent goes on", () => {
  const script: Script = (w) => [w.toolCall("0", { id: "a", name: "f", input: "{}" })];
  assertEquals(answer(script, "stop").finish.reason, "tool-calls");
  assertEquals(answer(script, "other").finish.reason, "tool-calls");
  assertEquals(answer(script, "tool-calls").finish.reason, "tool-calls");
  assertEquals(answer(script, "length").finish.reason, "length");
  assertEquals(answer(script, "content-filter").finish.reason, "content-filter");
});

Deno.test("tool calls as the reason, without a call, are a stop", () => {
  assertEquals(answer((w) => [w.text("done")], "tool-calls").finish.reason, "stop");
  assertEquals(answer((w) => [w.text("cut")], "length").finish.reason, "length");
});

Deno.test("an empty answer is a start and a finish", () => {
  assertEquals(answer(() => []), { model: "m", content: [], finish: { reason: "stop" }, usage });
});

Deno.test("a text between the pieces of a call follows the call and does not cut it", () => {
  for (const kind of ["text", "reasoning"] as const) {
    assertEquals(
      contentOf((w) => [
        w.toolCall("0", { id: "a", name: "f", input: '{"x":' }),
        w[kind]("\n"),
        w.toolCall("0", { input: "1}" }),
        w[kind]("so"),
      ]),
      [call("a", "f", '{"x":1}'), { type: kind, text: "\nso" }],
    );
  }
});

Deno.test("a text after a whole call is told at once", () => {
  const writer = new PartWriter({ messages: [] });
  writer.toolCall("0", { id: "a", name: "f", input: "{}" });
  assertEquals(writer.text("so").map(({ type }) => type), ["part-end", "part-start", "part-delta"]);
});

Deno.test("calls that the upstream gives one id get one each", () => {
  assertEquals(
    contentOf((w) => [
      w.toolCall("0", { id: "a", name: "f", input: "{}" }),
      w.toolCall("1", { id: "a", name: "g", input: "{}" }),
    ]),
    [call("a", "f", "{}"), call("call_0", "g", "{}")],
  );
});

const MANY = 20_000;

Deno.test("very many calls without ids get the ids that are free, at little cost", async () => {
  const taken = Array.from({ length: MANY }, (_, at) => call(`call_${at + MANY}`, "f", "{}"));
  await assertCheap(200, () => {
    const writer = new PartWriter({ messages: [{ role: "assistant", content: taken }] });
    const events = taken.flatMap((_, at) => [
      ...writer.toolCall(`${at}`, { name: "f", input: "{}" }),
      ...writer.endToolCall(`${at}`),
    ]);
    const ids = events.flatMap((event) =>
      event.type === "part-start" && event.part.type === "tool-call" ? [event.part.id] : []
    );
    assertEquals([ids.length, ids[0], ids.at(-1)], [MANY, `call_${2 * MANY}`, `call_${3 * MANY - 1}`]);
  });
});

Deno.test("very many texts within later calls cost little while the first call waits for its name", async () => {
  await assertCheap(200, () => {
    const writer = new PartWriter({ messages: [] });
    const first = writer.toolCall("first", { id: "first", input: "{}" });
    for (let at = 0; at < 4 * MANY; at++) {
      first.push(...writer.toolCall(`${at}`, { id: `${at}`, name: "f", input: "{" }));
      first.push(...writer.text("a"), ...writer.endToolCall(`${at}`));
    }
    assertEquals(first, []);
  });
});
