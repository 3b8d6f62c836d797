/** The vendor's own library, in front of a served app: its addresses, its requests, whole and streamed, its errors. */
import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { type ApiError, type Content, GoogleGenAI, type Part } from "@google/genai";
import { call, chatStream, chatWhole, CONFIG, type Mode, MODES, responseOf, streamed } from "../regressions/support.ts";
import type { JsonObject } from "../../src/canonical/json.ts";
import { ENV, newApp, type TestApp } from "../support/app.ts";
import { type FakeUpstream, fakeUpstream } from "../support/fake_upstream.ts";

const KEYS = [{ name: "team", secret: { env: "TEAM_KEY" } }];

interface Scene {
  client: GoogleGenAI;
  app: TestApp;
  upstream: FakeUpstream;
}

/** Its library takes no `fetch`: the app is served. */
async function withClient(upstream: FakeUpstream, act: (scene: Scene) => Promise<void>, options: object = {}) {
  const app = newApp({ config: { keys: KEYS, ...CONFIG, ...options }, fetch: upstream.fetch });
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, (request) => app.fetch(request));
  const baseUrl = `http://127.0.0.1:${server.addr.port}/oss`;
  try {
    await act({ client: new GoogleGenAI({ apiKey: ENV.TEAM_KEY, httpOptions: { baseUrl } }), app, upstream });
  } finally {
    await server.shutdown();
  }
}

/** An upstream that says `message` to a client, in the mode that it is asked in. */
function saying(message: JsonObject, finish = "stop"): FakeUpstream {
  const { reasoning_content, tool_calls, ...rest } = message;
  const calls = Array.isArray(tool_calls) && {
    tool_calls: tool_calls.map((one, index) => ({ ...one as JsonObject, index })),
  };
  const deltas = [...reasoning_content ? [{ reasoning_content }] : [], { ...rest, ...calls }];
  const answer = { whole: chatWhole(message, finish), frames: chatStream(deltas, finish) };
  return fakeUpstream(({ body }) => responseOf(answer, JSON.parse(body).stream ? "streamed" : "whole"));
}

interface Answer {
  parts: Part[];
  finish?: string;
  usage?: object;
}

/** What the library makes of an answer: of a stream, its pieces put together. */
async function ask(client: GoogleGenAI, mode: Mode, contents: string | Content[], config = {}): Promise<Answer> {
  const asked = { model: "chat", contents, config };
  const pieces = mode === "whole"
    ? [await client.models.generateContent(asked)]
    : await Array.fromAsync(await client.models.generateContentStream(asked));
  const candidates = pieces.map((piece) => piece.candidates![0]!);
  const last = candidates.at(-1)!;
  return {
    parts: candidates.flatMap(({ content }) => content!.parts!),
    finish: last.finishReason,
    usage: pieces.at(-1)!.usageMetadata,
  };
}

function sentTo({ asked }: FakeUpstream, at = -1): JsonObject {
  return JSON.parse(asked.at(at)!.body);
}

const textOf = (parts: Part[]) => parts.map(({ text, thought }) => thought ? "" : text ?? "").join("");
const thoughtsOf = (parts: Part[]) => parts.map(({ text, thought }) => thought ? text : "").join("");

const LOOK = {
  name: "look",
  description: "To look",
  parameters: {
    type: "OBJECT",
    properties: { where: { type: "STRING", nullable: true }, often: { type: "INTEGER", format: "int32" } },
    required: ["where"],
    propertyOrdering: ["often", "where"],
  },
};
const LOOK_SENT = {
  type: "object",
  properties: { often: { type: "integer", format: "int32" }, where: { type: ["string", "null"] } },
  required: ["where"],
};

for (const mode of MODES) {
  const test = (
    name: string,
    upstream: FakeUpstream,
    act: (scene: Scene) => Promise<void>,
    options?: object,
  ) => Deno.test(`gemini: ${name} · ${mode}`, () => withClient(upstream, act, options));

  test(
    "an answer has its words, its thoughts, its counts and its ending",
    saying({ content: "Hello you", reasoning_content: "Hm" }),
    async ({ client, app }) => {
      const { parts, finish, usage } = await ask(client, mode, "Hello", { thinkingConfig: { includeThoughts: true } });
      assertEquals([textOf(parts), thoughtsOf(parts), finish], ["Hello you", "Hm", "STOP"]);
      assertEquals(usage, { promptTokenCount: 5, candidatesTokenCount: 2, totalTokenCount: 7 });
      assertEquals([app.logs[0]!.notes, app.logs[0]!.status], [undefined, 200]);
      assertMatch(app.logs[0]!.protocol!, /^gemini-v1/);
    },
  );

  test(
    "thoughts that nobody asks for travel in a signature alone",
    saying({ content: "Hello you", reasoning_content: "Secret" }),
    async ({ client, upstream }) => {
      const { parts } = await ask(client, mode, "Hello");
      assertEquals([textOf(parts), thoughtsOf(parts)], ["Hello you", ""]);
      assert(!JSON.stringify(parts).includes("Secret"));
      await ask(client, mode, [
        { role: "user", parts: [{ text: "Hello" }] },
        { role: "model", parts },
        { role: "user", parts: [{ text: "And?" }] },
      ]);
      const [, assistant] = sentTo(upstream).messages as JsonObject[];
      assertEquals([assistant!.content, assistant!.reasoning_content], ["Hello you", "Secret"]);
    },
  );

  test("an answer that was cut off says so", saying({ content: "Hello" }, "length"), async ({ client }) => {
    assertEquals((await ask(client, mode, "Hello")).finish, "MAX_TOKENS");
  });

  test("an answer that was held back says so", saying({ content: "" }, "content_filter"), async ({ client }) => {
    assertEquals((await ask(client, mode, "Hello")).finish, "SAFETY");
  });

  test(
    "a loop of calls: they come whole, and what came of them goes up with the thoughts before them",
    saying({
      content: "I look",
      reasoning_content: "Where?",
      tool_calls: [call("look", '{"where":"there"}', { id: "c1" }), call("look", "{}", { id: "c2" })],
    }, "tool_calls"),
    async ({ client, upstream }) => {
      const tools = [{ functionDeclarations: [LOOK] }];
      const asked: Content[] = [{ role: "user", parts: [{ text: "Look" }] }];
      const { parts, finish } = await ask(client, mode, asked, { tools });
      assertEquals(finish, "STOP");
      const calls = parts.flatMap(({ functionCall }) => functionCall ?? []);
      assertEquals(calls.map(({ name, args }) => [name, args]), [["look", { where: "there" }], ["look", {}]]);
      const [definition] = sentTo(upstream).tools as JsonObject[];
      assertEquals((definition!.function as JsonObject).parameters, LOOK_SENT);
      // Some clients give ids back, and others leave them out.
      const results: Part[] = calls.map(({ id, name }, index) => ({
        functionResponse: { name, response: { output: `Found ${index}` }, ...(mode === "whole" && { id }) },
      }));
      const kept = parts.filter(({ thought }) => !thought);
      await ask(client, mode, [...asked, { role: "model", parts: kept }, { role: "user", parts: results }], { tools });
      const [, assistant, one, two] = sentTo(upstream).messages as JsonObject[];
      assertEquals([assistant!.content, assistant!.reasoning_content], ["I look", "Where?"]);
      const ids = (assistant!.tool_calls as JsonObject[]).map(({ id }) => id);
      assertEquals([one, two].map((result) => [result!.role, result!.tool_call_id, result!.content]), [
        ["tool", ids[0], "Found 0"],
        ["tool", ids[1], "Found 1"],
      ]);
    },
  );

  test(
    "a call whose arguments are no object is none, and the ending says so",
    saying({ content: "", tool_calls: [call("look", '{"where":"th')] }, "tool_calls"),
    async ({ client, app }) => {
      const { parts, finish } = await ask(client, mode, "Look", { tools: [{ functionDeclarations: [LOOK] }] });
      assertEquals([parts, finish], [[{ text: "" }], "MALFORMED_FUNCTION_CALL"]);
      assertEquals(app.logs[0]!.notes, ["dropped a call of look whose arguments are not a JSON object"]);
    },
  );

  test(
    "tuning parameters go up, and what has no meaning here is noted",
    saying({ content: "Hello" }),
    async (scene) => {
      const { client, upstream, app } = scene;
      await ask(client, mode, "Hello", {
        temperature: 0.5,
        topP: 0.75,
        topK: 5,
        seed: 7,
        maxOutputTokens: 20,
        stopSequences: ["X"],
        presencePenalty: 0.25,
        frequencyPenalty: 0.125,
        systemInstruction: "Be brief",
        safetySettings: [{ category: "HARM_CATEGORY_HARASSMENT", threshold: "BLOCK_NONE" }],
      });
      const { messages, model, stream, stream_options, ...sent } = sentTo(upstream);
      assertEquals(sent, {
        temperature: 0.5,
        top_p: 0.75,
        top_k: 5,
        seed: 7,
        max_tokens: 20,
        stop: ["X"],
        presence_penalty: 0.25,
        frequency_penalty: 0.125,
      });
      assertEquals((messages as JsonObject[])[0], { role: "system", content: "Be brief" });
      assertEquals(app.logs[0]!.notes, ["dropped safetySettings"]);
      assert(model === "org/model" && (mode === "whole" || stream && stream_options));
    },
  );

  test("an answer in the form that was asked for", saying({ content: '{"where":"there"}' }), async (scene) => {
    const { client, upstream } = scene;
    const responseSchema = { type: "OBJECT", properties: { where: { type: "STRING" } } };
    const plain = { type: "object", properties: { where: { type: "string" } } };
    for (const form of [{ responseSchema }, { responseJsonSchema: plain }]) {
      const { parts } = await ask(client, mode, "Where?", { responseMimeType: "application/json", ...form });
      assertEquals(JSON.parse(textOf(parts)), { where: "there" });
      const { json_schema } = sentTo(upstream).response_format as JsonObject;
      assertEquals((json_schema as JsonObject).schema, plain);
    }
    await ask(client, mode, "Where?", { responseMimeType: "application/json" });
    assertEquals(sentTo(upstream).response_format, { type: "json_object" });
  });

  test("how much to think goes up", saying({ content: "Hello" }), async ({ client, upstream }) => {
    for (const thinkingConfig of [{ thinkingLevel: "HIGH" }, { thinkingBudget: 0 }, { includeThoughts: true }]) {
      await ask(client, mode, "Hello", { thinkingConfig });
    }
    assertEquals(upstream.asked.map(({ body }) => JSON.parse(body).reasoning_effort), ["high", "none", undefined]);
  });

  test(
    "pictures go up, as bytes and by their addresses",
    saying({ content: "A dot" }),
    async ({ client, upstream }) => {
      await ask(client, mode, [{
        role: "user",
        parts: [
          { text: "What is it?" },
          { inlineData: { mimeType: "image/png", data: "iVBORw0KGgo" } },
          { fileData: { mimeType: "image/png", fileUri: "https://pictures.test/a.png" } },
        ],
      }]);
      const [user] = sentTo(upstream).messages as JsonObject[];
      assertEquals((user!.content as JsonObject[]).slice(1).map(({ image_url }) => (image_url as JsonObject).url), [
        "data:image/png;base64,iVBORw0KGgo=",
        "https://pictures.test/a.png",
      ]);
    },
  );

  test("errors have their status, their words and what they are about", saying({ content: "Hello" }), async (scene) => {
    const { client } = scene;
    const refusedBy = async (act: () => Promise<unknown>) => {
      const { status, message } = await assertRejects(act) as ApiError;
      return { status, error: JSON.parse(message).error };
    };
    const unknown = await refusedBy(() => client.models.generateContent({ model: "org/nobody", contents: "Hello" }));
    assertEquals([unknown.status, unknown.error.code, unknown.error.status], [404, 404, "NOT_FOUND"]);
    assertMatch(unknown.error.message, /^Cannot find model "org\/nobody"/);
    const wrong = [
      { candidateCount: 2 },
      { responseLogprobs: true },
      { responseModalities: ["IMAGE"] },
      { cachedContent: "cachedContents/x" },
      { responseMimeType: "text/x.enum" },
    ];
    for (const config of wrong) {
      const { status, error } = await refusedBy(() => ask(client, mode, "Hello", config));
      assertEquals([status, error.status], [400, "INVALID_ARGUMENT"]);
      const [{ field }] = error.details.find((one: JsonObject) => one.fieldViolations).fieldViolations;
      assert(field.endsWith(Object.keys(config)[0]!), field);
    }
  });

  Deno.test(`gemini: what an upstream refuses is refused with its words and its wait · ${mode}`, async () => {
    const refusing = fakeUpstream(() =>
      Response.json({ error: { message: "Too many requests" } }, { status: 429, headers: { "retry-after": "7" } })
    );
    await withClient(refusing, async ({ client }) => {
      const { status, message } = await assertRejects(() => ask(client, mode, "Hello")) as ApiError;
      const { error } = JSON.parse(message);
      assertEquals([status, error.status, error.message], [429, "RESOURCE_EXHAUSTED", "Too many requests"]);
      assertEquals(error.details.at(-1), { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "7s" });
    });
  });
}

// The library leaves a body open that brings an error.
Deno.test("gemini: a stream that fails on its way raises what went wrong", { sanitizeResources: false }, async () => {
  const cut = fakeUpstream(() => streamed('data: {"choices":[{"index":0,"delta":{"content":"Hel"}}]}\n\n'));
  await withClient(cut, async ({ client }) => {
    const words: string[] = [];
    const error = await assertRejects(async () => {
      for await (const { text } of await client.models.generateContentStream({ model: "chat", contents: "Hello" })) {
        words.push(text ?? "");
      }
    });
    assertEquals(words.join(""), "Hel");
    assertMatch((error as Error).message, /upstream/i);
  });
});

Deno.test("gemini: a chat of several turns goes up as the turns that it has", async () => {
  await withClient(saying({ content: "Hello you there" }), async ({ client, upstream }) => {
    const chat = client.chats.create({ model: "chat" });
    for (const message of ["One", "Two"]) await Array.fromAsync(await chat.sendMessageStream({ message }));
    const messages = sentTo(upstream).messages as JsonObject[];
    assertEquals(messages.map(({ role, content }) => [role, content]), [
      ["user", "One"],
      ["assistant", "Hello you there"],
      ["user", "Two"],
    ]);
    assert(upstream.asked.length === 2);
  });
});

Deno.test("gemini: tokens are counted", async () => {
  await withClient(saying({ content: "Hello" }), async ({ client }) => {
    const count = async (contents: string) =>
      (await client.models.countTokens({ model: "chat", contents })).totalTokens;
    const [short, long] = [await count("Hello"), await count("Hello ".repeat(100))];
    assert(short! > 0 && long! > short! + 50, `${short} ${long}`);
  });
});

const MODELS = {
  lanes: {
    oss: {
      models: {
        "org/talker:fastest": {
          task: "chat" as const,
          contextLength: 8192,
          targets: [{ upstream: "chat", model: "org/model" }],
        },
        "org/reader": { task: "embedding" as const, targets: [{ upstream: "chat", model: "org/reader" }] },
      },
    },
  },
};

Deno.test("gemini: names with slashes and colons are the models' own, in lists and in addresses", async () => {
  await withClient(saying({ content: "Hello" }), async ({ client }) => {
    const listed = await Array.fromAsync(await client.models.list({ config: { pageSize: 1 } }));
    assertEquals(listed.map(({ name }) => name), ["models/org/talker:fastest", "models/org/reader"]);
    const { inputTokenLimit } = await client.models.get({ model: "org/talker:fastest" });
    assertEquals(inputTokenLimit, 8192);
    const answer = await client.models.generateContent({ model: "org/talker:fastest", contents: "Hello" });
    assertEquals([answer.text, answer.modelVersion], ["Hello", "org/talker:fastest"]);
  }, MODELS);
});

Deno.test("gemini: texts are embedded, one and several", async () => {
  const reader = fakeUpstream(({ body }) => {
    const { input } = JSON.parse(body);
    const data = [input].flat().map((_, index) => ({ index, embedding: [index, 0.5] }));
    return Response.json({ data, usage: { prompt_tokens: 3 } });
  });
  await withClient(reader, async ({ client }) => {
    const model = "org/reader";
    const one = await client.models.embedContent({ model, contents: "One" });
    assertEquals(one.embeddings?.map(({ values }) => values), [[0, 0.5]]);
    const two = await client.models.embedContent({ model, contents: ["One", "Two"] });
    assertEquals(two.embeddings?.map(({ values }) => values), [[0, 0.5], [1, 0.5]]);
    assertEquals(sentTo(reader).input, ["One", "Two"]);
  }, MODELS);
});

const HELLO = { contents: [{ parts: [{ text: "Hello" }] }] };

Deno.test("gemini: a key in the query opens the gateway, is not logged and goes nowhere else", async () => {
  const upstream = saying({ content: "Hello" });
  const app = newApp({ config: { keys: KEYS, ...CONFIG }, fetch: upstream.fetch });
  for (const path of ["/oss/v1beta/models/chat:generateContent", "/oss/v1/models/chat:streamGenerateContent"]) {
    const response = await app.post(`${path}?alt=sse&key=${ENV.TEAM_KEY}`, HELLO);
    assertEquals(response.status, 200, await response.text());
  }
  const wrong = await app.post("/oss/v1beta/models/chat:generateContent?key=wrong-key-z9", HELLO);
  assertEquals([wrong.status, (await wrong.json()).error.status], [401, "UNAUTHENTICATED"]);
  const lists = await Promise.all(
    ["v1", "v1beta"].map((version) => app.get(`/oss/${version}/models?key=${ENV.TEAM_KEY}`)),
  );
  for (const list of lists) assertEquals((await list.json()).models[0].name, "models/chat");
  await app.settled();
  const seen = JSON.stringify([app.logs, upstream.asked.map(({ url, headers }) => [url, [...headers]])]);
  assert(!seen.includes(ENV.TEAM_KEY!) && !seen.includes("wrong-key"), seen);
});

Deno.test("gemini: without alt=sse a stream is one JSON list, and so is one that fails", async () => {
  const whole = newApp({ config: CONFIG, fetch: saying({ content: "Hello you" }).fetch });
  const response = await whole.post("/oss/v1beta/models/chat:streamGenerateContent", HELLO);
  assertEquals(response.headers.get("content-type"), "application/json");
  const pieces = await response.json();
  const answer = pieces.map(({ candidates }: { candidates: { content: { parts: Part[] } }[] }) =>
    candidates[0]!.content
  );
  assertEquals(textOf(answer.flatMap(({ parts }: { parts: Part[] }) => parts)), "Hello you");
  const cut = fakeUpstream(() => streamed('data: {"choices":[{"index":0,"delta":{"content":"Hel"}}]}\n\n'));
  const failing = newApp({ config: CONFIG, fetch: cut.fetch });
  const [, failure] = await (await failing.post("/oss/v1beta/models/chat:streamGenerateContent", HELLO)).json();
  assertEquals([failure.error.code, failure.error.status], [502, "UNAVAILABLE"]);
});

Deno.test("gemini: in silence the list has blanks, and the events have comments", async () => {
  for (const [query, silence] of [["", "\n"], ["?alt=sse", ": keep-alive\n\n"]] as const) {
    const over = Promise.withResolvers<void>();
    const upstream = fakeUpstream(async () => {
      await over.promise;
      return streamed(chatStream([{ content: "Hello" }]));
    });
    const app = newApp({ config: CONFIG, fetch: upstream.fetch, pace: { headAfterMs: 1, keepAliveMs: 2 } });
    const response = await app.post(`/oss/v1/models/chat:streamGenerateContent${query}`, HELLO);
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    let text = (await reader.read()).value!;
    assert(text.startsWith(silence), text);
    over.resolve();
    for (let next = await reader.read(); !next.done; next = await reader.read()) text += next.value;
    assert(text.includes('"Hello"'), text);
    if (query === "") assertEquals(JSON.parse(text).length, 2);
  }
});

Deno.test("gemini: a model's name stands in the address as it is or encoded; the body's does not count", async () => {
  const app = newApp({ config: { ...CONFIG, ...MODELS }, fetch: saying({ content: "Hello" }).fetch });
  for (const name of ["org/talker:fastest", "org%2Ftalker:fastest", "org%2Ftalker%3Afastest"]) {
    for (const version of ["v1", "v1beta"]) {
      const response = await app.post(`/oss/${version}/models/${name}:generateContent`, {
        ...HELLO,
        model: "models/x",
      });
      assertEquals((await response.json()).modelVersion, "org/talker:fastest");
    }
    const shown = await app.get(`/oss/v1beta/models/${name}`);
    assertEquals((await shown.json()).name, "models/org/talker:fastest");
  }
  // Clients of other wires have the same path for themselves.
  const other = await (await app.get("/oss/v1/models/org/talker:fastest")).json();
  assertEquals([other.object, other.id], ["model", "org/talker:fastest"]);
  const action = await app.post("/oss/v1beta/models/org/talker:fastest:predict", HELLO, { "x-goog-api-key": "k" });
  assertEquals([action.status, (await action.json()).error.code], [404, 404]);
});

Deno.test("gemini: names in snake case are read, and the client's own names stay as they are", async () => {
  const upstream = saying({ content: "{}" });
  const app = newApp({ config: CONFIG, fetch: upstream.fetch });
  const response = await app.post("/oss/v1beta/models/chat:generateContent", {
    system_instruction: { parts: [{ text: "Be brief" }] },
    contents: [
      { role: "user", parts: [{ inline_data: { mime_type: "image/png", data: "iVBORw0KGgo=" } }] },
      { role: "model", parts: [{ function_call: { name: "look", args: { mime_type: "x" } } }] },
      { role: "function", parts: [{ function_response: { name: "look", response: { error: "gone" } } }] },
    ],
    tools: [{
      function_declarations: [{
        name: "look",
        parameters: { type: "OBJECT", properties: { top_k: { any_of: [{ type: "STRING" }] } } },
      }],
    }],
    tool_config: { function_calling_config: { mode: "ANY", allowed_function_names: ["look"] } },
    generation_config: {
      max_output_tokens: 9,
      top_k: 3,
      response_mime_type: "application/json",
      thinking_config: { include_thoughts: true },
    },
  });
  assertEquals(response.status, 200, await response.text());
  const { messages, tools, tool_choice, max_tokens, top_k } = sentTo(upstream);
  const [system, user, assistant, result] = messages as JsonObject[];
  assertEquals([system!.content, max_tokens, top_k], ["Be brief", 9, 3]);
  assertEquals((user!.content as JsonObject[])[0]!.type, "image_url");
  assertEquals((assistant!.tool_calls as JsonObject[])[0]!.function, { name: "look", arguments: '{"mime_type":"x"}' });
  assertEquals(result!.content, "Error: gone");
  const { parameters } = (tools as JsonObject[])[0]!.function as JsonObject;
  assertEquals(parameters, { type: "object", properties: { top_k: { anyOf: [{ type: "string" }] } } });
  assertEquals(tool_choice, { type: "function", function: { name: "look" } });
  assertEquals(app.logs[0]!.notes, undefined);
});

Deno.test("gemini: a part that is two things is refused, and so is another method than an action's", async () => {
  const app = newApp({ config: CONFIG, fetch: saying({ content: "Hello" }).fetch });
  const parts = [{ text: "Look", inlineData: { mimeType: "image/png", data: "iVBORw0KGgo=" } }];
  const two = await app.post("/oss/v1/models/chat:generateContent", { contents: [{ parts }] });
  assertEquals([two.status, (await two.json()).error.status], [400, "INVALID_ARGUMENT"]);
  const put = await app.fetch(new Request("http://gateway/oss/v1/models/chat:generateContent", { method: "PUT" }));
  assertEquals([put.status, put.headers.get("allow"), (await put.json()).error.code], [405, "POST, GET, HEAD", 405]);
  const task = await app.post("/oss/v1/models/chat:embedContent", { content: { parts: [{ text: "a" }] } });
  const { error } = await task.json();
  assertEquals(task.status, 422);
  assert(!error.message.includes(":generateContent"), error.message);
});

Deno.test("gemini: a list of one stands without its brackets, too", async () => {
  const upstream = saying({ content: "Hello" });
  const app = newApp({ config: CONFIG, fetch: upstream.fetch });
  const response = await app.post("/oss/v1beta/models/chat:generateContent", {
    system_instruction: { parts: { text: "Be brief" } },
    contents: { parts: { text: "Hello" } },
    tools: {
      function_declarations: {
        name: "look",
        parameters: { type: "OBJECT", properties: { parts: { type: "STRING" } } },
      },
    },
  });
  assertEquals(response.status, 200, await response.text());
  const { messages, tools } = sentTo(upstream);
  assertEquals(messages, [{ role: "system", content: "Be brief" }, { role: "user", content: "Hello" }]);
  const [{ function: { name, parameters } }] = tools as { function: JsonObject }[] as [{ function: JsonObject }];
  assertEquals([name, parameters], ["look", { type: "object", properties: { parts: { type: "string" } } }]);
});

Deno.test("gemini: what may be null may be null, whatever it is otherwise", async () => {
  const upstream = saying({ content: "{}" });
  const app = newApp({ config: CONFIG, fetch: upstream.fetch });
  const nullable = true;
  const responseSchema = {
    properties: {
      ref: { $ref: "#/$defs/A", nullable },
      one: { oneOf: [{ type: "STRING" }], nullable },
      any: { anyOf: [{ type: "STRING" }], nullable },
      types: { type: ["STRING", "INTEGER"], nullable },
      already: { type: ["STRING", "NULL"], nullable },
    },
    $defs: { A: { type: "STRING" } },
  };
  const generationConfig = { responseMimeType: "application/json", responseSchema };
  await app.post("/oss/v1/models/chat:generateContent", { ...HELLO, generationConfig });
  const { json_schema } = sentTo(upstream).response_format as { json_schema: { schema: JsonObject } };
  const nothing = { type: "null" };
  assertEquals(json_schema.schema.properties, {
    ref: { anyOf: [{ $ref: "#/$defs/A" }, nothing] },
    one: { anyOf: [{ oneOf: [{ type: "string" }] }, nothing] },
    any: { anyOf: [{ type: "string" }, nothing] },
    types: { type: ["string", "integer", "null"] },
    already: { type: ["string", "null"] },
  });
});

Deno.test("gemini: the counts add up, whatever the upstream counted", async () => {
  const usage = {
    prompt_tokens: 3,
    completion_tokens: 4,
    prompt_tokens_details: { cached_tokens: 50 },
    completion_tokens_details: { reasoning_tokens: 9 },
  };
  const upstream = fakeUpstream(() => Response.json(chatWhole({ content: "Hello" }, "stop", usage)));
  const app = newApp({ config: CONFIG, fetch: upstream.fetch });
  const { usageMetadata } = await (await app.post("/oss/v1/models/chat:generateContent", HELLO)).json();
  assertEquals(usageMetadata, {
    promptTokenCount: 3,
    candidatesTokenCount: 0,
    thoughtsTokenCount: 4,
    cachedContentTokenCount: 3,
    totalTokenCount: 7,
  });
});

Deno.test("gemini: the form of a stream is asked for under either name", async () => {
  const app = newApp({ config: CONFIG, fetch: saying({ content: "Hello" }).fetch });
  const forms = ["alt=sse", "$alt=sse", "%24alt=json%3Benum-encoding%3Dint", "alt=json"].map(async (query) => {
    const response = await app.post(`/oss/v1beta/models/chat:streamGenerateContent?${query}`, HELLO);
    await response.body?.cancel();
    return response.headers.get("content-type")?.split(";")[0];
  });
  const [sse, json] = ["text/event-stream", "application/json"];
  assertEquals(await Promise.all(forms), [sse, sse, json, json]);
});

Deno.test("gemini: a call that is marked as a thought is a call", async () => {
  const upstream = saying({ content: "Hello" });
  const app = newApp({ config: CONFIG, fetch: upstream.fetch });
  await app.post("/oss/v1/models/chat:generateContent", {
    contents: [
      ...HELLO.contents,
      { role: "model", parts: [{ text: "Hm", thought: true }, { functionCall: { name: "look" }, thought: true }] },
      { role: "user", parts: [{ functionResponse: { name: "look", response: { output: "Found" } } }] },
    ],
  });
  const [, assistant, result] = sentTo(upstream).messages as JsonObject[];
  const [call] = assistant!.tool_calls as { id: string; function: JsonObject }[];
  assertEquals([assistant!.reasoning_content, call!.function.name], ["Hm", "look"]);
  assertEquals([result!.tool_call_id, result!.content], [call!.id, "Found"]);
});

Deno.test("gemini: an answer that was held back inside a call says that it was held back", async () => {
  const held = saying({ content: "", tool_calls: [call("look", '{"where":"th')] }, "content_filter");
  const app = newApp({ config: CONFIG, fetch: held.fetch });
  for (const action of ["generateContent", "streamGenerateContent"]) {
    const answer = await (await app.post(`/oss/v1/models/chat:${action}`, HELLO)).json();
    assertEquals([answer].flat().at(-1).candidates[0].finishReason, "SAFETY");
  }
});

Deno.test("gemini SDK: interactions are not served, and the error says what to use, in the vendor's form", async () => {
  await withClient(fakeUpstream(() => new Response()), async ({ client, app, upstream }) => {
    const error = await assertRejects(() => client.interactions.create({ model: "chat", input: "Hello" }));
    assertMatch(String(error), /404.*interactions.*generateContent/s);
    const paths = [
      "/oss/v1beta/interactions",
      "/v1beta/interactions",
      "/oss/v1beta/interactions/v1_1",
      "/oss/v1alpha/interactions/v1_1/cancel",
    ];
    for (const path of paths) {
      for (const method of ["POST", "GET", "DELETE"]) {
        const headers = { authorization: `Bearer ${ENV.TEAM_KEY}` };
        const response = await app.fetch(new Request(`http://gateway${path}`, { method, headers }));
        const { error } = await response.json();
        assertEquals([response.status, error.code, error.status], [404, 404, "NOT_FOUND"], `${method} ${path}`);
      }
    }
    const other = await app.get("/oss/v1beta/interactionsandmore", { "x-goog-api-key": ENV.TEAM_KEY! });
    assertMatch((await other.json()).error.message, /^Cannot find the path/);
    const unknown = await app.get("/oss/v1beta/interactions", { "x-goog-api-key": "nobody's" });
    assertEquals([unknown.status, (await unknown.json()).error.status], [401, "UNAUTHENTICATED"]);
    assertEquals(upstream.asked.length, 0);
  });
});
