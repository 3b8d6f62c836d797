import { assertEquals, assertStringIncludes } from "@std/assert";
import type { JsonObject } from "../../src/canonical/json.ts";
import { CHAT, chatBody, type ConfigInput, newApp, NOW } from "../support/app.ts";
import { answerStream, answerWhole, ENDING, word } from "../support/chat.ts";
import { type Asked, type FakeUpstream, fakeUpstream } from "../support/fake_upstream.ts";

const CONFIG: ConfigInput = {
  upstreams: {
    router: { driver: "chat", baseUrl: "http://router.test/v1" },
    local: { driver: "chat", baseUrl: "http://local.test/v1", dialect: "template" },
  },
  lanes: {
    oss: {
      models: {
        model: { task: "chat", targets: [{ upstream: "router", model: "zai-org/GLM-5.3" }] },
        other: { task: "chat", targets: [{ upstream: "router", model: "org/other" }] },
        local: { task: "chat", targets: [{ upstream: "local", model: "zai-org/GLM-4.6" }] },
        graded: {
          task: "chat",
          targets: [{ upstream: "local", model: "zai-org/GLM-4.6" }],
          efforts: ["low", "medium"],
        },
        second: {
          task: "chat",
          targets: [{ upstream: "router", model: "org/gone" }, { upstream: "local", model: "zai-org/GLM-4.6" }],
        },
      },
    },
  },
};

/** What of the upstream's body is about thinking. */
function thinkingIn({ asked }: FakeUpstream): JsonObject[] {
  return asked.map(({ body }) => {
    const { reasoning_effort, chat_template_kwargs } = JSON.parse(body);
    return JSON.parse(JSON.stringify({ reasoning_effort, chat_template_kwargs }));
  });
}

function refusal(message: string): Response {
  return Response.json({ error: { message, type: "invalid_request_error" } }, { status: 400 });
}

/** Refuses every request that has an effort, in the words of `message`. */
function refusesEffort(stream: boolean, message = "reasoning_effort is not supported with this model") {
  return fakeUpstream(({ body }: Asked) => {
    if ("reasoning_effort" in JSON.parse(body)) return refusal(message);
    return stream ? answerStream([word("whole"), ENDING]) : answerWhole();
  });
}

Deno.test("effort: each upstream is told in its own way, and levels that are configured win", async () => {
  const upstream = fakeUpstream(() => answerWhole());
  const app = newApp({ config: CONFIG, fetch: upstream.fetch });
  const notes = [];
  for (const model of ["model", "local", "graded"]) {
    for (const reasoning_effort of ["none", "high"]) {
      const response = await app.post(CHAT, chatBody({ model, reasoning_effort }));
      notes.push(response.headers.get("x-laneway-notes"));
      await response.body?.cancel();
    }
  }
  assertEquals(thinkingIn(upstream), [
    { reasoning_effort: "low" },
    { reasoning_effort: "high" },
    { chat_template_kwargs: { enable_thinking: false } },
    { chat_template_kwargs: { enable_thinking: true } },
    { reasoning_effort: "low" },
    { reasoning_effort: "medium" },
  ]);
  assertEquals(notes, [
    "clamped effort none>low",
    null,
    null,
    "clamped effort high>on",
    "clamped effort none>low",
    "clamped effort high>medium",
  ]);
});

Deno.test("effort: the next target is told in its own way, and only what was changed for it is said", async () => {
  const upstream = fakeUpstream(() => new Response(null, { status: 503 }), () => answerWhole());
  const app = newApp({ config: CONFIG, fetch: upstream.fetch });
  const response = await app.post(CHAT, chatBody({ model: "second", reasoning_effort: "none" }));
  assertEquals([response.status, response.headers.get("x-laneway-notes")], [200, null]);
  await response.body?.cancel();
  assertEquals(thinkingIn(upstream), [
    { reasoning_effort: "none" },
    { chat_template_kwargs: { enable_thinking: false } },
  ]);
});

for (const stream of [false, true]) {
  const mode = stream ? "streamed" : "whole";
  const ask = { stream, stream_options: stream ? { include_usage: true } : undefined, reasoning_effort: "high" };

  Deno.test(`effort: an upstream that refuses it is asked once more without it, and then never with it for a day · ${mode}`, async () => {
    let now = NOW;
    const upstream = refusesEffort(stream);
    const app = newApp({ config: CONFIG, fetch: upstream.fetch, now: () => now });
    const post = async (more: object = {}) => {
      const response = await app.post(CHAT, chatBody({ ...ask, ...more }));
      assertStringIncludes(await response.text(), "whole");
      return [response.status, response.headers.get("x-laneway-notes")];
    };
    assertEquals(await post(), [200, "dropped reasoning_effort"]);
    assertEquals(thinkingIn(upstream), [{ reasoning_effort: "high" }, {}]);
    assertEquals(await post(), [200, "dropped reasoning_effort"]);
    assertEquals(thinkingIn(upstream).slice(2), [{}]);
    // Of another model at the same upstream nothing is known yet.
    assertEquals(await post({ model: "other" }), [200, "dropped reasoning_effort"]);
    assertEquals(thinkingIn(upstream).slice(3), [{ reasoning_effort: "high" }, {}]);
    now += 86_400_000;
    await post();
    assertEquals(thinkingIn(upstream).slice(5), [{ reasoning_effort: "high" }, {}]);
    // Nothing asked, nothing said.
    assertEquals(await post({ reasoning_effort: undefined }), [200, null]);
  });

  Deno.test(`effort: where the request fails without it too, that is what the client is told, and nothing is learnt · ${mode}`, async () => {
    const upstream = fakeUpstream(
      () => refusal("Unknown field 'reasoning_effort'"),
      () => refusal("messages: Field required"),
    );
    const app = newApp({ config: CONFIG, fetch: upstream.fetch });
    const response = await app.post(CHAT, chatBody(ask));
    assertEquals(response.status, 400);
    assertStringIncludes((await response.json()).error.message, "messages: Field required");
    assertEquals(upstream.asked.length, 2);
    await (await app.post(CHAT, chatBody(ask))).body?.cancel();
    assertEquals(thinkingIn(upstream)[2], { reasoning_effort: "high" });
  });

  Deno.test(`effort: a strict request is refused before it would be asked without it · ${mode}`, async () => {
    const upstream = refusesEffort(stream);
    const app = newApp({ config: CONFIG, fetch: upstream.fetch });
    const response = await app.post(CHAT, chatBody(ask), { "x-laneway-strict": "true" });
    assertEquals([response.status, upstream.asked.length], [400, 1]);
    assertStringIncludes((await response.json()).error.message, "dropped reasoning_effort");
  });

  Deno.test(`effort: a refusal of something else is told as it is · ${mode}`, async () => {
    const upstream = fakeUpstream(() => refusal("The `reasoning_content` in the thinking mode must be passed back"));
    const app = newApp({ config: CONFIG, fetch: upstream.fetch });
    const response = await app.post(CHAT, chatBody(ask));
    // The second time in the plainest form, since the request has no such field.
    assertEquals([response.status, upstream.asked.length], [400, 2]);
    assertStringIncludes((await response.json()).error.message, "reasoning_content");
  });

  Deno.test(`effort: a template that does not know its variable is asked without it · ${mode}`, async () => {
    const upstream = fakeUpstream(({ body }) => {
      if ("chat_template_kwargs" in JSON.parse(body)) return refusal('"GLM" does not support thinking');
      return stream ? answerStream([word("whole"), ENDING]) : answerWhole();
    });
    const app = newApp({ config: CONFIG, fetch: upstream.fetch });
    const response = await app.post(CHAT, chatBody({ ...ask, model: "local", reasoning_effort: "none" }));
    assertStringIncludes(await response.text(), "whole");
    assertEquals(response.headers.get("x-laneway-notes"), "dropped chat_template_kwargs");
    assertEquals(thinkingIn(upstream), [{ chat_template_kwargs: { enable_thinking: false } }, {}]);
  });
}
