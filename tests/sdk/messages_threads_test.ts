/** The SDK's helper for threads: it sends new turns alone, and everything again where the gateway tells it to. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import Anthropic from "anthropic-sdk";
import type { JsonObject } from "../../src/canonical/json.ts";
import { createMemoryStore } from "../../src/state/memory_store.ts";
import { ENV, newApp, NOW, type TestApp, type TestAppOptions } from "../support/app.ts";
import { answerStream } from "../support/chat.ts";
import { type FakeUpstream, fakeUpstream } from "../support/fake_upstream.ts";
import { SDK_CONFIG } from "./messages_clients.ts";
import { framesOf, type Said, scriptedUpstream, wholeOf } from "./responses_clients.ts";

interface Setting {
  client: Anthropic;
  app: TestApp;
  upstream: FakeUpstream;
  /** The bodies that the SDK sent, and the statuses that it got. */
  sent: { body: JsonObject; status: number; helper: string | null }[];
}

function setUp(
  upstream: FakeUpstream,
  options: TestAppOptions = {},
  apps: (app: TestApp) => TestApp = (app) => app,
): Setting {
  const app = newApp({ config: SDK_CONFIG, fetch: upstream.fetch, ...options });
  const sent: Setting["sent"] = [];
  const client = new Anthropic({
    apiKey: ENV.TEAM_KEY!,
    baseURL: "http://gateway/oss",
    maxRetries: 0,
    async fetch(input, init) {
      const request = new Request(input, init);
      const body = await request.clone().json();
      const response = await apps(app).fetch(request);
      sent.push({ body, status: response.status, helper: request.headers.get("x-stainless-helper") });
      const piped = response.body?.pipeThrough(new TransformStream(), { signal: request.signal });
      return new Response(piped, response);
    },
  });
  return { client, app, upstream, sent };
}

const PARAMS = { model: "model", max_tokens: 100, system: "Be brief." };

function textOf({ content }: { content: { type: string; text?: string }[] }): string {
  return content.map(({ text = "" }) => text).join("");
}

function wordsIn({ body }: { body: string }): string[] {
  return JSON.parse(body).messages.map(({ content }: { content: string }) => content);
}

const user = (content: string) => ({ role: "user" as const, content });

for (const streamed of [false, true]) {
  const way = streamed ? "streamed" : "whole";
  const ask = async (thread: ReturnType<Anthropic["beta"]["messages"]["thread"]>, text: string) =>
    streamed ? await thread.stream(user(text)).finalMessage() : await thread.send(user(text));

  Deno.test(`messages SDK, threads: each request has its new turn alone, and the model is asked with all (${way})`, async () => {
    const { client, upstream, sent } = setUp(scriptedUpstream({ text: "one" }, { text: "two" }, { text: "three" }));
    const thread = client.beta.messages.thread(PARAMS);
    const said = [];
    for (const text of ["a", "b", "c"]) said.push(textOf(await ask(thread, text)));
    assertEquals(said, ["one", "two", "three"]);
    assertEquals(sent.map(({ body }) => (body.messages as unknown[]).length), [1, 1, 1]);
    assertEquals(sent.map(({ body }) => (body.thread as JsonObject).type), ["create", "continue", "continue"]);
    assertEquals(sent.map(({ body }) => body.system), ["Be brief.", undefined, undefined]);
    assert(sent.every(({ helper, status }) => status === 200 && helper?.includes("message-thread")));
    assertEquals(wordsIn(upstream.asked[2]!), ["Be brief.", "a", "one", "b", "two", "c"]);
  });

  Deno.test(`messages SDK, threads: what the gateway has lost is sent again, once (${way})`, async () => {
    const options = { store: createMemoryStore({ now: () => NOW, limitBytes: 1e7 }) };
    const upstream = scriptedUpstream({ text: "one" }, { text: "two" }, { text: "three" });
    let ids = 900;
    const other = newApp({ config: SDK_CONFIG, fetch: upstream.fetch, newId: () => String(ids++) });
    let isLost = false;
    const { client, sent } = setUp(upstream, options, (app) => isLost ? other : app);
    const thread = client.beta.messages.thread({ ...PARAMS, unsupportedRequestBehavior: "continue_unthreaded" });
    await ask(thread, "a");
    isLost = true;
    await ask(thread, "b");
    await ask(thread, "c");
    assertEquals(sent.map(({ status }) => status), [200, 404, 200, 200]);
    assertEquals(sent.map(({ body }) => (body.thread as JsonObject).type), [
      "create",
      "continue",
      "create",
      "continue",
    ]);
    assertEquals(wordsIn(upstream.asked[2]!), ["Be brief.", "a", "one", "b", "two", "c"]);
  });

  Deno.test(`messages SDK, threads: two copies of a thread both go on, one of them anew (${way})`, async () => {
    const { client, upstream, sent } = setUp(scriptedUpstream({ text: "one" }, { text: "two" }, { text: "three" }));
    const thread = client.beta.messages.thread(PARAMS);
    await ask(thread, "a");
    const { previousMessageId } = thread;
    await ask(thread, "b");
    const continued = { ...PARAMS, system: undefined, messages: [user("c")] };
    const error = await assertRejects(
      () =>
        client.beta.messages.create({
          ...continued,
          thread: { type: "continue", previous_message_id: previousMessageId! },
          betas: ["message-threads-2026-08-12"],
        }),
      Anthropic.BadRequestError,
    );
    assertEquals((error.error as { error: JsonObject }).error.details, { error_code: "thread_already_continued" });
    await ask(thread.fork(), "c");
    assertEquals(sent.map(({ status }) => status), [200, 200, 400, 200]);
    assertEquals(wordsIn(upstream.asked[2]!), ["Be brief.", "a", "one", "b", "two", "c"]);
  });

  Deno.test(`messages SDK, threads: a runner of tools goes on with results alone (${way})`, async () => {
    const call: Said = { calls: [{ id: "call_1", name: "get_weather", input: '{"city":"Oslo"}' }] };
    const { client, upstream, sent } = setUp(scriptedUpstream({ thought: "Hm.", ...call }, { text: "Sunny." }));
    const thread = client.beta.messages.thread({
      ...PARAMS,
      messages: [user("Is it nice?")],
      tools: [{
        name: "get_weather",
        description: "The weather",
        input_schema: { type: "object", properties: { city: { type: "string" } } },
        run: ({ city }: { city: string }) => `sunny in ${city}`,
        parse: (input: unknown) => input as { city: string },
        // deno-lint-ignore no-explicit-any -- a helper of the SDK would make the same object
      } as any],
    });
    const last = await thread.toolRunner({ stream: streamed as false });
    assertEquals(textOf(last), "Sunny.");
    assertEquals(sent.map(({ body }) => (body.thread as JsonObject).type), ["create", "continue"]);
    assertEquals(sent[1]!.body.tools, undefined);
    const { messages, tools } = JSON.parse(upstream.asked[1]!.body);
    assertEquals(messages.map(({ role }: JsonObject) => role), ["system", "user", "assistant", "tool"]);
    assertEquals([messages[2].reasoning_content, messages[3].content], ["Hm.", "sunny in Oslo"]);
    assertEquals(tools.length, 1);
  });
}

Deno.test("messages SDK, threads: after a stream that broke, the helper begins anew and the gateway kept nothing of it", async () => {
  const upstream = fakeUpstream(
    () => answerStream(framesOf({ text: "one" })),
    () => answerStream(framesOf({ text: "two and more" }).slice(0, 2), new Error("gone")),
    () => answerStream(framesOf({ text: "three" })),
  );
  const { client, sent } = setUp(upstream);
  const thread = client.beta.messages.thread(PARAMS);
  await thread.stream(user("a")).finalMessage();
  await assertRejects(() => thread.stream(user("b")).finalMessage());
  assertEquals(textOf(await thread.stream(user("c")).finalMessage()), "three");
  assertEquals(sent.map(({ status }) => status), [200, 200, 200]);
  assertEquals((sent[2]!.body.thread as JsonObject).type, "create");
});

Deno.test("messages SDK, threads: after a refusal, the helper begins anew", async () => {
  const { client, sent } = setUp(fakeUpstream(
    () => Response.json(wholeOf({ text: "one" })),
    () => Response.json(wholeOf({ text: "no", finish: "content_filter" })),
    () => Response.json(wholeOf({ text: "two" })),
  ));
  const thread = client.beta.messages.thread(PARAMS);
  await thread.send(user("a"));
  assertEquals((await thread.send(user("b"))).stop_reason, "refusal");
  assertEquals(textOf(await thread.send(user("c"))), "two");
  assertEquals(sent.map(({ status }) => status), [200, 200, 200]);
});
