/** The answer of a recorded request as its reader saw it, and the frames that built it. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { CHAT, chatBody, CONFIG, newApp, type TestApp, type TestAppOptions } from "../support/app.ts";
import { answerStream, answerWhole, ENDING, frame, word } from "../support/chat.ts";
import { newHostedRig } from "../support/hosted_rig.ts";

const MESSAGES = "/oss/v1/messages";
const ask = (path: string, more: object) =>
  path.endsWith("responses")
    ? { model: "model", input: "Hello", store: false, ...more }
    : { model: "model", max_tokens: 100, messages: [{ role: "user", content: "Hello" }], ...more };

const recorder = (options: TestAppOptions = {}) =>
  newApp({ config: { ...CONFIG, console: { record: {} } }, ...options });

// deno-lint-ignore no-explicit-any -- what a page gets is looked into here and there
async function read(app: TestApp): Promise<any> {
  const { data: [{ id }] } = await (await app.get("/console/api/records")).json();
  return await (await app.get(`/console/api/record/answer?id=${id}`)).json();
}

const call = (more: object) => frame({ delta: { tool_calls: [{ index: 0, ...more }] } });
const FRAMES = [
  frame({ delta: { role: "assistant", reasoning_content: "So." } }),
  word("one "),
  word("two"),
  call({ id: "call_1", type: "function", function: { name: "look", arguments: "" } }),
  call({ function: { arguments: '{"at":1}' } }),
  frame({ delta: {}, finish_reason: "tool_calls" }),
  `data: ${JSON.stringify({ choices: [], usage: { prompt_tokens: 5, completion_tokens: 3, total_tokens: 8 } })}\n\n`,
  "data: [DONE]\n\n",
];
const tools = (path: string) => {
  const parameters = { type: "object" };
  if (path === MESSAGES) return [{ name: "look", input_schema: parameters }];
  const tool = { name: "look", parameters };
  return [path === CHAT ? { type: "function", function: tool } : { type: "function", ...tool }];
};

for (const path of [MESSAGES, CHAT, "/oss/v1/responses"]) {
  Deno.test(`answer as read: ${path}, and each of its frames knows its part`, async () => {
    const app = recorder({ fetch: () => Promise.resolve(answerStream(FRAMES)) });
    const more = path === CHAT ? { stream_options: { include_usage: true } } : {};
    await (await app.post(path, ask(path, { stream: true, tools: tools(path), ...more }))).text();
    const { asked, output, frames, total, problem, error, isOpen } = await read(app);
    assertEquals([problem, error, isOpen], [undefined, undefined, undefined]);
    assertEquals(
      asked.map(({ role, content }: { role: string; content: { text: string }[] }) => [role, content[0]!.text]),
      [
        ["user", "Hello"],
      ],
    );
    const kinds = output.content.map(({ type, text, input }: { type: string; text?: string; input?: string }) => [
      type,
      text ?? JSON.parse(input!),
    ]);
    assertEquals(kinds, [["reasoning", "So."], ["text", "one two"], ["tool-call", { at: 1 }]]);
    assertEquals([output.finish.reason, output.usage.outputTokens], ["tool-calls", 3]);
    assertEquals(total, frames.length);
    const partOf = (text: string) => frames.find((one: { text: string }) => one.text.includes(text)).parts;
    assertEquals([partOf("So."), partOf('"one '), partOf('"two"'), partOf("call_1")], [[0], [1], [1], [2]]);
    assert(frames.some(({ isEnd }: { isEnd?: boolean }) => isEnd));
  });
}

Deno.test("answer as read: a whole one has no frames", async () => {
  const app = recorder({ fetch: () => Promise.resolve(answerWhole("one two")) });
  for (const path of [MESSAGES, CHAT, "/oss/v1/responses"]) {
    await (await app.post(path, ask(path, {}))).text();
    const { output, frames } = await read(app);
    assertEquals([output.content, output.finish.reason, frames], [
      [{ type: "text", text: "one two" }],
      "stop",
      undefined,
    ]);
  }
});

Deno.test("answer as read: while a request runs, it is what has come so far", async () => {
  const upstream = Promise.withResolvers<ReadableStreamDefaultController<Uint8Array>>();
  const head = Promise.withResolvers<void>();
  const body = new ReadableStream<Uint8Array>({ start: (controller) => upstream.resolve(controller) });
  const app = recorder({
    fetch: () => head.promise.then(() => new Response(body, { headers: { "content-type": "text/event-stream" } })),
  });
  const running = app.post(CHAT, chatBody({ stream: true }));
  while ((await (await app.get("/console/api/records")).json()).data.length === 0);
  const { output, isOpen } = await read(app);
  assertEquals([output, isOpen], [undefined, true]);
  head.resolve();
  const controller = await upstream.promise;
  controller.enqueue(new TextEncoder().encode(word("one ")));
  const reader = (await running).body!.getReader();
  await reader.read();
  const so = await read(app);
  assertEquals([so.output.content, so.output.finish, so.isOpen], [[{ type: "text", text: "one " }], undefined, true]);
  controller.enqueue(new TextEncoder().encode(ENDING));
  controller.close();
  while (!(await reader.read()).done);
  assertEquals((await read(app)).isOpen, undefined);
});

Deno.test("answer as read: one that breaks off shows how far it came, and why", async () => {
  const app = recorder({ fetch: () => Promise.resolve(answerStream([word("one ")], new Error("gone"))) });
  await (await app.post(MESSAGES, ask(MESSAGES, { stream: true }))).text();
  const { output, error, frames } = await read(app);
  assertEquals(output.content, [{ type: "text", text: "one " }]);
  assertEquals([output.finish, output.usage], [undefined, undefined]);
  assertEquals([error.code, error.message], ["upstream_error", "The connection to the upstream was lost"]);
  assert(frames.at(-1).text.includes("error"));
});

Deno.test("answer as read: a refused request has its error, and one that nobody could read as well", async () => {
  const app = recorder({ fetch: () => Promise.resolve(answerWhole()) });
  await (await app.post(MESSAGES, ask(MESSAGES, { model: "none" }))).text();
  assertStringIncludes((await read(app)).error.message, "none");
  await (await app.post(MESSAGES, "{")).text();
  const { error, asked } = await read(app);
  assertStringIncludes(error.message, "JSON");
  assertEquals(asked, undefined);
});

Deno.test("answer as read: on a wire that the gateway only writes, it is what the upstreams answered", async () => {
  const app = recorder({ fetch: () => Promise.resolve(answerStream([word("one "), word("two"), ENDING])) });
  const body = { contents: [{ role: "user", parts: [{ text: "Hello" }] }] };
  await (await app.post("/oss/v1beta/models/model:streamGenerateContent?alt=sse", body)).text();
  const { output, frames } = await read(app);
  assertEquals(output.content, [{ type: "text", text: "one two" }]);
  assert(frames.length > 1 && frames[0].text.includes("candidates"));
});

Deno.test("answer as read: the rounds of a hosted tool are one answer", async () => {
  const { app } = newHostedRig({
    rounds: [['web_search{"query":"oslo"}'], ["Rain"]],
    config: { console: { record: {} } },
  });
  const more = { stream: true, tools: [{ type: "web_search_20250305", name: "web_search" }] };
  await (await app.post(MESSAGES, ask(MESSAGES, more))).text();
  const { output } = await read(app);
  const kinds = output.content.map(({ type, fields }: { type: string; fields?: { type: string } }) =>
    fields?.type ?? type
  );
  assertEquals(kinds, ["server_tool_use", "web_search_tool_result", "text"]);
  assertEquals(output.content.at(-1).text, "Rain");
});

Deno.test("answer as read: more frames than a page can draw are counted, and a long one is cut", async () => {
  const long = "x".repeat(9_000);
  const words = Array.from({ length: 2_500 }, (_, at) => word(`${at} `));
  const app = recorder({ fetch: () => Promise.resolve(answerStream([word(long), ...words, ENDING])) });
  await (await app.post(CHAT, chatBody({ stream: true }))).text();
  const { frames, total, output } = await read(app);
  assert(frames.length <= 2_000 && total > 2_500 && frames[0].text.length < 5_000);
  assert(output.content[0].text.endsWith("2499 "));
});
