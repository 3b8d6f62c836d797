/** What the page of sessions is given: the conversations of agents, their turns, and what each turn added. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { CONFIG, type ConfigInput, ENV, newApp, type TestApp, type TestAppOptions } from "../support/app.ts";
import { answerWhole } from "../support/chat.ts";

const RECORD: ConfigInput = { ...CONFIG, console: { record: {} } };
const SESSION = { "x-claude-code-session-id": "c7d1" };

const recorder = (options: TestAppOptions = {}) =>
  newApp({ fetch: () => Promise.resolve(answerWhole()), config: RECORD, ...options });

const user = (text: string) => ({ role: "user", content: text });
const CALL = {
  role: "assistant",
  content: [
    { type: "text", text: "I look." },
    { type: "tool_use", id: "toolu_1", name: "read_file", input: { path: "a.ts" } },
  ],
};
const RESULT = {
  role: "user",
  content: [{ type: "tool_result", tool_use_id: "toolu_1", content: `${"const a = 1; ".repeat(500)}` }],
};
const TOOLS = [{ name: "read_file", input_schema: { type: "object", properties: { path: { type: "string" } } } }];

async function ask(app: TestApp, messages: unknown[], headers: HeadersInit = SESSION, more: object = {}) {
  const body = { model: "model", max_tokens: 100, system: "You are an agent.", tools: TOOLS, messages, ...more };
  const response = await app.post("/oss/v1/messages", body, headers);
  assertEquals(response.status, 200, await response.text());
}

// deno-lint-ignore no-explicit-any -- what a page gets is looked into here and there
async function get(app: TestApp, path: string): Promise<any> {
  const response = await app.get(`/console/api/${path}`);
  assertEquals(response.status, 200, path);
  return await response.json();
}

async function only(app: TestApp) {
  const { data } = await get(app, "sessions");
  assertEquals(data.length, 1);
  return await get(app, `session?id=${encodeURIComponent(data[0].id)}`);
}

const turnOf = (app: TestApp, id: string, before = "") => get(app, `session/turn?id=${id}&before=${before}`);

Deno.test("sessions: the turns of an agent are one row, with its tools", async () => {
  const app = recorder();
  await ask(app, [user("Look at a.ts")]);
  await ask(app, [user("Look at a.ts"), CALL, RESULT]);
  await ask(app, [user("Something else")], { "x-claude-code-session-id": "other" });
  const { data } = await get(app, "sessions");
  assertEquals(
    data.map(({ name, turns, tools }: { name: string; turns: number; tools: object }) => [name, turns, tools]),
    [
      ["other", 1, {}],
      ["c7d1", 2, { read_file: 1 }],
    ],
  );
});

Deno.test("sessions: counting tokens is no turn", async () => {
  const app = recorder();
  await ask(app, [user("Look at a.ts")]);
  const counted = await app.post("/oss/v1/messages/count_tokens", { model: "model", messages: [user("Hi")] }, SESSION);
  assertEquals(counted.status, 200, await counted.text());
  assertEquals((await only(app)).data.length, 1);
});

Deno.test("sessions: a client that names none is known by the beginning of its conversation", async () => {
  const app = recorder();
  await ask(app, [user("Look at a.ts")], {});
  await ask(app, [user("Look at a.ts"), CALL, RESULT], {});
  await ask(app, [user("Something else")], {});
  const { data } = await get(app, "sessions");
  assertEquals(data.map(({ name, turns }: { name?: string; turns: number }) => [name, turns]), [[undefined, 1], [
    undefined,
    2,
  ]]);
});

Deno.test("sessions: a turn has the messages that it added, its answer, and what fills its context", async () => {
  const app = recorder();
  await ask(app, [user("Look at a.ts")]);
  await ask(app, [user("Look at a.ts"), CALL, RESULT, user("And now?")]);
  const { data: [first, second] } = await only(app);
  const one = await turnOf(app, first.id);
  assertEquals(one.messages.map(({ role }: { role: string }) => role), ["system", "user"]);
  assertEquals(one.answers.length, 1);
  assertEquals(one.answers[0].output.content[0].type, "text");
  const other = await turnOf(app, second.id, first.id);
  assertEquals(
    other.messages.map(({ role }: { role: string }) => role),
    ["tool", "user"],
    "The turn before shows its answer",
  );
  assertEquals(other.tools, { toolu_1: "read_file" });
  assertEquals([other.changes.same, other.changes.before, other.changes.system], [1, 1, false]);
  const [largest] = other.composition;
  assertEquals([largest.kind, largest.tool], ["results", "read_file"]);
  assert(largest.tokens > 1_500, `${largest.tokens}`);
});

Deno.test("sessions: what changed at the beginning of a conversation is named", async () => {
  const app = recorder();
  await ask(app, [user("Look at a.ts")]);
  const tools = [{ name: "grep", input_schema: { type: "object" } }, ...TOOLS];
  await ask(app, [user("Look at b.ts"), CALL, RESULT], SESSION, { tools, system: "It is noon." });
  const { data: [first, second] } = await only(app);
  const { changes, messages } = await turnOf(app, second.id, first.id);
  assertEquals(changes, {
    same: 0,
    before: 1,
    system: true,
    tools: { added: ["grep"], removed: [], changed: [], isReordered: false },
  });
  assertEquals(messages.map(({ role }: { role: string }) => role), ["tool"]);
});

Deno.test("sessions: no secret of the gateway and no huge text reaches the page, and a broken answer is said to be", async () => {
  const app = recorder({ fetch: () => Promise.resolve(new Response("<html>", { status: 200 })) });
  const response = await app.post("/oss/v1/messages", {
    model: "model",
    max_tokens: 10,
    messages: [user(`${ENV.UPSTREAM_SECRET} ${"x".repeat(200_000)}`)],
  }, SESSION);
  await response.body?.cancel();
  const { data: [turn] } = await only(app);
  const text = JSON.stringify(await turnOf(app, turn.id));
  assert(!text.includes(ENV.UPSTREAM_SECRET!) && text.length < 60_000, `${text.length} characters`);
  assertStringIncludes(text, "more characters");
});

Deno.test("sessions: without records there are those that clients name; without usage, too, there are none", async () => {
  const counted = recorder({ config: { ...CONFIG, usage: {} } });
  await ask(counted, [user("Look at a.ts")]);
  await ask(counted, [user("Look at a.ts")], {});
  const { data, isRecorded } = await get(counted, "sessions");
  assertEquals([data.length, isRecorded, data[0].name], [1, false, "c7d1"]);
  await counted.close();
  const plain = recorder({ config: CONFIG });
  await ask(plain, [user("Look at a.ts")]);
  assertEquals(await get(plain, "sessions").then(({ data, isKept }) => [data, isKept]), [[], false]);
});

Deno.test("sessions: what is not kept is not found", async () => {
  const app = recorder();
  for (const path of ["session?id=none", "session", "session/turn?id=none", "session/turn"]) {
    assertEquals((await app.get(`/console/api/${path}`)).status, 404, path);
  }
});
