/** What answers cost where lists of prices say it, and what is asked for that. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { createApp, parseConfig, readConfig } from "../../src/app.ts";
import { mergeJson } from "../../src/util/config_text.ts";
import type { LogEntry } from "../../src/observe/log.ts";
import { chatBody } from "../support/app.ts";
import { ANSWER } from "../support/chat.ts";
import { fakeHub, type FakeHubOptions, listed, provider, TOKEN } from "../support/fake_hub.ts";
import { until } from "../support/wait.ts";

const MODELS = [
  listed("org/model", [
    provider("novita", { pricing: { input: 0.6, output: 2.2 } }),
    provider("together", { pricing: { input: 1, output: 3 } }),
    provider("free", { is_free: true }),
    provider("silent"),
    provider("wrong", { pricing: { input: "1", output: -1 } }),
  ]),
  listed("openai/gpt-oss-120b", [provider("together")]),
];
const USAGE = { prompt_tokens: 1_000, completion_tokens: 100, total_tokens: 1_100 };

function servedBy(name: string | undefined, usage: object = USAGE): NonNullable<FakeHubOptions["chat"]> {
  return ({ body }) => {
    const { stream, model } = JSON.parse(body);
    const headers: Record<string, string> = name === undefined ? {} : { "x-inference-provider": name };
    if (!stream) return Response.json({ ...ANSWER, model, usage }, { headers });
    const chunk = (more: object) => `data: ${JSON.stringify({ id: "1", model, choices: [], ...more })}\n\n`;
    const choice = (delta: object, finish_reason: string | null) => ({ choices: [{ index: 0, delta, finish_reason }] });
    const text = chunk(choice({ content: "Hi" }, null)) + chunk(choice({}, "stop")) + chunk({ usage }) +
      "data: [DONE]\n\n";
    return new Response(text, { headers: { ...headers, "content-type": "text/event-stream" } });
  };
}

const BUILT_IN = JSON.parse(Deno.readTextFileSync(new URL("../../gateway.default.json", import.meta.url)));

/** The built-in configuration before a fake hub. */
function newHubApp(options: FakeHubOptions, config: object = {}) {
  const hub = fakeHub({ models: MODELS, ...options });
  const env = (name: string) => name === "HF_TOKEN" ? TOKEN : undefined;
  const store = { kind: "memory" };
  const app = createApp({
    config: parseConfig(mergeJson(BUILT_IN, { store, ...config }), { env }),
    env,
    fetch: hub.fetch,
    log() {},
  });
  const ask = async (model: string, more: object = {}) => {
    const body = JSON.stringify({ ...chatBody(more), model });
    const response = await app.fetch(new Request("http://127.0.0.1/hf/v1/chat/completions", { method: "POST", body }));
    const text = await response.text();
    assertEquals(response.status, 200, text);
    return { cost: response.headers.get("x-laneway-cost"), text };
  };
  const lists = () => hub.asked.filter(({ url }) => url.pathname === "/v1/models").length;
  return { app, ask, lists };
}

Deno.test("cost: the provider that served says the price, in the first answer too", async () => {
  const costs = { novita: "0.00082", together: "0.0013", free: "0" };
  for (const [name, cost] of Object.entries(costs)) {
    const { ask, app } = newHubApp({ chat: servedBy(name) });
    assertEquals((await ask("org/model")).cost, cost, name);
    assertEquals((await ask("org/model:fastest")).cost, cost, name);
    assertStringIncludes((await ask("org/model", { stream: true })).text, `: cost: ${cost}\n`);
    await app.close();
  }
});

Deno.test("cost: where the list has no price for who served, or nobody says who did, there is none", async () => {
  for (const name of ["silent", "wrong", "unknown", undefined]) {
    const { ask, app } = newHubApp({ chat: servedBy(name) });
    assertEquals((await ask("org/model")).cost, null, name);
    await app.close();
  }
});

Deno.test("cost: what the upstream reports counts before the list, and a configured price before both", async () => {
  const own = {
    lanes: {
      hf: {
        models: {
          own: {
            task: "chat",
            targets: [{ upstream: "router", model: "org/model", price: { input: 10, output: 10 } }],
          },
        },
      },
    },
  };
  const { ask, app } = newHubApp({ chat: servedBy("novita", { ...USAGE, cost: 0.5 }) }, own);
  assertEquals((await ask("org/model")).cost, "0.5");
  assertEquals((await ask("own")).cost, "0.011");
  await app.close();
});

Deno.test("cost: where the list has no price the public one counts, for providers that it knows; unless it is not wanted", async () => {
  const chat = servedBy("together");
  const { ask, app } = newHubApp({ chat });
  assertEquals((await ask("openai/gpt-oss-120b")).cost, "0.00021");
  await app.close();
  const without = newHubApp({ chat }, { observe: { priceLibrary: false } });
  assertEquals((await without.ask("openai/gpt-oss-120b")).cost, null);
  assertEquals((await without.ask("org/model")).cost, "0.0013");
  await without.app.close();
});

/** A lane with a name of its own for a model, so that nobody but the price asks for the list. */
const OWN_NAME = {
  lanes: {
    hf: { catalog: null, models: { own: { task: "chat", targets: [{ upstream: "router", model: "org/model" }] } } },
  },
};

Deno.test("cost: one list serves all requests, and none is asked for before the first of them", async () => {
  const { ask, lists, app } = newHubApp({ chat: servedBy("novita") }, OWN_NAME);
  assertEquals(lists(), 0);
  const costs = await Promise.all(Array.from({ length: 5 }, async () => (await ask("own")).cost));
  assertEquals([costs, lists()], [Array(5).fill("0.00082"), 1]);
  await app.close();
});

Deno.test("cost: an answer that is there before the first list waits for it", async () => {
  const answered = Promise.withResolvers<void>();
  const models = async () => {
    await answered.promise;
    return Response.json({ object: "list", data: MODELS });
  };
  const answer = servedBy("novita");
  const chat: typeof answer = (asked) => {
    // Once the answer has been read.
    setTimeout(answered.resolve, 20);
    return answer(asked);
  };
  const { ask, app } = newHubApp({ models, chat }, OWN_NAME);
  assertEquals((await ask("own")).cost, "0.00082");
  await app.close();
});

Deno.test("cost: a list that is down costs an answer its price, and nothing else", async () => {
  const models = () => new Response("down", { status: 503 });
  const { ask, lists, app } = newHubApp({ models, chat: servedBy("novita") }, OWN_NAME);
  assertEquals([(await ask("own")).cost, (await ask("own")).cost, lists()], [null, null, 1]);
  await app.close();
});

Deno.test("cost: a client that leaves while the first list is on its way pays nothing, for nobody was asked", async () => {
  const leaving = new AbortController();
  const list = Promise.withResolvers<Response>();
  const hub = fakeHub({ models: () => (leaving.abort(), list.promise), chat: servedBy("novita") });
  const logs: LogEntry[] = [];
  const config = { store: { kind: "memory" }, budget: { dollars: 5, period: "day", unpriced: "allow" }, ...OWN_NAME };
  const env = (name: string) => name === "HF_TOKEN" ? TOKEN : undefined;
  const app = createApp({
    config: parseConfig(mergeJson(BUILT_IN, config), { env }),
    env,
    fetch: hub.fetch,
    log: (entry) => void logs.push(entry),
  });
  const body = JSON.stringify({ ...chatBody(), model: "own" });
  const url = "http://127.0.0.1/hf/v1/chat/completions";
  await app.fetch(new Request(url, { method: "POST", body, signal: leaving.signal }));
  await until(() => logs.length === 1);
  list.resolve(Response.json({ object: "list", data: MODELS }));
  assertEquals([logs[0]!.usage, hub.asked.filter(({ method }) => method === "POST")], [undefined, []]);
  // The list has been read, and its time-out with it, once somebody else is answered.
  assertEquals((await app.fetch(new Request(url, { method: "POST", body }))).status, 200);
  await app.close();
});

Deno.test("cost: to explain a request asks for no prices", async () => {
  const { app, lists } = newHubApp({});
  const body = JSON.stringify({ ...chatBody(), model: "gpt-oss-120b" });
  const headers = { "x-laneway-explain": "true" };
  const request = new Request("http://127.0.0.1/oss/v1/chat/completions", { method: "POST", body, headers });
  assertEquals((await app.fetch(request)).status, 200);
  assertEquals(lists(), 0);
  await app.close();
});

Deno.test("cost: the built-in configuration has the prices of its router", () => {
  assertEquals(readConfig("gateway.default.json", { env: () => undefined }).upstreams.router?.prices, "router");
});
