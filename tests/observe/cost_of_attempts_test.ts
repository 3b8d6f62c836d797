/** What a request costs that took more than one answer of an upstream: each at the price of who gave it, exactly. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import type { JsonObject } from "../../src/canonical/json.ts";
import type { Price } from "../../src/contract/planned_target.ts";
import { CHAT, chatBody, type ConfigInput, newApp, type TestApp } from "../support/app.ts";
import { ANSWER, answerStream, ENDING, frame, word } from "../support/chat.ts";
import { ASKS, newHostedRig } from "../support/hosted_rig.ts";
import { until, within } from "../support/wait.ts";

const USAGE = { prompt_tokens: 1_000, completion_tokens: 100, total_tokens: 1_100 };
/** A token of either kind costs a millionth at the first target, and a thousandth at the second. */
const FIRST: Price = { input: 1, output: 1 };
const SECOND: Price = { input: 1_000, output: 1_000 };

function configOf(prices: (Price | undefined)[], more: object = {}): ConfigInput {
  const names = ["first", "second"];
  const targets = names.map((upstream, at) => ({
    upstream,
    model: "org/model",
    ...(prices[at] && { price: prices[at] }),
  }));
  return {
    upstreams: Object.fromEntries(names.map((name) => [name, { driver: "chat", baseUrl: `http://${name}.test/v1` }])),
    lanes: { oss: { models: { model: { task: "chat", targets, ...more } } } },
  };
}

const counted = `data: ${JSON.stringify({ model: "org/model", choices: [], usage: USAGE })}\n\n`;
const saying = (text: string) =>
  answerStream([word(text), frame({ delta: {}, finish_reason: "stop" }), counted, "data: [DONE]\n\n"]);
const whole = (content: string) =>
  Response.json({
    ...ANSWER,
    choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }],
    usage: USAGE,
  });

type Answers = Record<string, (request: Request) => Response | Promise<Response>>;

function appOf(answers: Answers, prices: (Price | undefined)[], more: object = {}, usage?: object): TestApp {
  return newApp({
    config: { ...configOf(prices, more), ...(usage && { usage }) },
    async fetch(input, init) {
      const request = new Request(input, init);
      return await answers[new URL(request.url).hostname.split(".")[0]!]!(request);
    },
  });
}

async function logOf(app: TestApp, body: object) {
  const response = await app.post(CHAT, chatBody(body));
  const text = await response.text();
  await until(() => app.logs.length === 1);
  const { cost, costEstimated, status } = app.logs[0]!;
  return { cost, costEstimated, status, text, header: response.headers.get("x-laneway-cost") };
}

const SCHEMA = {
  response_format: { type: "json_schema", json_schema: { name: "a", schema: { type: "object", required: ["a"] } } },
};

Deno.test("cost: answers that are refused for their form are paid, each at the price of who gave it", async () => {
  let asked = 0;
  const app = appOf(
    { first: () => (asked++, whole("no JSON at all")), second: () => whole('{"a":1}') },
    [FIRST, SECOND],
    { structuredOutput: "instruct" },
  );
  const { cost, costEstimated, status } = await logOf(app, SCHEMA);
  // Twice 1,100 millionths of a dollar, and 1,100 thousandths.
  assertEquals([status, asked, cost, costEstimated], [200, 2, "1.1022", undefined]);
});

Deno.test("cost: a request whose every answer is refused costs what they cost", async () => {
  const app = appOf({ first: () => whole("no"), second: () => whole("no") }, [FIRST, SECOND], {
    structuredOutput: "instruct",
  });
  const { cost, status } = await logOf(app, SCHEMA);
  assertEquals([status, cost], [502, "2.2022"]);
});

Deno.test("cost: what fails before it gave anything costs nothing", async () => {
  for (const stream of [false, true]) {
    const app = appOf(
      { first: () => new Response("no", { status: 500 }), second: () => stream ? saying("yes") : whole("yes") },
      [FIRST, SECOND],
    );
    const { cost, costEstimated } = await logOf(app, { stream });
    assertEquals([cost, costEstimated], ["1.1", undefined]);
  }
});

Deno.test("cost: a hedge that is given up is paid by estimate", async () => {
  const app = appOf(
    {
      first: ({ signal }) =>
        new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true })),
      second: () => saying("yes"),
    },
    [{ input: 1_000_000 / 100, output: 1 }, FIRST],
    { hedgeAfterMs: 1 },
  );
  const { cost, costEstimated, text } = await logOf(app, { stream: true });
  // 9 tokens at a hundredth of a dollar, and 1,100 millionths.
  assertEquals([cost, costEstimated], ["0.0911", true]);
  assertStringIncludes(text, ": cost: 0.0911; estimated");
});

Deno.test("cost: a stream says what a hedge cost that ends after it, and says no part of it in its head", async () => {
  for (const obeys of [true, false]) {
    const late = Promise.withResolvers<Response>();
    const app = appOf(
      {
        first({ signal }) {
          if (obeys) signal.addEventListener("abort", () => late.reject(signal.reason), { once: true });
          return late.promise;
        },
        // Late enough for the hedge to have ended before the head, where it ends at all.
        second: () => new Response(new ReadableStream({ pull: (controller) => last(controller) }), EVENTS),
      },
      [{ input: 1_000_000 / 100, output: 1 }, FIRST],
      { hedgeAfterMs: 1 },
    );
    const { cost, header, text } = await logOf(app, { stream: true });
    late.resolve(whole("late"));
    assertEquals([cost, header], ["0.0911", null]);
    assertStringIncludes(text, ": cost: 0.0911; estimated");
  }
});

const EVENTS = { headers: { "content-type": "text/event-stream" } };

async function last(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
  controller.enqueue(await saying("yes").bytes());
  controller.close();
}

Deno.test("cost: what breaks off before it gave anything is no request of unknown price", async () => {
  const { promise: headIsOut, resolve } = Promise.withResolvers<void>();
  const app = newApp({
    config: { ...configOf([FIRST, FIRST]), usage: {} },
    pace: { headAfterMs: 1 },
    async fetch() {
      await headIsOut;
      return Response.json({ error: { message: "no" } }, { status: 500 });
    },
  });
  try {
    const response = await within(app.post(CHAT, chatBody({ stream: true })));
    resolve();
    await response.text();
    await until(() => app.logs.length === 1);
    const { status, cost } = app.logs[0]!;
    const { data: [row] } = await (await app.get("/usage")).json();
    assertEquals([status, cost, row.dollars, row.unpricedRequests], [200, undefined, "0", undefined]);
  } finally {
    await app.close();
  }
});

Deno.test("cost: where one of two answers has no price, the other's is an estimate", async () => {
  const app = appOf(
    { first: () => whole("no"), second: () => whole('{"a":1}') },
    [undefined, SECOND],
    { structuredOutput: "instruct" },
  );
  const { cost, costEstimated } = await logOf(app, SCHEMA);
  assertEquals([cost, costEstimated], ["1.1", true]);
});

for (const wire of ["messages", "responses"]) {
  for (const stream of [false, true]) {
    Deno.test(`cost: each round of hosted tools at the price of who answered it, and each search · ${wire} · ${stream ? "streamed" : "whole"}`, async () => {
      const failed = new Response("no", { status: 500 });
      const target = (upstream: string, price: Price) => ({ upstream, model: "org/model", price });
      const rig = newHostedRig({
        // The first answers its round, then fails: the second goes on.
        rounds: [['web_search{"query":"a"}'], failed, ["done"]],
        config: {
          upstreams: {
            first: { driver: "chat", baseUrl: "http://first.test/v1" },
            second: { driver: "chat", baseUrl: "http://second.test/v1" },
          },
          lanes: {
            oss: {
              models: {
                model: {
                  task: "chat",
                  targets: [target("first", { ...FIRST, search: 0.01 }), target("second", SECOND)],
                },
              },
            },
          },
        } as unknown as JsonObject,
      });
      const { path, body } = ASKS[wire]!;
      await (await rig.app.post(path, { ...body() as object, stream })).text();
      await until(() => rig.app.logs.length === 1);
      assertEquals([rig.searched.length, rig.asked.map(({ host }) => host)], [
        1,
        ["first.test", "first.test", "second.test"],
      ]);
      // 12 millionths, a cent for the search, 12 thousandths.
      assertEquals(rig.app.logs[0]!.cost, "0.022012");
    });
  }
}

Deno.test("cost: a search that fails costs nothing", async () => {
  const target = { upstream: "fake", model: "org/model", price: { ...FIRST, search: 0.01 } };
  const rig = newHostedRig({
    rounds: [['web_search{"query":"a"}'], ["done"]],
    search: () => new Response("no", { status: 500 }),
    config: { lanes: { oss: { models: { model: { task: "chat", targets: [target] } } } } } as unknown as JsonObject,
  });
  const { path, body } = ASKS.messages!;
  await (await rig.app.post(path, body())).text();
  assertEquals(rig.app.logs[0]!.cost, "0.000024");
});

Deno.test("cost: a summary that no conversation could go on from is paid", async () => {
  let asked = 0;
  const app = appOf({ first: () => whole(asked++ === 0 ? "" : "yes"), second: () => whole("") }, [FIRST, FIRST]);
  const input = [{ role: "user", content: "word ".repeat(2_000) }];
  const response = await app.post("/oss/v1/responses", {
    model: "model",
    input,
    store: false,
    context_management: [{ type: "compaction", compact_threshold: 1_000 }],
  });
  await response.text();
  assertEquals([response.status, asked], [200, 2]);
  assertEquals(app.logs[0]!.cost, "0.0022");
});

Deno.test("cost: a stream that breaks off has its tokens in what its key used, marked as estimated", async () => {
  const text = "a long word ".repeat(40);
  const app = appOf(
    { first: () => answerStream([word(text)], new Error("cut")), second: () => saying("never") },
    [FIRST, FIRST],
    {},
    {},
  );
  try {
    const { cost, costEstimated } = await logOf(app, { stream: true });
    const { data: [row] } = await (await app.get("/usage")).json();
    const { inputTokens, outputTokens, estimatedRequests, dollars } = row;
    assertEquals({ inputTokens, outputTokens, estimatedRequests, dollars }, {
      inputTokens: 9,
      outputTokens: text.length / 4,
      estimatedRequests: 1,
      dollars: cost,
    });
    assertEquals([app.logs[0]!.usage?.estimated, costEstimated], [true, true]);
  } finally {
    await app.close();
  }
});

Deno.test("cost: a stream without counts of its own costs what is estimated, once", async () => {
  const app = appOf({ first: () => answerStream([word("12345678"), ENDING]), second: () => saying("never") }, [
    FIRST,
    FIRST,
  ]);
  const { cost, costEstimated } = await logOf(app, { stream: true });
  assertEquals([cost, costEstimated], ["0.000011", true]);
});

Deno.test("cost: sound is paid by its minutes, or by the request", async () => {
  for (
    const [price, cost] of [[{ audioMinute: 0.006 }, "0.009"], [{ request: 0.02 }, "0.02"], [{}, undefined]] as const
  ) {
    const app = newApp({
      config: {
        upstreams: { fake: { driver: "audio", baseUrl: "http://upstream.test/v1" } },
        lanes: {
          oss: { models: { whisper: { task: "transcription", targets: [{ upstream: "fake", model: "w", price }] } } },
        },
      },
      fetch: () => Promise.resolve(Response.json({ text: "Hello", usage: { type: "duration", seconds: 90 } })),
    });
    const form = new FormData();
    form.append("model", "whisper");
    form.append("file", new Blob([new Uint8Array(100)]), "a.mp3");
    const response = await app.fetch(
      new Request("http://gateway/oss/v1/audio/transcriptions", { method: "POST", body: form }),
    );
    await response.text();
    assertEquals([response.status, app.logs[0]!.cost], [200, cost]);
  }
});
