/** Requests that only their own wire knows: several choices, log probabilities, sound. */
import { assert, assertEquals, assertNotEquals, assertStringIncludes } from "@std/assert";
import OpenAI from "openai";
import { catalogs, drivers, protocols } from "../../../plugins/mod.ts";
import type { JsonObject } from "../../../src/canonical/json.ts";
import { CHAT, chatBody, CONFIG, type ConfigInput, newApp } from "../../support/app.ts";
import { fakeUpstream } from "../../support/fake_upstream.ts";
import { loadFixtures } from "../../support/fixtures.ts";

const config: ConfigInput = {
  ...CONFIG,
  upstreams: { ...CONFIG.upstreams, other: { driver: "messages", baseUrl: "http://other.test/v1" } },
  lanes: {
    oss: {
      models: {
        ...CONFIG.lanes.oss.models,
        other: { task: "chat", targets: [{ upstream: "other", model: "m" }] },
        both: { task: "chat", targets: [{ upstream: "other", model: "m" }, { upstream: "fake", model: "org/model" }] },
      },
    },
  },
};

function newRelay(...answers: Parameters<typeof fakeUpstream>) {
  const upstream = fakeUpstream(...answers);
  return { app: newApp({ config, fetch: upstream.fetch }), asked: upstream.asked };
}

const RECORDED = loadFixtures("chat");

/** A recorded request, and the real engine's answer to it. */
function recorded(name: string): { request: JsonObject; json: JsonObject; text: string } {
  const { request, response } = RECORDED.find((fixture) => fixture.name === name)!;
  return { request: request.body as JsonObject, json: response.json as JsonObject, text: response.text ?? "" };
}

const sse = (text: string) => new Response(text, { headers: { "content-type": "text/event-stream" } });

for (const name of ["chat-n2", "chat-logprobs"]) {
  Deno.test(`relay: ${name}: the answer comes as the upstream gave it, under our id and the client's model`, async () => {
    const { json, request } = recorded(name);
    const { app, asked } = newRelay(() => Response.json(json));
    const answer = await (await app.post(CHAT, { ...request, model: "model" })).json();
    assertEquals(answer, { ...json, id: answer.id, model: "model" });
    assert(answer.id.startsWith("chatcmpl-"));
    assertNotEquals(answer.id, json.id);
    assertEquals(JSON.parse(asked[0]!.body), { ...request, model: "org/model" });
    assertEquals(app.logs[0]?.usage?.inputTokens, (json.usage as JsonObject).prompt_tokens);
  });

  Deno.test(`relay: ${name}, streamed: every chunk as it came, usage only where it was asked for`, async () => {
    const { text, request } = recorded(`${name}-stream`);
    for (const asks of [true, false]) {
      const { app, asked } = newRelay(() => sse(text));
      const options = asks ? { stream_options: { include_usage: true } } : { stream_options: undefined };
      const answer = await (await app.post(CHAT, { ...request, ...options, model: "model" })).text();
      const chunks = framesOf(answer);
      const { id } = chunks[0]!;
      const expected = framesOf(text)
        .filter(({ choices }) => asks || (choices as unknown[]).length > 0)
        .map(({ usage, ...rest }) => ({ ...rest, ...(usage && { usage }), id: id!, model: "model" }));
      assertEquals(chunks, expected);
      assertEquals(chunks.some(({ usage }) => usage), asks);
      assertEquals(answer.trimEnd().endsWith("data: [DONE]"), true);
      assertEquals(JSON.parse(asked[0]!.body).stream_options, { include_usage: true });
    }
  });
}

function framesOf(text: string): JsonObject[] {
  return text.split("\n\n").map((frame) => frame.replace(/^data: /, "")).filter((data) => data && data !== "[DONE]")
    .map((data) => JSON.parse(data));
}

Deno.test("relay: the vendor's SDK reads both choices of a stream", async () => {
  const { text } = recorded("chat-n2-stream");
  const { app } = newRelay(() => sse(text));
  const client = new OpenAI({
    apiKey: "any",
    baseURL: "http://gateway/oss/v1",
    fetch: (url, init) => app.fetch(new Request(url, init)),
  });
  const messages = [{ role: "user" as const, content: "Hi" }];
  const texts = ["", ""];
  for await (
    const { choices } of await client.chat.completions.create({ model: "model", n: 2, stream: true, messages })
  ) {
    for (const { index, delta } of choices) texts[index] += delta.content ?? "";
  }
  assertEquals(texts, Array(2).fill("Hello from the tiny model. This is the second sentence."));
});

for (
  const [what, text] of [
    ["is cut", (whole: string) => whole.slice(0, whole.length / 2)],
    [
      "ends before its last choice does",
      () => 'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"},{"index":1,"delta":{"content":"a"}}]}\n\n',
    ],
    ["ends before a choice does", () => 'data: {"choices":[{"index":0,"delta":{"content":"a"}}]}\n\n'],
    [
      "holds an error",
      () => 'data: {"choices":[{"index":0,"delta":{"content":"a"}}]}\n\ndata: {"error":{"message":"no"}}\n\n',
    ],
  ] as const
) {
  Deno.test(`relay: a stream that ${what} ends in an error and without [DONE]`, async () => {
    const { app } = newRelay(() => sse(text(recorded("chat-n2-stream").text)));
    const answer = await (await app.post(CHAT, chatBody({ n: 2, stream: true }))).text();
    assert(!answer.includes("[DONE]"));
    assertStringIncludes(answer.trimEnd().split("\n\n").at(-1)!, '"error":');
  });
}

Deno.test("relay: a stream without [DONE] is whole where every choice has ended", async () => {
  const { text } = recorded("chat-n2-stream");
  const { app } = newRelay(() => sse(text.replace("data: [DONE]\n\n", "")));
  const answer = await (await app.post(CHAT, chatBody({ n: 2, stream: true }))).text();
  assert(answer.trimEnd().endsWith("data: [DONE]"));
});

for (const done of ["", "data: [DONE]\n\n"]) {
  const title = `relay: a server that ignores "n" gives one choice ${done ? "and" : "without"} [DONE], which is noted`;
  Deno.test(title, async () => {
    const { request, text } = recorded("transformers-ignores-n-stream");
    const { app } = newRelay(() => sse(text + done));
    const response = await app.post(CHAT, { ...request, model: "model" });
    const answer = await response.text();
    // The head has it where the answer was there when the head went out.
    const late = /^: notes: (.*)$/m.exec(answer)?.[1];
    assertEquals(response.headers.get("x-laneway-notes") ?? late, "answered 1 of 2 choices");
    assertEquals(answer.trimEnd().split("\n\n").at(-1), "data: [DONE]");
    const choices = framesOf(answer.replace(/^:.*$/gm, "")).flatMap(({ choices }) => choices as JsonObject[]);
    const said = choices.map(({ delta }) => (delta as JsonObject).content ?? "").join("");
    assertEquals([said, choices.at(-1)!.finish_reason], ["1, 2, 3, 4, 5. Done counting!", "stop"]);
  });
}

Deno.test('relay: a whole answer of a server that ignores "n" is noted', async () => {
  const { json, request } = recorded("llama-cpp-python-ignores-n");
  const { app } = newRelay(() => Response.json(json));
  const response = await app.post(CHAT, { ...request, model: "model" });
  assertEquals((await response.json()).choices, json.choices);
  assertEquals(response.headers.get("x-laneway-notes"), "answered 1 of 2 choices");
});

for (
  const [field, more] of [
    ["n", { n: 2 }],
    ["logprobs", { logprobs: true }],
    ["top_logprobs", { top_logprobs: 2 }],
    ["modalities", { modalities: ["text", "audio"] }],
    ["audio", { audio: { voice: "alloy", format: "wav" } }],
  ] as const
) {
  Deno.test(`relay: "${field}" is refused by name where the model's upstreams speak another wire`, async () => {
    for (const model of ["other", "sandbox"]) {
      const { app, asked } = newRelay();
      const response = await app.post(CHAT, chatBody({ ...more, model }));
      assertEquals([response.status, (await response.json()).error.param, asked.length], [400, field, 0]);
    }
    const { app, asked } = newRelay(() => Response.json({ choices: [{ index: 0, message: { content: "a" } }] }));
    assertEquals((await app.post(CHAT, chatBody({ ...more, model: "both" }))).status, 200);
    assertEquals(asked.map(({ url }) => url.host), ["upstream.test"]);
  });
}

Deno.test("relay: a driver of another name that speaks the same wire is asked", async () => {
  const own = { ...drivers.find(({ name }) => name === "chat")!, name: "own" };
  const { json, request } = recorded("chat-n2");
  const upstream = fakeUpstream(() => Response.json(json));
  const app = newApp({
    plugins: { protocols, drivers: [...drivers, own], catalogs },
    config: { ...CONFIG, upstreams: { ...CONFIG.upstreams, fake: { ...CONFIG.upstreams.fake, driver: "own" } } },
    fetch: upstream.fetch,
  });
  const response = await app.post(CHAT, { ...request, model: "model" });
  assertEquals([response.status, upstream.asked.length], [200, 1]);
  assertEquals((await response.json()).choices.length, 2);
});

Deno.test("relay: an upstream's failure is told as ever, and one choice is no relay", async () => {
  const { app } = newRelay(() => Response.json({ error: { message: "slow down" } }, { status: 429 }));
  assertEquals((await app.post(CHAT, chatBody({ n: 2 }))).status, 429);
  const empty = newRelay(() => Response.json({ choices: [] }));
  assertEquals((await empty.app.post(CHAT, chatBody({ n: 2 }))).status, 502);
  const one = newRelay(() => Response.json({ choices: [{ message: { content: "a" }, finish_reason: "stop" }] }));
  const answer = await (await one.app.post(CHAT, chatBody({ n: 1 }))).json();
  assertEquals(answer.choices[0].logprobs, null);
});
