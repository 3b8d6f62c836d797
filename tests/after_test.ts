/** An app that takes the place of another, as after a change of the configuration. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { configSchema } from "../src/config/schema.ts";
import { type App, createApp } from "../src/app.ts";
import { CHAT, chatBody, CONFIG, type ConfigInput, ENV } from "./support/app.ts";
import { until, within } from "./support/wait.ts";
import { createMemoryStore } from "../src/state/memory_store.ts";

const KEY = { name: "team", secret: { env: "TEAM_KEY" } };

function make(config: ConfigInput, more: { after?: App; fetch?: typeof fetch } = {}): App {
  return createApp({
    config: configSchema.parse({ retry: { budgetMs: 0 }, ...config }),
    env: (name) => ENV[name],
    fetch: () => Promise.reject(new TypeError("This test has no upstream")),
    store: createMemoryStore({ now: Date.now, limitBytes: 1_000_000 }),
    log: () => {},
    ...more,
  });
}

function post(app: App, path: string, body: object): Promise<Response> {
  return app.fetch(
    new Request(`http://gateway${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${ENV.TEAM_KEY}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    }),
  );
}

Deno.test("after: what a key has used stays used, also under another limit", async () => {
  const first = make({ ...CONFIG, keys: [{ ...KEY, quota: { requestsPerMinute: 1 } }] });
  const body = chatBody({ model: "sandbox" });
  assertEquals((await post(first, CHAT, body)).status, 200);
  const second = make({ ...CONFIG, keys: [{ ...KEY, quota: { requestsPerMinute: 1 } }], limits: { tools: 9 } }, {
    after: first,
  });
  assertEquals((await post(second, CHAT, body)).status, 429);
});

for (
  const [path, body, error] of [
    [CHAT, chatBody({ stream: true }), '"code":"unavailable"'],
    ["/oss/v1/messages", { ...chatBody({ stream: true }), max_tokens: 9 }, "event: error"],
    ["/oss/v1/responses", { model: "model", stream: true, input: "Hello" }, "event: response.failed"],
  ] as const
) {
  Deno.test(`after: a stream of ${path} goes on, counts against its key, and ends with the newer app`, async () => {
    const word = { id: "1", object: "chat.completion.chunk", created: 1, model: "m" };
    const chunk = `data: ${
      JSON.stringify({ ...word, choices: [{ index: 0, delta: { role: "assistant", content: "one" } }] })
    }\n\n`;
    let left = false;
    const upstream = (_: unknown, init?: RequestInit) =>
      Promise.resolve(
        new Response(
          new ReadableStream({
            start(controller) {
              controller.enqueue(new TextEncoder().encode(chunk));
              init?.signal?.addEventListener("abort", () => {
                left = true;
                controller.error(init.signal!.reason);
              });
            },
          }),
          { headers: { "content-type": "text/event-stream" } },
        ),
      );
    const first = make({ ...CONFIG, keys: [{ ...KEY, quota: { concurrentRequests: 1 } }] }, { fetch: upstream });
    const answer = await post(first, path, body);
    const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
    const read = () => within(5_000, reader.read());
    let text = "";
    while (!text.includes("one")) text += (await read()).value ?? "";
    const config = { ...CONFIG, keys: [{ ...KEY, quota: { concurrentRequests: 1, tokensPerMinute: 1_000_000 } }] };
    const second = make(config, { after: first });
    assertEquals((await post(second, CHAT, chatBody({ model: "sandbox" }))).status, 429);
    second.abort();
    for (let next = await read(); !next.done; next = await read()) text += next.value;
    assertStringIncludes(text, error);
    if (path === CHAT) assert(!text.includes("[DONE]"));
    await until(() => left);
  });
}
