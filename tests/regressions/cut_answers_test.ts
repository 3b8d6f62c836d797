/** Answers that end in the middle of something: no client takes that for finished. */
import { assertEquals } from "@std/assert";
import type { JsonObject, JsonValue } from "../../src/canonical/json.ts";
import { newApp } from "../support/app.ts";
import { fakeUpstream } from "../support/fake_upstream.ts";
import {
  type Answer,
  ask,
  bodyFor,
  call,
  chatStream,
  chatWhole,
  CONFIG,
  HEADERS,
  listOf,
  type Mode,
  MODES,
  objectOf,
  PATH,
  responseOf,
  testEach,
  TOOLS,
  type View,
} from "./support.ts";

function answerOf(message: JsonObject, finish = "length"): Answer {
  return { whole: chatWhole(message, finish), frames: chatStream([message], finish) };
}

const LOOK = (args: string) => ({ tool_calls: [call("look", args, { index: 0 })] });

function itemsOf({ body, frames }: View): JsonObject[] {
  const last = frames.at(-2);
  return listOf(last ? objectOf(JSON.parse(last.data!).response).output : body.output);
}

/** The items as a stream emitted them. */
function doneIn({ frames }: View): JsonObject[] {
  const items = frames.filter(({ event }) => event === "response.output_item.done");
  return items.map(({ data }) => objectOf(JSON.parse(data!).item));
}

const ITEMS: Record<string, [answer: Answer, statuses: [type: string, status: string][]]> = {
  "a text": [answerOf({ content: "Hel" }), [["message", "incomplete"]]],
  "thoughts": [answerOf({ reasoning_content: "Hm" }), [["reasoning", "incomplete"]]],
  "a text that was filtered": [answerOf({ content: "Hel" }, "content_filter"), [["message", "incomplete"]]],
  "a text after thoughts": [
    answerOf({ reasoning_content: "Hm", content: "Hel" }),
    [["reasoning", "completed"], ["message", "incomplete"]],
  ],
  "a call": [
    answerOf({ content: "I look.", ...LOOK('{"loc') }),
    [["message", "completed"], ["function_call", "incomplete"]],
  ],
  "a call before its arguments": [answerOf(LOOK("")), [["function_call", "incomplete"]]],
  "after a call": [answerOf(LOOK('{"a":1}')), [["function_call", "completed"]]],
  "nowhere": [answerOf({ content: "Hello" }, "stop"), [["message", "completed"]]],
};
for (const [where, [answer, statuses]] of Object.entries(ITEMS)) {
  testEach("B12", `the item in which an answer was cut says so: ${where}`, { clients: ["responses"] }, async (
    client,
    mode,
  ) => {
    const body = bodyFor(client, { tools: TOOLS, stream: mode === "streamed" });
    const view = await ask(client, body, [() => responseOf(answer, mode)]);
    const statusesIn = (items: JsonObject[]) => items.map(({ type, status }) => [type, status]);
    assertEquals<unknown>(statusesIn(itemsOf(view)), statuses);
    if (mode === "streamed") assertEquals<unknown>(statusesIn(doneIn(view)), statuses);
  });
}

testEach("B12", "a whole message does not have the call in which it was cut", {
  clients: ["messages"],
  modes: ["whole"],
}, async (client, mode) => {
  for (const args of ['{"loc', "", '{"a":1,']) {
    const { said, end, headers } = await ask(client, bodyFor(client, { tools: TOOLS }), [
      () => responseOf(answerOf({ content: "I look.", ...LOOK(args) }), mode),
    ]);
    assertEquals([said, end], [[{ text: "I look." }], "length"]);
    assertEquals(headers.get("x-laneway-notes"), "dropped a call of look that was cut off");
  }
  const whole = [() => responseOf(answerOf(LOOK('{"a":1}')), mode)];
  assertEquals((await ask(client, bodyFor(client, { tools: TOOLS }), whole)).said.length, 1);
});

async function askOllama(
  answer: Answer,
  mode: Mode,
): Promise<{ calls: JsonValue[]; lines: JsonObject[]; notes: string }> {
  const app = newApp({ config: CONFIG, fetch: fakeUpstream(() => responseOf(answer, mode)).fetch });
  const tools = TOOLS.map(({ name }) => ({ type: "function", function: { name, parameters: { type: "object" } } }));
  const messages = [{ role: "user", content: "Hello" }];
  const response = await app.post("/oss/api/chat", { model: "chat", stream: mode === "streamed", messages, tools });
  const lines = (await response.text()).trim().split("\n").map((line) => objectOf(JSON.parse(line)));
  const calls = lines.flatMap(({ message }) => listOf(objectOf(message).tool_calls).map((one) => one.function!));
  return { calls, lines, notes: String(app.logs[0]!.notes) };
}

for (const mode of MODES) {
  Deno.test(`B12 ollama: a call that was cut is none, and one before it is · ${mode}`, async () => {
    const first = call("find", "{}", { index: 0 });
    const second = call("look", '{"loc', { index: 1 });
    const { calls, lines, notes } = await askOllama(answerOf({ tool_calls: [first, second] }), mode);
    assertEquals(calls, [{ index: 0, name: "find", arguments: {} }]);
    assertEquals([lines.at(-1)!.done_reason, notes], ["length", "dropped a call of look that was cut off"]);
  });

  Deno.test(`B12 ollama: a call that is whole is there, however the answer ended · ${mode}`, async () => {
    for (const finish of ["length", "tool_calls", "stop"]) {
      const { calls } = await askOllama(answerOf(LOOK('{"a":1}'), finish), mode);
      assertEquals(calls, [{ index: 0, name: "look", arguments: { a: 1 } }]);
    }
  });
}

testEach("B12", "a call that was cut before its arguments is not one without arguments", {}, async (client, mode) => {
  const app = newApp({ config: CONFIG, fetch: fakeUpstream(() => responseOf(answerOf(LOOK("")), mode)).fetch });
  const body = bodyFor(client, { tools: TOOLS, stream: mode === "streamed" });
  const text = await (await app.post(PATH[client], body, HEADERS[client])).text();
  const args = [...text.matchAll(/"(?:arguments|partial_json)":"([^"]*)"/g)].map(([, one]) => one).join("");
  // A whole message does not have the call at all.
  const isThere = client !== "messages" || mode === "streamed";
  assertEquals([args.startsWith("{"), args.includes("}")], [isThere, false]);
});

for (const mode of MODES) {
  Deno.test(`B12 gemini: a call that was cut is none · ${mode}`, async () => {
    for (const args of ["", '{"loc']) {
      const app = newApp({ config: CONFIG, fetch: fakeUpstream(() => responseOf(answerOf(LOOK(args)), mode)).fetch });
      const verb = mode === "streamed" ? "streamGenerateContent?alt=sse" : "generateContent";
      const tools = [{ functionDeclarations: TOOLS.map(({ name }) => ({ name })) }];
      const body = { contents: [{ role: "user", parts: [{ text: "Hello" }] }], tools };
      const text = await (await app.post(`/oss/v1beta/models/chat:${verb}`, body)).text();
      assertEquals([text.includes("functionCall"), text.includes("MAX_TOKENS")], [false, true], args);
    }
  });
}
