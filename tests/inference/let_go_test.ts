/** What is still held of a request while its answer goes out: nothing that nobody reads again. */
import { assertEquals } from "@std/assert";
import { z } from "zod";
import { builtIn } from "../../src/app.ts";
import type { Protocol } from "../../src/contract/protocol.ts";
import type { StagePlugin } from "../../src/contract/stage.ts";
import { deno } from "../../src/platform/deno.ts";
import type { Platform, Telemetry } from "../../src/platform/platform.ts";
import { collectGarbage } from "../../src/util/collect_garbage.ts";
import { type ConfigInput, newApp, type TestApp } from "../support/app.ts";
import { answerWhole, ENDING, frame, word } from "../support/chat.ts";
import { fakeUpstream } from "../support/fake_upstream.ts";
import { delay } from "../support/wait.ts";
import { EventReader } from "../state/continuity/echo.ts";

const LONG = "a long text ".repeat(1_000);

/** The paths of the protocols that stream conversations, and what goes with the conversation. */
const ASKED: Record<string, { path: string; body: object }> = {
  "chat": { path: "/oss/v1/chat/completions", body: { messages: [{ role: "user", content: LONG }] } },
  "messages": { path: "/oss/v1/messages", body: { messages: [{ role: "user", content: LONG }], max_tokens: 9 } },
  "responses": { path: "/oss/v1/responses", body: { input: [{ role: "user", content: LONG }], store: false } },
  "gemini-v1beta-stream": {
    path: "/oss/v1beta/models/model:streamGenerateContent?alt=sse",
    body: { contents: [{ role: "user", parts: [{ text: LONG }] }] },
  },
  "gemini-v1-list": {
    path: "/oss/v1/models/model:streamGenerateContent",
    body: { contents: [{ role: "user", parts: [{ text: LONG }] }] },
  },
  "ollama": { path: "/oss/api/chat", body: { messages: [{ role: "user", content: LONG }] } },
};

/** What an upstream of each wire streams: a word, of an answer that is not over. */
const BEGINNINGS: Record<string, string> = {
  chat: word("Word"),
  messages: [
    { type: "message_start", message: { id: "m", role: "assistant", content: [], model: "m", usage: {} } },
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Word" } },
  ].map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(""),
  responses: [
    { type: "response.created", response: { id: "r", status: "in_progress", output: [] } },
    {
      type: "response.output_item.added",
      output_index: 0,
      item: { id: "m", type: "message", role: "assistant", status: "in_progress", content: [] },
    },
    {
      type: "response.content_part.added",
      item_id: "m",
      output_index: 0,
      content_index: 0,
      part: { type: "output_text", text: "", annotations: [] },
    },
    { type: "response.output_text.delta", item_id: "m", output_index: 0, content_index: 0, delta: "Word" },
  ].map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(""),
};

/** A stage that may note something until the answer ends. It stands in place of the gateway's own, whose section it has. */
const NOTING: StagePlugin = {
  name: "redact",
  description: "Notes how the answer ends.",
  options: z.any(),
  create: () => ({
    name: "redact",
    request: (input, about) => ({
      input,
      events: {
        push(event, emit) {
          if (event.type === "finish") about.note(`ended for ${about.caller.name} at ${about.target}`);
          emit(event);
        },
      },
    }),
  }),
};

/** Of each of these nothing may hold a conversation. */
const FEATURES: Record<string, ConfigInput & Record<string, unknown>> = {
  "has it pass a stage that may still note something": { redact: { secrets: true } },
  "has texts redacted": { redact: { emails: true, secrets: true } },
  "has arguments repaired": {
    upstreams: { fake: { driver: "chat", baseUrl: "http://upstream.test/v1", repairArguments: true } },
  },
  "may have the answer continued": {
    upstreams: { fake: { driver: "chat", baseUrl: "http://upstream.test/v1", prefill: "turn" } },
  },
  "asks a model whose limits are known": {
    lanes: {
      oss: {
        models: {
          model: {
            task: "chat",
            targets: [{ upstream: "fake", model: "m" }],
            inputModalities: ["text"],
            contextLength: 100_000,
            efforts: ["low"],
          },
        },
      },
    },
  },
};

/** An app that knows, of each request, whether its conversation is held, in its own form or in the client's. */
function watchedApp(
  driver: string,
  upstream: (pull: number) => string | undefined,
  more: ConfigInput = {},
  platform?: Platform,
  stage?: StagePlugin,
) {
  const parsed: WeakRef<object>[] = [];
  const watch = (protocol: Protocol<"generate">): Protocol<"generate"> => ({
    ...protocol,
    parse(wire, context) {
      const input = protocol.parse(wire, context);
      const conversation = (wire.body as Record<string, object[]>)[protocol.conversation!]!;
      parsed.push(new WeakRef(conversation), new WeakRef(conversation[0]!), new WeakRef(input.messages[0]!));
      return input;
    },
  });
  const app = newApp({
    config: {
      upstreams: { fake: { driver, baseUrl: "http://upstream.test/v1" } },
      lanes: { oss: { models: { model: { task: "chat", targets: [{ upstream: "fake", model: "m" }] } } } },
      ...more,
    },
    pace: { headAfterMs: 1 },
    ...(platform && { platform }),
    plugins: {
      protocols: builtIn.protocols.map((one) =>
        one.operation === "generate" && one.stream ? watch(one as Protocol<"generate">) : one
      ) as typeof builtIn.protocols,
      ...(stage && { stages: [stage] }),
    },
    fetch: async (input, init) => {
      await new Request(input, init).body?.cancel();
      let pulls = 0;
      const body = new ReadableStream<Uint8Array>({
        pull(controller) {
          const text = upstream(pulls++);
          if (text === undefined) return new Promise(() => {});
          if (text === "") controller.close();
          else controller.enqueue(new TextEncoder().encode(text));
        },
      });
      return new Response(body, { headers: { "content-type": "text/event-stream" } });
    },
  });
  return { app, held: async () => (await collected(), parsed.map((one) => one.deref() !== undefined)) };
}

/** What is referred to weakly lives until the task ends in which it was last looked at. */
async function collected(): Promise<void> {
  for (let round = 0; round < 2; round++) {
    await delay(0);
    collectGarbage();
  }
}

async function ask(app: TestApp, client: string, more: object = {}): Promise<EventReader> {
  const { path, body } = ASKED[client]!;
  return new EventReader(await app.post(path, { model: "model", stream: true, ...body, ...more }));
}

for (const driver of Object.keys(BEGINNINGS)) {
  Deno.test(`a conversation is let go once its answer has begun, by who has a budget: ${driver}`, async () => {
    const price = { input: 1, output: 1 };
    const model = { task: "chat" as const, targets: [{ upstream: "fake", model: "m" }], price };
    const paid = { budget: { dollars: 100, period: "day" as const }, lanes: { oss: { models: { model } } } };
    const { app, held } = watchedApp(driver, (pull) => pull === 0 ? BEGINNINGS[driver] : undefined, paid);
    // The first one waits for the store.
    for (let round = 0; round < 2; round++) {
      const reader = await ask(app, "chat");
      await reader.until("Word");
      assertEquals(new Set(await held()), new Set([false]));
      await reader.leave();
    }
    await app.close();
  });
}

/** OpenTelemetry whose spans keep nothing. */
function telemetry(): Telemetry {
  const span = {
    spanContext: () => ({ traceId: "a".repeat(32), spanId: "b".repeat(16), traceFlags: 1 }),
    setAttributes() {},
    setAttribute() {},
    setStatus() {},
    updateName() {},
    end() {},
  };
  const tracerProvider = { getTracer: () => ({ startSpan: () => span }) } as unknown as Telemetry["tracerProvider"];
  return { tracerProvider, isAutomatic: false, integer: (value) => value };
}

for (const driver of Object.keys(BEGINNINGS)) {
  Deno.test(`a conversation is let go once its answer has begun, by who traces requests: ${driver}`, async () => {
    const platform: Platform = Object.create(deno, { telemetry: { value: telemetry() } });
    const { app, held } = watchedApp(driver, (pull) => pull === 0 ? BEGINNINGS[driver] : undefined, {}, platform);
    const reader = await ask(app, "chat");
    await reader.until("Word");
    assertEquals(await held(), [false, false, false]);
    await reader.leave();
  });
}

for (const client of Object.keys(ASKED)) {
  for (const driver of Object.keys(BEGINNINGS)) {
    Deno.test(`a conversation is let go once its answer has begun: ${client} over ${driver}`, async () => {
      const { app, held } = watchedApp(driver, (pull) => pull === 0 ? BEGINNINGS[driver] : undefined);
      const reader = await ask(app, client);
      await reader.until("Word");
      assertEquals(await held(), [false, false, false]);
      await reader.leave();
    });
  }
}

for (const [name, config] of Object.entries(FEATURES)) {
  Deno.test(`a conversation is let go once its answer has begun, by who ${name}`, async () => {
    const stage = name.includes("may still note") ? NOTING : undefined;
    for (const strict of ["false", "true"]) {
      const { app, held } = watchedApp(
        "chat",
        (pull) => pull === 0 ? BEGINNINGS.chat : undefined,
        config,
        undefined,
        stage,
      );
      for (const client of ["chat", "messages", "responses"]) {
        const { path, body } = ASKED[client]!;
        const asked = { model: "model", stream: true, ...body };
        const reader = new EventReader(await app.post(path, asked, { "x-laneway-strict": strict }));
        await reader.until("Word");
        assertEquals(new Set(await held()), new Set([false]));
        await reader.leave();
      }
    }
  });
}

const SCHEMA = { type: "object", properties: { title: { type: "string" } } };
/** An upstream that takes no schema. */
const IN_WORDS: ConfigInput = {
  upstreams: { fake: { driver: "chat", baseUrl: "http://upstream.test/v1", structuredOutput: "instruct" } },
};
const IN_FORM = { response_format: { type: "json_schema", json_schema: { name: "answer", schema: SCHEMA } } };

for (const driver of Object.keys(BEGINNINGS)) {
  Deno.test(`a conversation is let go once its answer has begun, by who wants it in a schema: ${driver}`, async () => {
    const { app, held } = watchedApp(driver, (pull) => pull === 0 ? BEGINNINGS[driver] : undefined);
    const reader = await ask(app, "chat", IN_FORM);
    await reader.until("Word");
    assertEquals(await held(), [false, false, false]);
    await reader.leave();
  });
}

Deno.test("a conversation is let go once its answer is a call, by who asks for a schema in words", async () => {
  const call = { index: 0, id: "c", type: "function", function: { name: "Word", arguments: "" } };
  const calls = frame({ delta: { tool_calls: [call] } });
  const { app, held } = watchedApp("chat", (pull) => pull === 0 ? calls : undefined, IN_WORDS);
  const tools = [{ type: "function", function: { name: "Word", parameters: { type: "object" } } }];
  const reader = await ask(app, "chat", { ...IN_FORM, tools });
  await reader.until("Word");
  assertEquals(await held(), [false, false, false]);
  await reader.leave();
});

Deno.test("a conversation is held while an answer in a schema that was asked for in words may be asked for again", async () => {
  const thought = frame({ delta: { reasoning_content: "Thought" } });
  const { app, held } = watchedApp("chat", (pull) => pull === 0 ? thought : undefined, IN_WORDS);
  const reader = await ask(app, "chat", IN_FORM);
  await reader.until("Thought");
  assertEquals((await held()).at(-1), true);
  await reader.leave();
});

Deno.test("a conversation is let go once its answer has begun, by who relays it", async () => {
  const { app, held } = watchedApp("chat", (pull) => pull === 0 ? BEGINNINGS.chat : undefined);
  const reader = await ask(app, "chat", { n: 2 });
  await reader.until("Word");
  assertEquals(await held(), [false, false, false]);
  await reader.leave();
});

Deno.test("a conversation is held for as long as another target may be asked", async () => {
  const { app, held } = watchedApp("chat", (pull) => pull === 0 ? ": nothing yet\n\n" : undefined);
  const reader = await ask(app, "chat");
  assertEquals((await held()).at(-1), true);
  await reader.leave();
});

Deno.test("what is to be stored of a conversation is held until it is stored, and is stored whole", async () => {
  let end: string | undefined;
  const upstream = fakeUpstream(() =>
    new Response(
      new ReadableStream<Uint8Array>({
        async pull(controller) {
          controller.enqueue(new TextEncoder().encode(word("Word")));
          await delay(0);
          collectGarbage();
          controller.enqueue(new TextEncoder().encode(ENDING));
          controller.close();
          end = "ended";
        },
      }),
      { headers: { "content-type": "text/event-stream" } },
    )
  );
  const app = newApp({ fetch: upstream.fetch });
  const reader = await ask(app, "responses", { store: true });
  await reader.toEnd();
  assertEquals([end, reader.last?.store], ["ended", true]);
  const items = await (await app.get(`/oss/v1/responses/${reader.last!.id}/input_items`)).json();
  assertEquals(items.data[0].content[0].text, LONG);
});

for (const driver of Object.keys(BEGINNINGS)) {
  Deno.test(`the earlier turns of a thread are let go once its answer has begun: ${driver}`, async () => {
    const read: WeakRef<object>[] = [];
    const watch = (protocol: Protocol<"generate">): Protocol<"generate"> => ({
      ...protocol,
      async threads() {
        const speech = await protocol.threads!();
        return {
          ...speech,
          goOn(wire, context, thread) {
            const turn = speech.goOn(wire, context, thread);
            const [first, ...others] = turn.input.messages;
            read.push(...[first!, ...others.slice(0, -1), thread.messages[0]!].map((one) => new WeakRef(one)));
            return turn;
          },
        };
      },
    });
    const protocols = builtIn.protocols.map((one) =>
      one.name === "messages" ? watch(one as Protocol<"generate">) : one
    );
    let calls = 0;
    const app = newApp({
      config: {
        upstreams: {
          first: { driver: "chat", baseUrl: "http://first.test/v1" },
          fake: { driver, baseUrl: "http://upstream.test/v1" },
        },
        lanes: {
          oss: {
            models: {
              first: { task: "chat", targets: [{ upstream: "first", model: "m" }] },
              model: { task: "chat", targets: [{ upstream: "fake", model: "m" }] },
            },
          },
        },
      },
      pace: { headAfterMs: 1 },
      plugins: { protocols: protocols as typeof builtIn.protocols },
      fetch: async (input, init) => {
        await new Request(input, init).body?.cancel();
        if (calls++ === 0) return answerWhole();
        let pulls = 0;
        const body = new ReadableStream<Uint8Array>({
          pull: (controller) =>
            pulls++ === 0
              ? controller.enqueue(new TextEncoder().encode(BEGINNINGS[driver]))
              : new Promise<void>(() => {}),
        });
        return new Response(body, { headers: { "content-type": "text/event-stream" } });
      },
    });
    const { path, body } = ASKED.messages!;
    const created = await app.post(path, { model: "first", ...body, system: LONG, thread: { type: "create" } });
    const thread = { type: "continue", previous_message_id: (await created.json()).id };
    const messages = [{ role: "user", content: "And then?" }];
    const reader = new EventReader(await app.post(path, { model: "model", ...body, stream: true, messages, thread }));
    await reader.until("Word");
    await collected();
    assertEquals(read.length, 4);
    assertEquals(read.filter((one) => one.deref() !== undefined).length, 0);
    await reader.leave();
    await app.close();
  });
}
