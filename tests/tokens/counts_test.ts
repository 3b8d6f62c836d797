import { assert, assertEquals } from "@std/assert";
import { CONFIG, type ConfigInput, newApp, type TestApp } from "../support/app.ts";
import { ANSWER, answerStream, ENDING, frame, word } from "../support/chat.ts";
import { fakeUpstream } from "../support/fake_upstream.ts";

const COUNT = "/oss/v1/messages/count_tokens";
const TEXT = "What a long conversation says again and again. ".repeat(2_000);

function body(more: object = {}) {
  return { model: "model", max_tokens: 100, messages: [{ role: "user", content: TEXT }], ...more };
}

/** What a request is counted to have, and who counted. */
async function counted(app: TestApp, more: object = {}): Promise<{ tokens: number; by: string | null }> {
  const response = await app.post(COUNT, body(more));
  assertEquals(response.status, 200);
  return { tokens: (await response.json()).input_tokens, by: response.headers.get("x-laneway-tokens") };
}

/** An upstream that says of every answer how many tokens went in. */
function telling(promptTokens: number) {
  return fakeUpstream(({ body }) => {
    const usage = { prompt_tokens: promptTokens, completion_tokens: 1, total_tokens: promptTokens + 1 };
    return JSON.parse(body).stream
      ? answerStream([word("whole"), frame({ delta: {}, finish_reason: "stop", usage }), usageFrame(usage)])
      : Response.json({ ...ANSWER, usage });
  });
}

function usageFrame(usage: object): string {
  return `data: ${JSON.stringify({ model: "org/model", choices: [], usage })}\n\ndata: [DONE]\n\n`;
}

async function firstFrame(response: Response): Promise<{ message: { usage: { input_tokens: number } } }> {
  const text = await response.text();
  return JSON.parse(/^data: (.*)$/m.exec(text)![1]!);
}

for (const stream of [false, true]) {
  Deno.test(`what an upstream told of its answers moves the counts of its model${stream ? " · streamed" : ""}`, async () => {
    const app = newApp({ fetch: telling(30_000).fetch });
    const before = await counted(app);
    assertEquals(before.by, "estimated");
    await (await app.post("/oss/v1/messages", body({ stream }))).text();
    const after = await counted(app);
    assertEquals(after.by, "calibrated");
    assert(after.tokens >= 30_000 && after.tokens <= 31_500, String(after.tokens));
    assertEquals((await counted(app, { model: "sandbox" })).by, "estimated");
  });
}

Deno.test("message_start carries the same count as count_tokens, and a header tells who counted", async () => {
  const app = newApp({ fetch: telling(30_000).fetch });
  for (const by of ["estimated", "calibrated"]) {
    const { tokens } = await counted(app);
    const response = await app.post("/oss/v1/messages", body({ stream: true }));
    assertEquals(response.headers.get("x-laneway-tokens"), by);
    assertEquals((await firstFrame(response)).message.usage.input_tokens, tokens);
  }
});

Deno.test("a whole answer has no such header, because its usage is the upstream's own", async () => {
  const app = newApp({ fetch: telling(30_000).fetch });
  const response = await app.post("/oss/v1/messages", body());
  assertEquals(response.headers.get("x-laneway-tokens"), null);
});

Deno.test("usage that the gateway made up moves nothing", async () => {
  const app = newApp({ fetch: fakeUpstream(() => answerStream([word("whole"), ENDING])).fetch });
  await (await app.post("/oss/v1/messages", body({ stream: true }))).text();
  assertEquals((await counted(app)).by, "estimated");
});

Deno.test("answers about pictures move nothing, because what those cost says nothing of texts", async () => {
  const app = newApp({ fetch: telling(90_000).fetch });
  const image = { type: "image", source: { type: "url", url: "https://example.org/a.png" } };
  const messages = [{ role: "user", content: [image, { type: "text", text: TEXT }] }];
  await (await app.post("/oss/v1/messages", body({ messages }))).text();
  assertEquals((await counted(app)).by, "estimated");
});

Deno.test("an answer to a conversation whose files the model was not sent teaches as one to a text", async () => {
  const image = { type: "image", source: { type: "url", url: "https://example.org/a.png" } };
  const messages = [
    { role: "user", content: [image, { type: "text", text: TEXT }] },
    { role: "assistant", content: "Yes?" },
    { role: "user", content: "Go on" },
  ];
  const { model } = CONFIG.lanes.oss.models as Record<string, object>;
  const models = { model: { ...model, inputModalities: ["text"] } };
  const config = { ...CONFIG, lanes: { oss: { models } } } as unknown as ConfigInput;
  const app = newApp({ config, fetch: telling(30_000).fetch });
  await (await app.post("/oss/v1/messages", body({ messages }))).text();
  assertEquals((await counted(app)).by, "calibrated");
});

Deno.test("a conversation whose files the model refuses is counted as it is", async () => {
  const image = { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } };
  const messages = [{ role: "user", content: [image, { type: "text", text: TEXT }] }];
  const { model } = CONFIG.lanes.oss.models as Record<string, object>;
  const models = { model: { ...model, inputModalities: ["text"] } };
  const app = newApp({ config: { ...CONFIG, lanes: { oss: { models } } } as unknown as ConfigInput });
  assertEquals((await app.post("/oss/v1/messages", body({ messages }))).status, 400);
  const [text, all] = [await counted(app), await counted(app, { messages })];
  assert(all.tokens > text.tokens, `${all.tokens} > ${text.tokens}`);
});

Deno.test("an answer without usage is given the calibrated count", async () => {
  const upstream = fakeUpstream(
    () => Response.json({ ...ANSWER, usage: { prompt_tokens: 30_000, completion_tokens: 1, total_tokens: 30_001 } }),
    () => Response.json({ ...ANSWER, usage: undefined }),
  );
  const app = newApp({ fetch: upstream.fetch });
  await (await app.post("/oss/v1/messages", body())).text();
  const { usage } = await (await app.post("/oss/v1/messages", body())).json();
  assertEquals(usage.input_tokens, (await counted(app)).tokens);
});

Deno.test("the other wire's count has the header too", async () => {
  const response = await newApp().post("/oss/v1/responses/input_tokens", { model: "model", input: TEXT });
  assertEquals(response.headers.get("x-laneway-tokens"), "estimated");
  assert((await response.json()).input_tokens > 20_000);
});
