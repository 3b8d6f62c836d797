/** Requests and answers that are legal, or nearly, and were made to hurt. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { configSchema } from "../../src/config/schema.ts";
import { check } from "../../src/config/check.ts";
import { formatLogLine } from "../../src/observe/log.ts";
import { CHAT, chatBody, newApp } from "../support/app.ts";
import { answerStream, answerWhole, ENDING, frame, word } from "../support/chat.ts";
import { fakeUpstream } from "../support/fake_upstream.ts";

const MESSAGES = "/oss/v1/messages";
const FINISH = frame({ delta: {}, finish_reason: "stop" });

Deno.test("an answer that had its ending is whole although the connection broke after it", async () => {
  const reset = new TypeError("connection reset");
  const app = newApp({ fetch: fakeUpstream(() => answerStream([word("one"), FINISH], reset)).fetch });
  const text = await (await app.post(CHAT, chatBody({ stream: true }))).text();
  assertStringIncludes(text, "data: [DONE]");
  assert(!text.includes('"error"'), text);
  assertEquals(app.logs[0]?.error, undefined);
});

Deno.test("a second choice that nobody asked for is not mixed into the first", async () => {
  const choices = ["A", "B"].map((content, index) => ({ index, message: { content }, finish_reason: "stop" }));
  const app = newApp({ fetch: fakeUpstream(() => Response.json({ object: "chat.completion", choices })).fetch });
  const answer = await (await app.post(CHAT, chatBody())).json();
  assertEquals(answer.choices.map(({ message }: { message: { content: string } }) => message.content), ["A"]);
});

Deno.test("counts that make no sense are estimated, and the answer is not lost", async () => {
  const choices = [{ index: 0, message: { content: "A" }, finish_reason: "stop" }];
  const usage = { prompt_tokens: "5", completion_tokens: "1" };
  const app = newApp({ fetch: fakeUpstream(() => Response.json({ object: "chat.completion", choices, usage })).fetch });
  const response = await app.post(CHAT, chatBody());
  assertEquals(response.headers.get("x-laneway-notes"), "estimated usage");
  assertEquals((await response.json()).choices[0].message.content, "A");
});

Deno.test("a stream that calls itself plain text is read as one", async () => {
  const answer = () => new Response(word("one") + ENDING, { headers: { "content-type": "text/plain" } });
  const app = newApp({ fetch: fakeUpstream(answer).fetch });
  assertStringIncludes(await (await app.post(CHAT, chatBody({ stream: true }))).text(), '"content":"one"');
});

Deno.test("headers that no client needs are refused before anything looks at them", async () => {
  const app = newApp();
  const response = await app.get("/oss/v1/models", { "x-long": "a".repeat(33_000) });
  assertEquals([response.status, (await response.json()).error.code], [431, "headers_too_large"]);
});

Deno.test("a thousand unknown fields leave a log line and a header of reasonable length", async () => {
  const unknown = Object.fromEntries(
    Array.from({ length: 1_000 }, (_, at) => [`field_${at}_${"a".repeat(1_000)}`, 1]),
  );
  const app = newApp({ fetch: fakeUpstream(() => answerWhole()).fetch });
  const body = { ...chatBody(), max_tokens: 9, ...unknown };
  const response = await app.post(MESSAGES, body, { "anthropic-version": "2023-06-01" });
  assertEquals(response.status, 200);
  assert(response.headers.get("x-laneway-notes")!.length <= 4_096);
  assertEquals(app.logs[0]?.notes?.length, 100);
  assert(formatLogLine(app.logs[0]!).length < 30_000);
});

Deno.test("a secret that no header can carry is told at the start, and not shown", () => {
  const config = {
    upstreams: { fake: { driver: "chat", baseUrl: "http://upstream.test/v1", secret: { env: "TOKEN" } } },
    lanes: { oss: { upstreams: { chat: "fake" } } },
  };
  configSchema.parse(config);
  const problems = check(config, {
    drivers: { chat: { tasks: ["chat"], needsBaseUrl: true, counters: [], reads: [] } },
    catalogs: {},
    env: () => "hf_“quoted”",
  });
  assertEquals(problems.map(({ path }) => path), ["upstreams.fake.secret.env"]);
  assert(!problems[0]!.message.includes("hf_"));
});

Deno.test("what was left out for a target that failed is not said of the one that answered", async () => {
  const upstream = fakeUpstream(() => new Response("busy", { status: 500 }), () => answerWhole());
  const app = newApp({
    fetch: upstream.fetch,
    config: {
      upstreams: {
        picky: { driver: "chat", baseUrl: "http://picky.test/v1", refuses: ["store"] },
        plain: { driver: "chat", baseUrl: "http://plain.test/v1" },
      },
      lanes: {
        oss: {
          models: {
            model: {
              task: "chat",
              targets: [{ upstream: "picky", model: "m" }, { upstream: "plain", model: "m" }],
            },
          },
        },
      },
    },
  });
  const response = await app.post(CHAT, { ...chatBody(), store: true });
  assertEquals([response.status, response.headers.get("x-laneway-notes")], [200, null]);
});

Deno.test("a model's name of a book's length is refused and not repeated", async () => {
  const app = newApp();
  const response = await app.post(CHAT, { ...chatBody(), model: "m".repeat(1_000_000) });
  assertEquals(response.status, 400);
  assert((await response.text()).length < 1_000);
  assert(JSON.stringify(app.logs[0]).length < 1_000);
});

Deno.test("a failure that waiting does not mend is told so, in every protocol", async () => {
  const refused = () => new Response("<html>Forbidden</html>", { status: 403 });
  const noMedia = () => Response.json({ error: { message: "image input is not supported" } }, { status: 500 });
  for (const [path, body] of [[CHAT, chatBody()], [MESSAGES, { ...chatBody(), max_tokens: 9 }]] as const) {
    const app = newApp({ fetch: fakeUpstream(refused, noMedia).fetch });
    const first = await app.post(path, body);
    assertEquals([first.status, first.headers.get("x-should-retry")], [502, "false"]);
    assertEquals((await app.post(path, body)).status, 400);
    const bare = newApp({ env: {} });
    const second = await bare.post(path, body, { "anthropic-version": "2023-06-01" });
    assertEquals([second.status, second.headers.get("x-should-retry")], [503, "false"]);
  }
});

Deno.test("a stop sequence is told only where the client asked for it", async () => {
  const choices = [{ index: 0, message: { content: "A" }, finish_reason: "stop", stop_reason: "<|im_end|>" }];
  const answer = () => Response.json({ object: "chat.completion", choices });
  const app = newApp({ fetch: fakeUpstream(answer, answer).fetch });
  const body = { ...chatBody(), max_tokens: 9 };
  assertEquals((await (await app.post(MESSAGES, body)).json()).stop_reason, "end_turn");
  const asked = await (await app.post(MESSAGES, { ...body, stop_sequences: ["<|im_end|>"] })).json();
  assertEquals([asked.stop_reason, asked.stop_sequence], ["stop_sequence", "<|im_end|>"]);
});
