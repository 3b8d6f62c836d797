/** What answers cost, as clients and the log are told. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { parseConfig } from "../../src/app.ts";
import { addUsage } from "../../src/canonical/usage.ts";
import { costOf, costOfSound, formatCost } from "../../src/observe/cost.ts";
import type { Price } from "../../src/contract/planned_target.ts";
import { CHAT, chatBody, CONFIG, type ConfigInput, newApp } from "../support/app.ts";
import { ANSWER, answerStream, ENDING, frame, word } from "../support/chat.ts";

const PRICE: Price = { input: 2, output: 6, cached: 0.5, cacheWrite: 2.5, reasoning: 7 };

function priced(price: Price | undefined, target?: Price): ConfigInput {
  const targets = [{ upstream: "fake", model: "org/model", ...(target && { price: target }) }];
  return {
    ...CONFIG,
    lanes: { oss: { models: { model: { task: "chat", targets, ...(price && { price }) } } } },
  };
}

const USAGE = {
  prompt_tokens: 1_000,
  completion_tokens: 100,
  total_tokens: 1_100,
  prompt_tokens_details: { cached_tokens: 400, cache_write_tokens: 100 },
  completion_tokens_details: { reasoning_tokens: 30 },
};

function answerWith(usage: object | undefined): Response {
  return Response.json({ ...ANSWER, usage });
}

/** The header and the log's field of one whole answer. */
async function costWith(config: ConfigInput, usage: object | undefined): Promise<(string | null | undefined)[]> {
  const app = newApp({ config, fetch: () => Promise.resolve(answerWith(usage)) });
  const response = await app.post(CHAT, chatBody());
  await response.text();
  return [response.headers.get("x-laneway-cost"), app.logs[0]!.cost];
}

Deno.test("cost: each kind of token at its own price, exactly", async () => {
  // 500 · 2 + 400 · 0.5 + 100 · 2.5 + 70 · 6 + 30 · 7, in millionths
  assertEquals(await costWith(priced(PRICE), USAGE), ["0.00208", "0.00208"]);
});

Deno.test("cost: the target's price counts before the alias's, and cached tokens without a price cost as others", async () => {
  assertEquals(await costWith(priced(PRICE, { input: 1, output: 1 }), USAGE), ["0.0011", "0.0011"]);
});

Deno.test("cost: the configuration counts before what the upstream reports, and 0 is no price", async () => {
  const cost = 0.0123;
  assertEquals(await costWith(priced(PRICE), { ...USAGE, cost }), ["0.00208", "0.00208"]);
  assertEquals(await costWith(priced(undefined), { ...USAGE, cost }), ["0.0123", "0.0123"]);
  assertEquals(await costWith(priced(undefined), { ...USAGE, cost: { total_cost: cost } }), ["0.0123", "0.0123"]);
  for (const none of [0, -1, "5", null, "NaN"]) {
    assertEquals(await costWith(priced(undefined), { ...USAGE, cost: none }), [null, undefined]);
  }
});

Deno.test("cost: where no price is known there is none, and never 0", async () => {
  assertEquals(await costWith(priced(undefined), USAGE), [null, undefined]);
  assertEquals(await costWith(priced({ input: 2 }), USAGE), [null, undefined]);
});

Deno.test("cost: a price of 0 is a price, and one by the request needs none of tokens", async () => {
  assertEquals(await costWith(priced({ input: 0, output: 0 }), USAGE), ["0", "0"]);
  assertEquals(await costWith(priced({ request: 0.01 }), USAGE), ["0.01", "0.01"]);
});

Deno.test("cost: what rests on estimated tokens is marked", async () => {
  const [header, logged] = await costWith(priced({ input: 2, output: 6 }), undefined);
  assertStringIncludes(header!, "; estimated");
  assertEquals(header, `${logged}; estimated`);
});

Deno.test("cost: searches are paid for each", () => {
  const usage = { inputTokens: 10, outputTokens: 10, hostedUses: { webSearch: 3 } };
  assertEquals(formatCost(costOf(usage, { input: 1, output: 1, search: 0.01 })!), "0.03002");
});

Deno.test("cost: counts that contradict each other cost no more than their totals", () => {
  const usage = { inputTokens: 10, outputTokens: 10, cachedInputTokens: 99, cacheWriteTokens: 99, reasoningTokens: 99 };
  assertEquals(formatCost(costOf(usage, { input: 1, output: 1 })!), "0.00002");
  assertEquals(costOf({ inputTokens: 0.5, outputTokens: 1 }, { input: 1, output: 1 }), undefined);
});

Deno.test("cost: what no answer can cost is no cost", async () => {
  for (const cost of [1e20, 1e99, 1e308]) {
    assertEquals(await costWith(priced(undefined), { ...USAGE, cost }), [null, undefined]);
  }
  const tokens = Number.MAX_SAFE_INTEGER;
  assertEquals(await costWith(priced(PRICE), { prompt_tokens: tokens, completion_tokens: tokens }), [null, undefined]);
});

Deno.test("cost: no sound is so long that it costs more than any answer", () => {
  assertEquals(costOfSound(999_999_999, { audioMinute: 0.6 }), undefined);
  assertEquals(formatCost(costOfSound(3_600, { audioMinute: 0.6 })!), "36");
});

Deno.test("cost: what the upstream reports of several tries is added, exactly", () => {
  const usage = { inputTokens: 1, outputTokens: 1 };
  const once = addUsage({ ...usage, reportedCost: "0.1" }, { ...usage, reportedCost: "0.2" });
  assertEquals(formatCost(costOf(once, undefined)!), "0.3");
  assertEquals(formatCost(costOf(addUsage(usage, once), undefined)!), "0.3");
  assertEquals(costOf(addUsage(usage, usage), undefined), undefined);
});

Deno.test("cost: a stream has it in a comment before its end, and in the log", async () => {
  const frames = [
    word("a"),
    frame({ delta: {}, finish_reason: "stop" }),
    `data: ${JSON.stringify({ model: "org/model", choices: [], usage: USAGE })}\n\n`,
    "data: [DONE]\n\n",
  ];
  const app = newApp({ config: priced(PRICE), fetch: () => Promise.resolve(answerStream(frames)) });
  const text = await (await app.post(CHAT, chatBody({ stream: true }))).text();
  assertEquals(text.match(/^: cost: .*$/gm), [": cost: 0.00208"]);
  assert(text.indexOf(": cost:") < text.indexOf("[DONE]"));
  assertEquals(app.logs[0]!.cost, "0.00208");
});

Deno.test("cost: a stream without a price has no comment", async () => {
  const app = newApp({ config: priced(undefined), fetch: () => Promise.resolve(answerStream([word("a"), ENDING])) });
  const text = await (await app.post(CHAT, chatBody({ stream: true }))).text();
  assert(!text.includes(": cost"));
});

Deno.test("cost: a stream that is cut off costs what was read and emitted, by estimate", async () => {
  const app = newApp({
    config: priced({ input: 1, output: 1 }),
    fetch: () => Promise.resolve(answerStream([word("a long word ".repeat(40))], new Error("cut"))),
  });
  const text = await (await app.post(CHAT, chatBody({ stream: true }))).text();
  assertStringIncludes(text, "error");
  const [{ cost, costEstimated } = {}] = app.logs;
  assert(Number(cost) > 0.0001 && Number(cost) < 0.001, cost);
  assertEquals(costEstimated, true);
});

Deno.test("cost: a client that leaves before its answer pays what was asked, by estimate; one that nobody was asked for pays nothing", async () => {
  const costAt = async (body: object) => {
    const leaving = new AbortController();
    const app = newApp({
      config: priced({ input: 1, output: 1 }),
      fetch: (_, init) => {
        queueMicrotask(() => leaving.abort());
        return new Promise((_, reject) => init!.signal!.addEventListener("abort", () => reject(init!.signal!.reason)));
      },
    });
    const request = { method: "POST", body: JSON.stringify(chatBody(body)), signal: leaving.signal };
    await (await app.fetch(new Request(`http://gateway${CHAT}`, request))).body?.cancel();
    return app.logs.map(({ status, cost, costEstimated }) => [status, cost, costEstimated]);
  };
  assertEquals(await costAt({}), [[499, "0.000009", true]]);
  assertEquals(await costAt({ model: "unknown" }), [[404, undefined, undefined]]);
});

Deno.test("cost: it is counted by key, lane and model", async () => {
  const app = newApp({ config: priced(PRICE), fetch: () => Promise.resolve(answerWith(USAGE)) });
  try {
    for (let index = 0; index < 2; index++) await (await app.post(CHAT, chatBody())).text();
    const page = await (await app.get("/metrics")).text();
    assertStringIncludes(page, 'laneway_cost_dollars_total{key="local",lane="oss",model="model"} 0.00416\n');
  } finally {
    await app.close();
  }
});

Deno.test("cost: a mistake in a price is refused at the start, with its path", () => {
  const mistakes: [price: object, path: string][] = [
    [{ inputs: 2 }, "lanes.oss.models.model.price"],
    [{ input: -2 }, "lanes.oss.models.model.price.input"],
    [{ input: "2" }, "lanes.oss.models.model.price.input"],
    [{ output: 2_000_000 }, "lanes.oss.models.model.price.output"],
    [{ output: 0.00000015 }, "lanes.oss.models.model.price.output"],
  ];
  for (const [price, path] of mistakes) {
    const config = priced(price as Price);
    let message = "";
    try {
      parseConfig(config, { env: () => "a-secret-of-some-length" });
    } catch (error) {
      message = (error as Error).message;
    }
    assertStringIncludes(message, path);
  }
});
