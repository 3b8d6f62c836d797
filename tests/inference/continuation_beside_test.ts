/** Answers that go on beside the gateway's other features: redaction, budgets, concurrency limits, clients that leave, and what is no break. */
import { assertEquals } from "@std/assert";
import { deno } from "../../src/platform/deno.ts";
import { CHAT, chatBody, type ConfigInput, ENV, newApp } from "../support/app.ts";
import { answerStream, answerWhole, ENDING, frame, word } from "../support/chat.ts";
import { answerFor } from "../support/continued_answers.ts";
import { continuingEngine } from "../support/continuing_engine.ts";
import { type Asked, fakeUpstream } from "../support/fake_upstream.ts";
import { newHostedRig } from "../support/hosted_rig.ts";
import { until } from "../support/wait.ts";

const TEXT = "One answer, whatever breaks: it goes on as if nothing had happened.";

function configWith(more: ConfigInput & Record<string, unknown> = {}, upstream: object = {}): ConfigInput {
  return {
    upstreams: { fake: { driver: "chat", baseUrl: "http://upstream.test/v1", prefill: "turn", ...upstream } },
    lanes: { oss: { models: { model: { task: "chat", targets: [{ upstream: "fake", model: "m" }] } } } },
    ...more,
  };
}

function breaking(times = 1, text = TEXT) {
  return continuingEngine({
    wire: "chat",
    prefill: "turn",
    says: [{ text }],
    pieces: [5],
    breaks: Array(times).fill({ after: 4, how: "reset" }),
  });
}

Deno.test("continuation beside redaction: the upstream gets its placeholders back, and the client its own words", async () => {
  const address = "anna@example.test";
  const upstream = fakeUpstream(({ body }) => {
    const { messages } = JSON.parse(body);
    const said = messages.map(({ content }: { content: string }) => content).join("\n");
    const [placeholder = ""] = /\S*EMAIL\S*/i.exec(messages[0].content.replace("Write to ", "")) ?? [];
    assertEquals([said.includes(address), placeholder !== ""], [false, true], said);
    const whole = `I wrote to ${placeholder} and it was answered at once.`;
    const last = messages.at(-1);
    if (last.role === "user") return answerStream([word(whole.slice(0, -20)), word(whole.slice(-20, -10))]);
    // Text that might become a placeholder was held back when the answer broke off.
    assertEquals(whole.startsWith(last.content), true, last.content);
    return answerStream([word(whole.slice(last.content.length)), ENDING]);
  });
  const app = newApp({ config: configWith({ redact: { emails: true } }), fetch: upstream.fetch });
  const messages = [{ role: "user", content: `Write to ${address}` }];
  const text = await (await app.post(CHAT, chatBody({ stream: true, messages }))).text();
  const shown = [...text.matchAll(/"content":"([^"]*)"/g)].map(([, one]) => one).join("");
  assertEquals(shown, `I wrote to ${address} and it was answered at once.`);
  assertEquals(upstream.asked.length, 2);
  await app.close();
});

Deno.test("continuation beside a budget: the rest is reserved before it is asked for, and both calls are charged", async () => {
  const price = { input: 0, output: 1_000 };
  const config = (dollars: number) =>
    configWith({
      lanes: { oss: { models: { model: { task: "chat", targets: [{ upstream: "fake", model: "m" }], price } } } },
      keys: [{ name: "team", secret: { env: "TEAM_KEY" }, budget: { dollars, period: "day" } }],
    });
  const headers = { authorization: `Bearer ${ENV.TEAM_KEY}` };
  const rich = newApp({ config: config(1), fetch: fakeUpstream(breaking()).fetch });
  const got = await answerFor(rich, "chat", { maxTokens: 100 }, headers);
  assertEquals([got.text, got.ends], [TEXT, 1]);
  // The 5 tokens of the beginning, which are estimated, and the 10 pieces of the rest.
  assertEquals(Number(rich.logs[0]!.cost), 0.015);
  await rich.close();
  const upstream = fakeUpstream(breaking());
  const poor = newApp({ config: config(0.1), fetch: upstream.fetch });
  const broken = await answerFor(poor, "chat", { maxTokens: 100 }, headers);
  assertEquals([broken.ends + broken.errors, upstream.asked.length <= 2], [1, true]);
  await poor.close();
});

Deno.test("continuation beside a concurrency limit: the place of the call that broke is free for the rest", async () => {
  const upstream = fakeUpstream(breaking(2));
  const config = configWith({}, { concurrency: { running: 1, waiting: 0 } });
  const app = newApp({ config, fetch: upstream.fetch });
  const got = await answerFor(app, "chat");
  assertEquals([got.text, got.ends, upstream.asked.length], [TEXT, 1, 3]);
  const other = await answerFor(app, "chat");
  assertEquals([other.text, other.ends], [TEXT, 1]);
  await app.close();
});

Deno.test("continuation: a client that leaves while the rest is asked for ends that call, and no other is made", async () => {
  const signals: AbortSignal[] = [];
  const engine = breaking();
  const upstream = fakeUpstream((asked: Asked) => {
    signals.push(asked.signal);
    if (signals.length === 1) return engine(asked);
    return new Promise<Response>((_, reject) =>
      asked.signal.addEventListener("abort", () => reject(asked.signal.reason), { once: true })
    );
  });
  const app = newApp({ config: configWith(), fetch: upstream.fetch });
  const reader = (await app.post(CHAT, chatBody({ stream: true }))).body!.getReader();
  const read = async () => {
    while (!(await reader.read()).done);
  };
  const reading = read().catch(() => {});
  await until(() => signals.length === 2);
  await reader.cancel();
  await until(() => signals[1]!.aborted);
  await reading;
  await until(() => app.logs.length === 1);
  assertEquals([signals.length, app.logs[0]!.status], [2, 499]);
  await app.close();
});

Deno.test("continuation: requests are let go of when memory is short, also after a change of the limits", async () => {
  let [bytes, now] = [0, 0];
  let breakOff = () => {};
  const upstream = fakeUpstream(({ body }) => {
    if (JSON.parse(body).stream !== true) return answerWhole("Hello");
    const stream = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(new TextEncoder().encode(word("One answer, ")));
        breakOff = () => controller.error(new TypeError("connection reset"));
      },
    });
    return new Response(stream, { headers: { "content-type": "text/event-stream" } });
  });
  const platform = { ...deno, memory: () => bytes };
  const world = { fetch: upstream.fetch, now: () => now, platform };
  const first = newApp({ ...world, config: configWith({ limits: { memoryBytes: 1_000 } }) });
  const app = newApp({ ...world, config: configWith({ limits: { memoryBytes: 1_000, tools: 9 } }), after: first });
  const reader = (await app.post(CHAT, chatBody({ stream: true }))).body!.getReader();
  await reader.read();
  [bytes, now] = [900, 1_000];
  assertEquals((await app.post(CHAT, chatBody())).status, 200);
  breakOff();
  let text = "";
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    text += new TextDecoder().decode(read.value);
  }
  assertEquals([text.includes('"error"'), upstream.asked.length], [true, 2]);
  await app.close();
});

Deno.test("continuation: an answer that ends while the client reads slowly is not asked for again", async () => {
  const upstream = fakeUpstream(() =>
    answerStream([word(TEXT), frame({ delta: {}, finish_reason: "stop" })], new TypeError("connection reset"))
  );
  const app = newApp({ config: configWith(), fetch: upstream.fetch });
  const got = await answerFor(app, "chat");
  assertEquals([got.text, got.ends, upstream.asked.length], [TEXT, 1, 1]);
  await app.close();
});

Deno.test("continuation: what a caller's mistake or a limit of the gateway ended is not asked for again", async () => {
  for (
    const [code, type] of [[400, "invalid_request_error"], [400, "context_length_exceeded"], [
      400,
      "content_filter",
    ]] as const
  ) {
    const error = `data: ${JSON.stringify({ error: { message: type, type, code } })}\n\n`;
    const upstream = fakeUpstream(() => answerStream([word("One answer, "), error]));
    const app = newApp({ config: configWith(), fetch: upstream.fetch });
    const got = await answerFor(app, "chat");
    assertEquals([got.ends, got.errors, upstream.asked.length], [0, 1, 1], type);
    await app.close();
  }
  const upstream = fakeUpstream(() => answerStream([word("One "), word("answer that is too long".repeat(50)), ENDING]));
  const app = newApp({ config: configWith({ limits: { answerText: 1_000 } }), fetch: upstream.fetch });
  const got = await answerFor(app, "chat");
  assertEquals([got.ends, got.errors, upstream.asked.length], [0, 1, 1]);
  await app.close();
});

Deno.test("continuation beside hosted tools: the text of a round goes on, and its search is run once", async () => {
  const rest = ["goes on", " after it."];
  const rig = newHostedRig({
    rounds: [
      ["Let me search. ", 'web_search{"query":"weather"}'],
      answerStream([word("It rains, and ")]),
      rest,
    ],
    config: {
      upstreams: { fake: { driver: "chat", baseUrl: "http://upstream.test/v1", prefill: "turn" } },
    },
  });
  const body = { model: "model", stream: true, store: false, input: "Weather?", tools: [{ type: "web_search" }] };
  const text = await (await rig.app.post("/oss/v1/responses", body)).text();
  const shown = [...text.matchAll(/"type":"response.output_text.delta"[^\n]*?"delta":"([^"]*)"/g)].map(([, one]) =>
    one
  );
  assertEquals(shown.join(""), "Let me search. It rains, and goes on after it.");
  assertEquals([text.includes("response.completed"), rig.searched.length, rig.asked.length], [true, 1, 3]);
  const last = (rig.asked[2]!.body.messages as { role: string; content: string }[]).at(-1)!;
  assertEquals([last.role, last.content], ["assistant", "It rains, and"]);
});

Deno.test("continuation beside a record: the console shows each call with its reason, and where the answer broke off", async () => {
  const app = newApp({ config: configWith({ console: { record: {} } }), fetch: fakeUpstream(breaking()).fetch });
  await answerFor(app, "chat");
  const { data } = await (await app.get("/console/api/records")).json();
  const record = await (await app.get(`/console/api/record?id=${data[0].id}`)).json();
  assertEquals(record.calls.map(({ reason }: { reason: string }) => reason), ["first", "continuation"]);
  const events = record.events.map(({ what, name, detail }: Record<string, string>) => [what, name, detail]);
  assertEquals(events.filter(([what]: string[]) => what === "broke off"), [["broke off", "fake/m", "upstream_error"]]);
  await app.close();
});

Deno.test("continuation: signed reasoning goes back to the server that signed it, and to no other", async () => {
  const sign = (name: string, more: object) => `event: ${name}\ndata: ${JSON.stringify({ type: name, ...more })}\n\n`;
  const message = { id: "m", type: "message", role: "assistant", content: [], model: "m", usage: { input_tokens: 9 } };
  const thinking = { type: "thinking", thinking: "", signature: "" };
  const signed = [
    sign("message_start", { message }),
    sign("content_block_start", { index: 0, content_block: thinking }),
    sign("content_block_delta", { index: 0, delta: { type: "thinking_delta", thinking: "So." } }),
    sign("content_block_delta", { index: 0, delta: { type: "signature_delta", signature: "signed" } }),
    sign("content_block_stop", { index: 0 }),
    sign("content_block_start", { index: 1, content_block: { type: "text", text: "" } }),
    sign("content_block_delta", { index: 1, delta: { type: "text_delta", text: "One answer" } }),
  ];
  const sent: string[] = [];
  const upstream = fakeUpstream(({ url, body }) => {
    sent.push(`${url.hostname} ${body.includes("signed")}`);
    if (url.hostname === "other.test") {
      return answerStream([word(" goes on"), ENDING]);
    }
    return sent.length === 1 ? answerStream(signed) : new Response("busy", { status: 503 });
  });
  const config = configWith({
    upstreams: {
      one: { driver: "messages", baseUrl: "http://one.test/v1", prefill: "turn" },
      other: { driver: "chat", baseUrl: "http://other.test/v1", prefill: "turn" },
    },
    lanes: {
      oss: {
        continuation: "any",
        models: {
          model: { task: "chat", targets: [{ upstream: "one", model: "m" }, { upstream: "other", model: "n" }] },
        },
      },
    },
  });
  const app = newApp({ config, fetch: upstream.fetch });
  const got = await answerFor(app, "messages");
  assertEquals([got.text, got.reasoning, got.ends], ["One answer goes on", "So.", 1]);
  assertEquals(sent, ["one.test false", "one.test true", "other.test false"]);
  await app.close();
});
