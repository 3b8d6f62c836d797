/** What a budget holds to when many requests, with limits of their own and without, are answered as long as they may be. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import fc from "fast-check";
import type { JsonObject } from "../../src/canonical/json.ts";
import { picoDollars } from "../../src/util/dollars.ts";
import { HEADERS, MODES, PATH, type Wire, WIRES } from "../regressions/support.ts";
import { type ConfigInput, newApp, type TestApp } from "../support/app.ts";
import { answerStream, frame, word } from "../support/chat.ts";
import type { Asked } from "../support/fake_upstream.ts";
import { law } from "../support/law.ts";

/** What a model writes to which nobody sets a limit, in tokens. */
const ENDLESS = 100_000;

interface Setting {
  dollars: number;
  /** Dollars for a million tokens of either kind. */
  price: number;
  wire?: Wire;
  model?: object;
}

function configOf({ dollars, price, wire = "chat", model }: Setting): ConfigInput {
  const targets = [{ upstream: "fake", model: "org/model" }];
  return {
    upstreams: { fake: { driver: wire, baseUrl: "http://upstream.test/v1" } },
    lanes: { oss: { models: { model: { task: "chat", targets, price: { input: price, output: price }, ...model } } } },
    budget: { dollars, period: "day" },
  } as ConfigInput;
}

function limitIn({ body }: Asked): number | undefined {
  const { max_tokens, max_completion_tokens = max_tokens, max_output_tokens = max_completion_tokens } = JSON.parse(
    body,
  );
  return max_output_tokens;
}

/** An answer that is as long as it may be. It says so, and takes one token of input, so that no estimate is too low. */
function longest(asked: Asked, wire: Wire): Response {
  const { stream, n = 1 } = JSON.parse(asked.body);
  const limit = limitIn(asked);
  const output = (limit ?? ENDLESS) * n;
  const [total, isCut] = [output + 1, limit !== undefined];
  if (wire === "messages") {
    const usage = { input_tokens: 1, output_tokens: output };
    const message = {
      id: "msg_1",
      type: "message",
      role: "assistant",
      model: "org/model",
      content: [{ type: "text", text: "long" }],
      stop_reason: isCut ? "max_tokens" : "end_turn",
      usage,
    };
    return Response.json(message);
  }
  if (wire === "responses") {
    const item = {
      type: "message",
      id: "msg_1",
      role: "assistant",
      status: "completed",
      content: [{ type: "output_text", text: "long", annotations: [] }],
    };
    return Response.json({
      id: "resp_1",
      object: "response",
      model: "org/model",
      status: isCut ? "incomplete" : "completed",
      ...(isCut && { incomplete_details: { reason: "max_output_tokens" } }),
      output: [item],
      usage: { input_tokens: 1, output_tokens: output, total_tokens: total },
    });
  }
  const usage = { prompt_tokens: 1, completion_tokens: output, total_tokens: total };
  const finish_reason = isCut ? "length" : "stop";
  if (stream) {
    const last = `data: ${JSON.stringify({ choices: [], usage })}\n\n`;
    return answerStream([word("long"), frame({ delta: {}, finish_reason }), last, "data: [DONE]\n\n"]);
  }
  const choices = Array.from({ length: n }, (_, index) => {
    return { index, message: { role: "assistant", content: "long" }, finish_reason };
  });
  return Response.json({ id: "chatcmpl-1", object: "chat.completion", model: "org/model", choices, usage });
}

/** An app whose upstream answers nobody before `count` requests are decided upon; `refused` counts one that is not asked. */
function gathered(setting: Setting, count: number) {
  const asked: Asked[] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  let decided = 0;
  const decide = () => void (++decided === count && resolve());
  const app = newApp({
    config: configOf(setting),
    async fetch(input, init) {
      const request = new Request(input, init);
      const { method, headers, signal } = request;
      const one = { method, url: new URL(request.url), headers, body: await request.text(), signal };
      asked.push(one);
      decide();
      await promise;
      return longest(one, setting.wire ?? "chat");
    },
  });
  return { app, asked, refused: decide };
}

async function spentOf(app: TestApp): Promise<bigint> {
  const { budgets: [{ spent }] } = await (await app.get("/usage")).json();
  return picoDollars(spent)!;
}

const LIMIT: Record<Wire, string> = { chat: "max_tokens", messages: "max_tokens", responses: "max_output_tokens" };

interface Shape {
  client: Wire;
  stream: boolean;
  limit: number | undefined;
  n: number | undefined;
  length: number;
}

function bodyOf({ client, stream, limit, n, length }: Shape): JsonObject {
  const text = "word ".repeat(length);
  return {
    model: "model",
    stream,
    ...(client === "responses" ? { input: text } : { messages: [{ role: "user", content: text }] }),
    ...(limit !== undefined && { [LIMIT[client]]: limit }),
    ...(client === "chat" && n !== undefined && { n }),
  };
}

async function send(app: TestApp, shape: Shape) {
  const response = await app.post(PATH[shape.client], bodyOf(shape), HEADERS[shape.client]);
  return { status: response.status, text: await response.text(), headers: response.headers };
}

const shapes: fc.Arbitrary<Shape> = fc.record({
  client: fc.constantFrom(...WIRES),
  stream: fc.boolean(),
  limit: fc.option(fc.integer({ min: 1, max: 50_000 }), { nil: undefined }),
  n: fc.option(fc.integer({ min: 2, max: 4 }), { nil: undefined }),
  length: fc.integer({ min: 1, max: 200 }),
});

law(
  "law · budgets: whatever is asked at once and however long the answers, what is spent stays within the budget",
  fc.record({
    dollars: fc.integer({ min: 1, max: 10_000 }).map((cents) => cents / 100),
    price: fc.constantFrom(0.5, 2.2, 15, 100, 1_000),
    wire: fc.constantFrom<Wire>("chat", "messages", "responses"),
    all: fc.array(shapes, { minLength: 1, maxLength: 12 }),
  }),
  async ({ all, ...setting }) => {
    const { app, refused } = gathered(setting, all.length);
    try {
      const statuses = await Promise.all(all.map(async (shape) => {
        // Only a server of the chat wire is asked for several answers.
        const { status } = await send(app, setting.wire === "chat" ? shape : { ...shape, n: undefined });
        if (status !== 200) refused();
        return status;
      }));
      const spent = await spentOf(app);
      assert(spent <= picoDollars(setting.dollars)!, `${spent} were spent of ${setting.dollars} dollars`);
      // A request that the rest affords is served: some 20 tokens and 1 for the answer.
      const left = picoDollars(setting.dollars)! - spent;
      const small: Shape = { client: "chat", stream: false, limit: 1, n: undefined, length: 1 };
      if (left >= picoDollars(setting.price)! * 30n / 1_000_000n) assertEquals((await send(app, small)).status, 200);
      assert(statuses.every((status) => status === 200 || status === 402), statuses.join());
    } finally {
      await app.close();
    }
  },
);

for (const count of [6, 200]) {
  Deno.test(`budget: of ${count} requests at once without a limit it pays those that it has room for, each within a limit`, async () => {
    const { app, asked, refused } = gathered({ dollars: 10, price: 100 }, count + 1);
    try {
      const open: Shape = { client: "chat", stream: false, limit: undefined, n: undefined, length: 1 };
      const ask = async (limit?: number) => {
        const { status } = await send(app, { ...open, limit });
        if (status !== 200) refused();
        return status;
      };
      const sending = Array.from({ length: count }, () => ask());
      while (asked.length < 6) await new Promise((resolve) => setTimeout(resolve));
      const small = await ask(16);
      const statuses = await Promise.all(sending);
      assert(await spentOf(app) <= picoDollars(10)!, `${await spentOf(app)} were spent`);
      // A few leave room for a small one that comes while they run. Many use the budget up.
      if (count === 6) assertEquals([small, ...statuses], Array(7).fill(200));
      else assertEquals([...new Set(statuses)].toSorted(), [200, 402]);
      assertEquals(asked.map(limitIn).filter((limit) => limit === undefined), []);
    } finally {
      await app.close();
    }
  });
}

Deno.test("budget: a small request to a model with a large context is served, with 32,768 tokens for its answer", async () => {
  const { app, asked } = gathered({ dollars: 2, price: 2.2, model: { contextLength: 1_000_000 } }, 1);
  try {
    const { status, text } = await send(app, {
      client: "chat",
      stream: false,
      limit: undefined,
      n: undefined,
      length: 1,
    });
    assertEquals([status, asked.map(limitIn)], [200, [32_768]], text);
  } finally {
    await app.close();
  }
});

const ENDS: Record<Wire, string> = {
  chat: '"finish_reason":"length"',
  messages: '"stop_reason":"max_tokens"',
  responses: '"reason":"max_output_tokens"',
};

for (const client of WIRES) {
  for (const wire of WIRES) {
    for (const mode of MODES) {
      Deno.test(`budget: an answer that reaches the limit of the budget ends as one that reaches its own, with a note · ${client} of ${wire}, ${mode}`, async () => {
        // Room for 1,000 tokens, of which an answer without a limit has half.
        const { app, asked } = gathered({ dollars: 0.1, price: 100, wire }, 1);
        try {
          const shape = { client, stream: mode === "streamed", limit: undefined, n: undefined, length: 1 };
          const { status, text, headers } = await send(app, shape);
          assertEquals(status, 200, text);
          const [limit = 0] = asked.map(limitIn);
          assert(limit > 450 && limit <= 500, String(limit));
          assertStringIncludes(text, ENDS[client]);
          assertStringIncludes(headers.get("x-laneway-notes")!, `set max_tokens ${limit} (budget)`);
        } finally {
          await app.close();
        }
      });
    }
  }
}

Deno.test("budget: the 402 says what would have been reserved and why", async () => {
  const { app } = gathered({ dollars: 0.01, price: 100 }, 1);
  try {
    const shape: Shape = { client: "chat", stream: false, limit: 5_000, n: undefined, length: 1 };
    const own = await send(app, shape);
    assertEquals(own.status, 402);
    assertStringIncludes(own.text, "5000 of answer, as the request allows");
    const none = await send(app, { ...shape, limit: undefined });
    assertEquals(none.status, 402);
    assertStringIncludes(none.text, "at least 256 of answer");
  } finally {
    await app.close();
  }
});

Deno.test("budget: a model's own limit is sent without a note, since nothing changes", async () => {
  const { app, asked } = gathered({ dollars: 10, price: 2, model: { maxOutputTokens: 4_096 } }, 2);
  try {
    const shape: Shape = { client: "chat", stream: false, limit: undefined, n: undefined, length: 1 };
    const all = await Promise.all([send(app, shape), send(app, { ...shape, n: 2 })]);
    for (const { status, headers } of all) assertEquals([status, headers.get("x-laneway-notes")], [200, null]);
    assertEquals(asked.map(limitIn), [4_096, 4_096]);
  } finally {
    await app.close();
  }
});

Deno.test("budget: a request that asks to be refused instead of changed is, unless it sets a limit", async () => {
  const { app, asked } = gathered({ dollars: 10, price: 2 }, 1);
  try {
    const strict = { "x-laneway-strict": "true" };
    const ask = async (more: object) => {
      const body = { model: "model", messages: [{ role: "user", content: "Hello" }], ...more };
      const response = await app.post(PATH.chat, body, strict);
      return { status: response.status, text: await response.text() };
    };
    const { status, text } = await ask({});
    assertEquals([status, asked.length], [400, 0]);
    assertStringIncludes(text, "set max_tokens 32768 (budget)");
    assertEquals((await ask({ max_tokens: 100 })).status, 200);
    assertEquals(await spentOf(app), picoDollars(0.000202)!);
  } finally {
    await app.close();
  }
});

Deno.test("budget: an answer may be longer by what the request sets aside for thinking, and is refused where that has no room", async () => {
  const limits: (number | undefined)[] = [];
  for (const dollars of [10, 0.03, 0.02]) {
    const { app, asked } = gathered({ dollars, price: 1, wire: "messages" }, 1);
    try {
      const generationConfig = { thinkingConfig: { thinkingBudget: 20_000 } };
      const contents = [{ role: "user", parts: [{ text: "Hello" }] }];
      const response = await app.post("/oss/v1beta/models/model:generateContent", { contents, generationConfig });
      await response.body?.cancel();
      assertEquals(response.status, asked.length === 1 ? 200 : 402);
      limits.push(...asked.length === 1 ? asked.map(limitIn) : [undefined]);
    } finally {
      await app.close();
    }
  }
  assertEquals(limits, [32_768 + 20_000, 256 + 20_000, undefined]);
});

Deno.test("budget: a server that gives its model less than the budget is asked again for that, also for several answers", async () => {
  for (const n of [1, 2]) {
    const limits: (number | undefined)[] = [];
    const app = newApp({
      config: configOf({ dollars: 10, price: 2 }),
      async fetch(input, init) {
        const request = new Request(input, init);
        const { method, headers, signal } = request;
        const asked = { method, url: new URL(request.url), headers, body: await request.text(), signal };
        limits.push(limitIn(asked));
        if (limitIn(asked)! <= 8_192) return longest(asked, "chat");
        const message = "max_tokens must be less than or equal to 8192";
        return Response.json({ error: { message, type: "invalid_request_error" } }, { status: 400 });
      },
    });
    try {
      const { status, text } = await send(app, { client: "chat", stream: false, limit: undefined, n, length: 1 });
      assertEquals([status, limits], [200, [32_768, 8_192]], text);
    } finally {
      await app.close();
    }
  }
});
