/** An app that takes the place of another, as after a change of the configuration. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { configSchema } from "../../src/config/schema.ts";
import { type App, createApp } from "../../src/app.ts";
import { CHAT, chatBody, CONFIG, type ConfigInput, ENV, TWO_UPSTREAMS } from "../support/app.ts";
import { answerStream, answerWhole, ENDING, word } from "../support/chat.ts";
import { type Asked, fakeUpstream } from "../support/fake_upstream.ts";
import { delay, until, within } from "../support/wait.ts";
import { createMemoryStore } from "../../src/state/memory_store.ts";

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
    const read = () => within(reader.read());
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

/** An upstream that says nothing until it is let. */
function silent() {
  const answer = Promise.withResolvers<Response>();
  const asked = Promise.withResolvers<void>();
  const fetch = () => {
    asked.resolve();
    return answer.promise;
  };
  return { fetch, asked: asked.promise, speak: () => answer.resolve(Response.json({ text: "Hello" })) };
}

Deno.test("after: what runs at an upstream counts against its places, whatever else of it has changed", async () => {
  const { fetch, asked, speak } = silent();
  const configOf = (timeouts: object) => ({
    ...CONFIG,
    upstreams: {
      ...CONFIG.upstreams,
      fake: { ...CONFIG.upstreams.fake, concurrency: { running: 1, waiting: 0 }, timeouts },
    },
  });
  const first = make(configOf({}), { fetch });
  const running = post(first, CHAT, chatBody());
  await asked;
  const second = make(configOf({ idleMs: 9_000 }), { fetch, after: first });
  const refused = await within(post(second, CHAT, chatBody()));
  assertEquals([refused.status, refused.headers.get("retry-after")], [503, "1"]);
  speak();
  await (await running).body?.cancel();
});

Deno.test("after: files that are being worked on count against the room for all, whatever other limit has changed", async () => {
  const { fetch, asked, speak } = silent();
  const configOf = (limits: object): ConfigInput => ({
    ...CONFIG,
    lanes: {
      oss: { models: { voice: { task: "transcription", targets: [{ upstream: "audio", model: "whisper" }] } } },
    },
    upstreams: { audio: { driver: "audio", baseUrl: "http://upstream.test/v1" } },
    limits: { uploadBytes: 1_500, ...limits },
  });
  const upload = (app: App) => {
    const form = new FormData();
    form.append("model", "voice");
    form.append("file", new Blob([new Uint8Array(800)]), "a.wav");
    return app.fetch(
      new Request("http://gateway/oss/v1/audio/transcriptions", {
        method: "POST",
        body: form,
        headers: { "content-length": "1200" },
      }),
    );
  };
  const first = make(configOf({}), { fetch });
  const running = upload(first);
  await asked;
  const second = make(configOf({ tools: 9 }), { fetch, after: first });
  const refused = await within(upload(second));
  assertEquals([refused.status, refused.headers.get("retry-after")], [503, "5"]);
  speak();
  assertEquals(await (await running).json(), { text: "Hello" });
});

/** `TWO_UPSTREAMS`, each with more, and with more of the whole and of the model. */
function twoUpstreams(upstream: object = {}, more: Partial<ConfigInput> = {}, model: object = {}): ConfigInput {
  const { upstreams: { first, second }, lanes } = TWO_UPSTREAMS;
  return {
    upstreams: { first: { ...first, ...upstream }, second: { ...second, ...upstream } },
    lanes: { oss: { models: { model: { ...lanes.oss.models.model, ...model } } } },
    ...more,
  };
}

/** The same response, once all of it is there. */
async function whole(response: Response): Promise<Response> {
  await response.text();
  return response;
}

/** The upstreams that are asked, in order, by an app and by the one after it; each answers as `answer` says. */
function newHistory(answer: (asked: Asked) => Response | Promise<Response>) {
  const upstream = fakeUpstream(answer);
  const ask = async (app: App, more: object = {}) => {
    upstream.asked.length = 0;
    const { status } = await within(post(app, CHAT, chatBody(more)).then(whole));
    return { status, asked: upstream.asked.map(({ url }) => url.host) };
  };
  return { fetch: upstream.fetch, ask };
}

Deno.test("after: an upstream that rests goes on resting", async () => {
  const { fetch, ask } = newHistory(({ url }) =>
    url.host === "first.test" ? new Response("no", { status: 500 }) : answerWhole()
  );
  const first = make(twoUpstreams(), { fetch });
  // Each a conversation of its own, which has no home.
  for (let time = 0; time < 5; time++) {
    await ask(first, { messages: [{ role: "user", content: `Hello ${time}` }] });
  }
  const second = make(twoUpstreams({}, { limits: { tools: 9 } }), { fetch, after: first });
  assertEquals((await ask(second)).asked, ["second.test"]);
});

Deno.test("after: a conversation stays where it was answered", async () => {
  let isDown = true;
  const { fetch, ask } = newHistory(({ url }) =>
    isDown && url.host === "first.test" ? new Response("no", { status: 500 }) : answerWhole()
  );
  const first = make(twoUpstreams(), { fetch });
  assertEquals((await ask(first)).asked, ["first.test", "second.test"]);
  isDown = false;
  const second = make(twoUpstreams({}, { limits: { tools: 9 } }), { fetch, after: first });
  const messages = [{ role: "user", content: "Hello" }, { role: "assistant", content: "whole" }];
  assertEquals((await ask(second, { messages: [...messages, { role: "user", content: "More" }] })).asked, [
    "second.test",
  ]);
});

Deno.test("after: what still runs takes its room in the gateway and its places at the upstreams", async () => {
  const busy = { concurrency: { running: 1, waiting: 0 } };
  const full = { limits: { concurrentRequests: 1 } };
  for (const [config, places] of [[twoUpstreams(busy), 2], [twoUpstreams({}, full), 1]] as const) {
    const gate = Promise.withResolvers<void>();
    let running = 0;
    const { fetch, ask } = newHistory(async () => {
      running++;
      await gate.promise;
      return answerWhole();
    });
    const first = make(config, { fetch });
    const all = Array.from({ length: places }, () => ask(first));
    await until(() => running === places);
    const second = make({ ...config, retry: { budgetMs: 0, rounds: 1 } }, { fetch, after: first });
    assertEquals([(await ask(second)).status, running], [503, places]);
    gate.resolve();
    await Promise.all(all);
    assertEquals((await ask(second)).status, 200);
  }
});

Deno.test("after: how many requests may be asked twice is counted on", async () => {
  const { fetch, ask } = newHistory(async () => {
    await delay(15);
    return answerStream([word("one"), ENDING]);
  });
  const config = twoUpstreams({}, {}, { hedgeAfterMs: 1 });
  const first = make(config, { fetch });
  let asked = 0;
  for (let time = 0; time < 20; time++) asked += (await ask(first, { stream: true })).asked.length;
  assert(asked > 20, "nothing was asked twice");
  const second = make({ ...config, limits: { tools: 9 } }, { fetch, after: first });
  const counts: number[] = [];
  for (let time = 0; time < 5; time++) counts.push((await ask(second, { stream: true })).asked.length);
  assert(counts.filter((count) => count > 1).length <= 1, `${counts}`);
});

Deno.test("after: an upstream that the configuration changes is asked as it says now", async () => {
  const { fetch, ask } = newHistory(() => answerWhole());
  const first = make(twoUpstreams(), { fetch });
  assertEquals((await ask(first)).asked, ["first.test"]);
  const second = make(twoUpstreams({ baseUrl: "http://elsewhere/v1" }), { fetch, after: first });
  assertEquals((await ask(second)).asked, ["elsewhere"]);
});
