/** The vendor's own client, in front of an app in this process: its addresses, its requests, whole and streamed, its errors. */
import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { type ChatRequest, type ChatResponse, type Message, Ollama } from "ollama";
import { call, chatStream, chatWhole, CONFIG, type Mode, MODES, responseOf, streamed } from "../regressions/support.ts";
import type { JsonObject } from "../../src/canonical/json.ts";
import { type ConfigInput, ENV, newApp, type TestApp } from "../support/app.ts";
import { type FakeUpstream, fakeUpstream } from "../support/fake_upstream.ts";

/** A client of the lane `oss`, or of the whole gateway. */
function newClient(app: TestApp, path = "/oss"): Ollama {
  const headers = { authorization: `Bearer ${ENV.TEAM_KEY}` };
  return new Ollama({ host: `http://gateway${path}`, headers, fetch: (input, init) => fetchFrom(app, input, init) });
}

/** The bodies that are on their way. */
const arriving: Promise<void>[] = [];

/** As a network does it: the end of a stream arrives, although the client stops to read at the last line. */
async function fetchFrom(app: TestApp, input: string | URL | Request, init?: RequestInit): Promise<Response> {
  const response = await app.fetch(new Request(input, init));
  const { readable, writable } = new TransformStream({}, {}, { highWaterMark: 1_000 });
  if (response.body) arriving.push(response.body.pipeTo(writable));
  return new Response(response.body && readable, response);
}

interface Scene {
  client: Ollama;
  app: TestApp;
  upstream: FakeUpstream;
}

/** An upstream that says `message` to a client, in the mode that it is asked in. */
function newScene(message: JsonObject, finish = "stop"): Scene {
  const deltas = [...message.reasoning_content ? [{ reasoning_content: message.reasoning_content }] : [], {
    ...message,
    reasoning_content: undefined,
    ...(Array.isArray(message.tool_calls) && {
      tool_calls: message.tool_calls.map((call, index) => ({ ...call as JsonObject, index })),
    }),
  }];
  const answer = { whole: chatWhole(message, finish), frames: chatStream(deltas, finish) };
  const upstream = fakeUpstream(({ body }) => responseOf(answer, JSON.parse(body).stream ? "streamed" : "whole"));
  const app = newApp({ config: CONFIG, fetch: upstream.fetch });
  return { client: newClient(app), app, upstream };
}

/** What the client makes of an answer: of a stream, its lines put together as its users do that. */
async function chat(client: Ollama, mode: Mode, request: Omit<ChatRequest, "model">): Promise<ChatResponse> {
  const asked = { model: "chat", ...request };
  if (mode === "whole") return await client.chat({ ...asked, stream: false });
  const message: Message = { role: "assistant", content: "" };
  let last: ChatResponse | undefined;
  for await (const line of await client.chat({ ...asked, stream: true })) {
    const { content, thinking, tool_calls } = line.message;
    message.content += content;
    if (thinking) message.thinking = (message.thinking ?? "") + thinking;
    if (tool_calls) message.tool_calls = [...message.tool_calls ?? [], ...tool_calls];
    last = line;
  }
  await Promise.all(arriving.splice(0));
  assert(last?.done);
  return { ...last as ChatResponse, message };
}

function sentTo({ asked }: FakeUpstream): JsonObject {
  return JSON.parse(asked.at(-1)!.body);
}

const HELLO: Message[] = [{ role: "user", content: "Hello" }];
const TOOL = {
  type: "function",
  function: {
    name: "look",
    description: "To look",
    parameters: { type: "object", required: ["where"], properties: { where: { type: ["string", "null"] } } },
  },
};

for (const mode of MODES) {
  const test = (name: string, act: () => Promise<void>) => Deno.test(`ollama: ${name} · ${mode}`, act);

  test("an answer has its words, its thoughts, its counts and its ending", async () => {
    const { client, app } = newScene({ content: "Hello you", reasoning_content: "Hm" });
    const { message, model, created_at, ...rest } = await chat(client, mode, { messages: HELLO });
    assertEquals(message, { role: "assistant", content: "Hello you", thinking: "Hm" });
    assertEquals(model, "chat");
    assertEquals(new Date(created_at).getTime(), 1_800_000_000_000);
    assertEquals([rest.done, rest.done_reason, rest.prompt_eval_count, rest.eval_count], [true, "stop", 5, 2]);
    for (const key of ["total_duration", "load_duration", "prompt_eval_duration", "eval_duration"] as const) {
      assert(Number.isInteger(rest[key]) && rest[key] > 0, key);
    }
    assertEquals(app.logs[0]!.notes, undefined);
    assertEquals(app.logs[0]!.protocol, "ollama");
  });

  test("an answer that was cut off says so", async () => {
    const { client } = newScene({ content: "Hello" }, "length");
    assertEquals((await chat(client, mode, { messages: HELLO })).done_reason, "length");
  });

  test("calls come whole, with an object for their arguments", async () => {
    const tool_calls = [call("look", '{"where":"there"}'), call("look", "{}", { id: "call_2" })];
    const { client, upstream } = newScene({ content: "", tool_calls }, "tool_calls");
    const { message, done_reason } = await chat(client, mode, { messages: HELLO, tools: [TOOL] });
    assertEquals(message.tool_calls as unknown, [
      { id: "call_look", function: { index: 0, name: "look", arguments: { where: "there" } } },
      { id: "call_2", function: { index: 1, name: "look", arguments: {} } },
    ]);
    assertEquals(done_reason, "stop");
    assertEquals(sentTo(upstream).tools, [TOOL]);
  });

  test("a call that was cut off is none, and that is noted", async () => {
    const { client, app } = newScene({ content: "", tool_calls: [call("look", '{"where":"th')] }, "length");
    const { message, done_reason } = await chat(client, mode, { messages: HELLO, tools: [TOOL] });
    assertEquals([message.tool_calls, done_reason], [undefined, "length"]);
    assertEquals(app.logs[0]!.notes, ["dropped a call of look that was cut off"]);
  });

  test("arguments that are no object stand inside one, and that is noted", async () => {
    const { client, app } = newScene({ content: "", tool_calls: [call("look", '{"where":"th')] }, "tool_calls");
    const { message } = await chat(client, mode, { messages: HELLO, tools: [TOOL] });
    assertEquals(message.tool_calls?.[0]?.function.arguments, { input: '{"where":"th' });
    assertEquals(app.logs[0]!.notes, ["wrapped arguments of look that are not a JSON object"]);
  });

  test("a conversation with calls, thoughts and pictures goes up whole", async () => {
    const { client, upstream } = newScene({ content: "Found" });
    // A client gives back what it got; others leave ids and names away.
    const called = { function: { name: "look", arguments: { where: "there" } } };
    const png = Uint8Array.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
    await chat(client, mode, {
      messages: [
        { role: "system", content: "Be brief" },
        { role: "user", content: "Look", images: [png] },
        { role: "assistant", content: "", thinking: "Hm", tool_calls: [called, called] },
        { role: "tool", content: "One", tool_name: "look" },
        { role: "tool", content: "Two" },
        { role: "user", content: "And?" },
      ],
      tools: [TOOL],
    });
    const [system, user, assistant, one, two, last] = sentTo(upstream).messages as JsonObject[];
    assertEquals(system, { role: "system", content: "Be brief" });
    assertEquals(user!.content, [
      { type: "text", text: "Look" },
      { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=" } },
    ]);
    const calls = assistant!.tool_calls as JsonObject[];
    assertEquals(
      calls.map((one) => one.function),
      [0, 1].map(() => ({ name: "look", arguments: '{"where":"there"}' })),
    );
    assertEquals(new Set(calls.map(({ id }) => id)).size, 2);
    assertEquals([one, two].map((result) => [result!.role, result!.tool_call_id, result!.content]), [
      ["tool", calls[0]!.id, "One"],
      ["tool", calls[1]!.id, "Two"],
    ]);
    assertEquals(last, { role: "user", content: "And?" });
    assertEquals(assistant!.reasoning_content ?? assistant!.reasoning, "Hm");
  });

  test("tuning parameters that others share go up, and those of an engine are noted", async () => {
    const { client, upstream, app } = newScene({ content: "Hello" });
    const options = { num_predict: 20, temperature: 0.5, top_p: 0.75, top_k: 5, seed: 7, stop: ["X"] };
    const penalties = { presence_penalty: 0.25, frequency_penalty: 0.125 };
    await chat(client, mode, {
      messages: HELLO,
      keep_alive: "5m",
      options: { ...options, ...penalties, num_ctx: 4096, min_p: 0.1, repeat_penalty: 1.1 },
    });
    const { num_predict, ...rest } = options;
    const { max_tokens, temperature, top_p, top_k, seed, stop, presence_penalty, frequency_penalty } = sentTo(upstream);
    assertEquals(
      { max_tokens, temperature, top_p, top_k, seed, stop, presence_penalty, frequency_penalty } as unknown,
      {
        max_tokens: num_predict,
        ...rest,
        ...penalties,
      },
    );
    const noted = app.logs[0]!.notes!.toSorted();
    assertEquals(
      noted,
      ["keep_alive", "options.min_p", "options.num_ctx", "options.repeat_penalty"].map((name) => `dropped ${name}`),
    );
  });

  test("an answer may be as long as there is room", async () => {
    const { client, upstream, app } = newScene({ content: "Hello" });
    for (const num_predict of [-1, -2, 0]) await chat(client, mode, { messages: HELLO, options: { num_predict } });
    assertEquals(upstream.asked.map(({ body }) => JSON.parse(body).max_tokens), [undefined, undefined, undefined]);
    assertEquals(app.logs.map(({ notes }) => notes), [undefined, undefined, undefined]);
  });

  test("how much to think goes up", async () => {
    const { client, upstream } = newScene({ content: "Hello" });
    for (const think of ["low", "medium", "high", true, false] as const) {
      await chat(client, mode, { messages: HELLO, think });
    }
    const efforts = upstream.asked.map(({ body }) => JSON.parse(body).reasoning_effort);
    assertEquals(efforts, ["low", "medium", "high", "medium", "none"]);
  });

  test("an answer in the form that was asked for", async () => {
    const { client, upstream } = newScene({ content: '{"where":"there"}' });
    const schema = { type: "object", properties: { where: { type: "string" } } };
    const { message } = await chat(client, mode, { messages: HELLO, format: schema });
    assertEquals(JSON.parse(message.content), { where: "there" });
    const { type, json_schema } = sentTo(upstream).response_format as JsonObject;
    assertEquals([type, (json_schema as JsonObject).schema], ["json_schema", schema]);
    await chat(client, mode, { messages: HELLO, format: "json" });
    assertEquals(sentTo(upstream).response_format, { type: "json_object" });
  });

  test("errors have their status and a text", async () => {
    const { client } = newScene({ content: "Hello" });
    const ask = (more: object) => chat(client, mode, { messages: HELLO, ...more });
    const unknown = await assertRejects(() => ask({ model: "nobody" }));
    assertEquals([(unknown as { name: string }).name, (unknown as { status_code: number }).status_code], [
      "ResponseError",
      404,
    ]);
    assertMatch((unknown as Error).message, /^Cannot find model "nobody"/);
    for (const wrong of [{ messages: [] }, { logprobs: true }, { format: "xml" }, { messages: [{ role: "x" }] }]) {
      const error = await assertRejects(() => ask(wrong)) as Error & { status_code: number };
      assertEquals(error.status_code, 400, JSON.stringify(wrong));
      assertMatch(error.message, new RegExp(Object.keys(wrong)[0]!.replace("messages", "messages?")));
    }
  });
}

Deno.test("ollama: a result answers the call that it names by its id, else by its tool, else the first without a result", async () => {
  const { client, upstream } = newScene({ content: "Found" });
  const callOf = (name: string, id?: string) => ({ ...(id && { id }), function: { name, arguments: {} } });
  await client.chat({
    model: "chat",
    messages: [
      ...HELLO,
      {
        role: "assistant",
        content: "",
        tool_calls: ["look", "find", "look", "look"].map((name, at) => callOf(name, `c${at}`)),
      },
      ...[{ tool_call_id: "c2" }, { tool_name: "find" }, {}, { tool_name: "look" }].map((named, at) => ({
        role: "tool",
        content: `Result ${at}`,
        ...named,
      })),
    ],
  });
  const messages = sentTo(upstream).messages as JsonObject[];
  const results = messages.filter(({ role }) => role === "tool").map((
    { tool_call_id, content },
  ) => [tool_call_id, content]);
  assertEquals(Object.fromEntries(results), { c0: "Result 2", c1: "Result 1", c2: "Result 0", c3: "Result 3" });
});

Deno.test("ollama: a stream that fails on its way raises what went wrong", async () => {
  const upstream = fakeUpstream(() => streamed('data: {"choices":[{"index":0,"delta":{"content":"Hel"}}]}\n\n'));
  const client = newClient(newApp({ config: CONFIG, fetch: upstream.fetch }));
  const words: string[] = [];
  const error = await assertRejects(async () => {
    for await (const { message } of await client.chat({ model: "chat", messages: HELLO, stream: true })) {
      words.push(message.content);
    }
  });
  await Promise.all(arriving.splice(0));
  assertEquals(words.join(""), "Hel");
  assertMatch((error as Error).message, /upstream/i);
});

Deno.test("ollama: in silence a line without content goes out", async () => {
  const silence = Promise.withResolvers<void>();
  const upstream = fakeUpstream(async () => {
    await silence.promise;
    return streamed(chatStream([{ content: "Hello" }]));
  });
  const app = newApp({ config: CONFIG, fetch: upstream.fetch, pace: { headAfterMs: 1, keepAliveMs: 2 } });
  const words: string[] = [];
  for await (const line of await newClient(app).chat({ model: "chat", messages: HELLO, stream: true })) {
    if (words.length === 0) assertEquals([line.model, line.done, line.message.content], ["chat", false, ""]);
    words.push(line.message.content);
    silence.resolve();
  }
  await Promise.all(arriving.splice(0));
  assertEquals(words.join(""), "Hello");
});

Deno.test("ollama: what an upstream refuses is refused with its words", async () => {
  const upstream = fakeUpstream(() => Response.json({ error: { message: "Too many requests" } }, { status: 429 }));
  const client = newClient(newApp({ config: CONFIG, fetch: upstream.fetch }));
  const error = await assertRejects(() => client.chat({ model: "chat", messages: HELLO }));
  assertEquals((error as { status_code: number }).status_code, 429);
  assertEquals((error as Error).message, "Too many requests");
});

const MODELS = {
  ...CONFIG,
  lanes: {
    oss: {
      models: {
        "org/talker": {
          task: "chat" as const,
          contextLength: 8192,
          inputModalities: ["text" as const, "image" as const],
          targets: [{ upstream: "chat", model: "org/model" }],
        },
        reader: { task: "embedding" as const, targets: [{ upstream: "chat", model: "org/reader" }] },
      },
    },
    other: CONFIG.lanes.oss,
  },
};

Deno.test("ollama: the models of a lane are listed and shown", async () => {
  const client = newClient(newApp({ config: MODELS }));
  const { models } = await client.list();
  assertEquals(models.map(({ name, model }) => [name, model]), [["org/talker", "org/talker"]]);
  const [{ modified_at, size, digest, details }] = models as [typeof models[0]];
  assert(!Number.isNaN(Date.parse(String(modified_at))));
  assertMatch(digest, /^[\da-f]{64}$/);
  assertEquals([size, Object.values(details).flat().every((one) => typeof one === "string")], [0, true]);
  const shown = await client.show({ model: "org/talker" });
  assertEquals(shown.capabilities, ["completion", "tools", "vision"]);
  const info = shown.model_info as unknown as Record<string, unknown>;
  assertEquals(info[`${info["general.architecture"]}.context_length`], 8192);
  assertEquals((await client.show({ model: "reader" })).capabilities, ["embedding"]);
  const error = await assertRejects(() => client.show({ model: "nobody" }));
  assertEquals((error as { status_code: number }).status_code, 404);
});

Deno.test("ollama: a model that fills gaps says so, by each way in which its upstream fills them", async () => {
  const at = (upstream: string, model: string) => ({ task: "chat" as const, targets: [{ upstream, model }] });
  const server = { driver: "chat", baseUrl: "http://upstream.test/v1" } as const;
  const config: ConfigInput = {
    upstreams: {
      plain: server,
      suffix: { ...server, completions: "suffix" },
      off: { ...server, completions: "off" },
      sandbox: { driver: "sandbox" },
    },
    lanes: {
      oss: {
        models: {
          "with marks": at("plain", "Qwen/Qwen2.5-Coder-7B"),
          "without marks": at("plain", "org/model"),
          "with a suffix": at("suffix", "org/model"),
          "off": at("off", "Qwen/Qwen2.5-Coder-7B"),
          "sandbox": at("sandbox", "sandbox"),
          "second": { task: "chat", targets: [...at("off", "a").targets, ...at("suffix", "b").targets] },
        },
      },
    },
  };
  const client = newClient(newApp({ config }));
  const filling: string[] = [];
  for (const model of Object.keys(config.lanes!.oss!.models!)) {
    if ((await client.show({ model })).capabilities.includes("insert")) filling.push(model);
  }
  assertEquals(filling, ["with marks", "with a suffix", "sandbox", "second"]);
});

Deno.test("ollama: a client that takes a host only finds the lane of its model, and the first lane's list", async () => {
  const upstream = fakeUpstream(() => Response.json(chatWhole({ content: "Hello" })));
  const app = newApp({ config: MODELS, fetch: upstream.fetch });
  const client = newClient(app, "");
  assertMatch((await client.version()).version, /^\d+\.\d+\.\d+$/);
  assertEquals((await client.list()).models.map(({ name }) => name), ["org/talker"]);
  assertEquals((await client.show({ model: "messages" })).capabilities, ["completion", "tools"]);
  await client.chat({ model: "chat", messages: HELLO });
  await client.chat({ model: "org/talker", messages: HELLO });
  assertEquals(app.logs.map(({ lane }) => lane), ["oss", "oss", "other", "other", "oss"]);
});

Deno.test("ollama: its version is answered without a model or a list", async () => {
  const { app, client } = newScene({});
  assertMatch((await client.version()).version, /^\d+\.\d+\.\d+$/);
  const head = await app.fetch(new Request("http://gateway/api/version", { method: "HEAD" }));
  assertEquals([head.status, await head.text()], [200, ""]);
});
