/** What budgets do to requests: on every wire, at every endpoint, before every attempt. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import type { JsonObject } from "../../src/canonical/json.ts";
import type { Price } from "../../src/contract/planned_target.ts";
import type { BudgetWarning, Warning } from "../../src/observe/log.ts";
import { createMemoryStore } from "../../src/state/memory_store.ts";
import type { Store } from "../../src/state/store.ts";
import {
  CHAT,
  chatBody,
  type ConfigInput,
  ENV,
  newApp,
  NOW,
  type TestApp,
  type TestAppOptions,
} from "../support/app.ts";
import { ANSWER, answerStream, ENDING, frame, word } from "../support/chat.ts";
import { ASKS, newHostedRig } from "../support/hosted_rig.ts";

const TEAM = { "x-api-key": ENV.TEAM_KEY! };
const GUEST = { "x-api-key": ENV.GUEST_KEY! };
/** A token of either kind costs a thousandth of a dollar. */
const PRICE: Price = { input: 1_000, output: 1_000 };

interface Setting extends Omit<TestAppOptions, "config"> {
  budget?: object;
  guest?: object;
  price?: Price;
  model?: object;
  config?: object;
  answer?(request: Request): Response | Promise<Response>;
}

const USAGE = { prompt_tokens: 5, completion_tokens: 5, total_tokens: 10 };
const whole = () => Response.json({ ...ANSWER, usage: USAGE });
const streamed = () =>
  answerStream([
    word("yes"),
    frame({ delta: {}, finish_reason: "stop" }),
    `data: ${JSON.stringify({ choices: [], usage: USAGE })}\n\n`,
    "data: [DONE]\n\n",
  ]);

function newStore(): Store {
  const store = createMemoryStore({ now: () => NOW, limitBytes: 1_000_000 });
  // Several gateways share it.
  return { ...store, close: () => {} };
}

function newGateway({ budget, guest = {}, price = PRICE, model, config, answer, ...options }: Setting): TestApp {
  const targets = [{ upstream: "fake", model: "org/model" }];
  return newApp({
    config: {
      keys: [
        { name: "anna", secret: { env: "TEAM_KEY" }, ...(budget && { budget }) },
        { name: "ben", secret: { env: "GUEST_KEY" }, ...guest },
      ],
      upstreams: { fake: { driver: "chat", baseUrl: "http://upstream.test/v1" } },
      lanes: { oss: { models: { model: { task: "chat", targets, price, ...model } } } },
      ...config,
    } as ConfigInput,
    async fetch(input, init) {
      const request = new Request(input, init);
      if (answer) return await answer(request);
      const { stream } = await request.json();
      return stream ? streamed() : whole();
    },
    ...options,
  });
}

async function ask(app: TestApp, more: object = {}, key: HeadersInit = TEAM) {
  const response = await app.post(CHAT, chatBody({ max_tokens: 11, ...more }), key);
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, code: codeIn(text) };
}

function codeIn(text: string): string | undefined {
  try {
    return JSON.parse(text).error?.code;
  } catch {
    return undefined;
  }
}

const DAY = { period: "day" };

Deno.test("budget: it is spent to its end, and then refused by 402 with the time at which it resets", async () => {
  // Each request may cost some 10 + 11 thousandths, and costs 10.
  const app = newGateway({ budget: { dollars: 0.055, ...DAY } });
  try {
    const answers = [];
    for (let count = 0; count < 5; count++) answers.push(await ask(app));
    assertEquals(answers.map(({ status }) => status), [200, 200, 200, 200, 402]);
    const { headers, text, code } = answers[4]!;
    assertEquals(code, "budget_exceeded");
    assertStringIncludes(
      JSON.parse(text).error.message,
      `key "anna" may spend 0.055 dollars a day, of which 0.015 are free, and this may cost 0.02`,
    );
    assertStringIncludes(text, "It resets at 2027-01-16T00:00:00.000Z");
    assertEquals(headers.get("retry-after"), String((Date.parse("2027-01-16") - NOW) / 1_000));
    assertEquals(headers.get("x-should-retry"), "false");
    // A smaller one still fits, and another key is not concerned.
    assertEquals((await ask(app, { max_tokens: 1 })).status, 200);
    assertEquals((await ask(app, {}, GUEST)).status, 200);
  } finally {
    await app.close();
  }
});

Deno.test("budget: requests that run at once never have more set aside than there is", async () => {
  const [requests, affordable] = [40, 5];
  for (const stream of [false, true]) {
    let [asked, refused] = [0, 0];
    const { promise: allDecided, resolve } = Promise.withResolvers<void>();
    const decide = () => void (asked + refused === requests && resolve());
    const app = newGateway({
      budget: { dollars: 0.1, ...DAY },
      async answer() {
        asked++;
        decide();
        await allDecided;
        return stream ? streamed() : whole();
      },
    });
    try {
      const all = await Promise.all(Array.from({ length: requests }, async () => {
        const { status } = await ask(app, { stream });
        if (status !== 200) refused++;
        decide();
        return status;
      }));
      assertEquals(asked, affordable);
      assertEquals(all.toSorted(), [...Array(affordable).fill(200), ...Array(requests - affordable).fill(402)]);
      assertEquals((await ask(app, { stream })).status, 200);
    } finally {
      await app.close();
    }
  }
});

Deno.test("budget: a request that is larger than the budget is refused at once, and says so", async () => {
  const app = newGateway({ budget: { dollars: 1, ...DAY } });
  try {
    for (const max_tokens of [1_000_000, 2 ** 53, 1e300]) {
      const { status, code, text } = await ask(app, { max_tokens });
      if (status === 400) continue; // no number of tokens at all
      assertEquals([status, code], [402, "budget_exceeded"], text);
    }
    // Without a limit of its own an answer gets one that fits.
    const { status, headers } = await ask(app, { max_tokens: undefined });
    assertEquals(status, 200);
    assertMatch(headers.get("x-laneway-notes")!, /^set max_tokens 49\d \(budget\)$/);
  } finally {
    await app.close();
  }
});

Deno.test("budget: an answer without a limit of its own may have what its model can give", async () => {
  const app = newGateway({ budget: { dollars: 1, ...DAY }, model: { maxOutputTokens: 20 } });
  try {
    assertEquals((await ask(app, { max_tokens: undefined })).status, 200);
    assertEquals((await ask(app, { max_tokens: 1_000_000 })).status, 200);
  } finally {
    await app.close();
  }
});

Deno.test("budget: what costs nothing is served though nothing is left", async () => {
  const app = newGateway({ budget: { dollars: 0, ...DAY }, price: { input: 0, output: 0 } });
  try {
    assertEquals((await ask(app)).status, 200);
  } finally {
    await app.close();
  }
});

Deno.test("budget: a model without a price is refused, unless the budget allows it; the next target may have one", async () => {
  const setting = { price: undefined, model: { price: undefined } };
  const strict = newGateway({ ...setting, budget: { dollars: 1, ...DAY } });
  const lenient = newGateway({ ...setting, budget: { dollars: 1, ...DAY, unpriced: "allow" } });
  const targets = [{ upstream: "fake", model: "free" }, { upstream: "fake", model: "paid", price: PRICE }];
  const second = newGateway({ ...setting, budget: { dollars: 1, ...DAY }, model: { price: undefined, targets } });
  try {
    const { status, text } = await ask(strict);
    assertEquals(status, 403);
    assertStringIncludes(text, "is not known, and a budget applies to this request");
    assertStringIncludes(JSON.parse(text).error.message, `"unpriced": "allow"`);
    assertEquals((await ask(lenient)).status, 200);
    const { status: served, headers } = await ask(second);
    assertEquals([served, headers.get("x-laneway-target")], [200, "fake/paid; attempts=2"]);
  } finally {
    for (const app of [strict, lenient, second]) await app.close();
  }
});

Deno.test("budget: it is checked where it is spent: a dear target gives way to a cheap one", async () => {
  const targets = [
    { upstream: "fake", model: "dear", price: { input: 100_000, output: 100_000 } },
    { upstream: "fake", model: "cheap", price: PRICE },
  ];
  const app = newGateway({ budget: { dollars: 1, ...DAY }, model: { targets } });
  try {
    const { status, headers } = await ask(app);
    assertEquals([status, headers.get("x-laneway-target")], [200, "fake/cheap; attempts=2"]);
  } finally {
    await app.close();
  }
});

Deno.test("budget: what failed gives back what was set aside for it", async () => {
  let asked = 0;
  const app = newGateway({
    budget: { dollars: 0.02, ...DAY },
    answer: () => ++asked < 5 ? new Response("no", { status: 500 }) : whole(),
  });
  try {
    for (let count = 0; count < 4; count++) assertEquals((await ask(app)).status, 502);
    assertEquals((await ask(app)).status, 200);
    assertEquals((await ask(app)).status, 402);
  } finally {
    await app.close();
  }
});

Deno.test("budget: a team's keys spend one budget, and all keys the gateway's", async () => {
  const app = newGateway({
    config: {
      keys: [
        { name: "anna", secret: { env: "TEAM_KEY" }, team: "research" },
        { name: "ben", secret: { env: "GUEST_KEY" }, team: "research" },
      ],
      teams: { research: { budget: { dollars: 0.035, ...DAY } } },
      budget: { dollars: 100, period: "total" },
    },
  });
  try {
    assertEquals((await ask(app)).status, 200);
    assertEquals((await ask(app, {}, GUEST)).status, 200);
    const { status, text } = await ask(app);
    assertEquals(status, 402);
    assertStringIncludes(text, 'team \\"research\\" may spend 0.035 dollars a day');
  } finally {
    await app.close();
  }
  const small = newGateway({ config: { budget: { dollars: 0.02, period: "total" } } });
  try {
    assertEquals((await ask(small)).status, 200);
    const { status, text, headers } = await ask(small, {}, GUEST);
    assertEquals([status, headers.get("retry-after")], [402, null]);
    // What all of them spend is nobody's business.
    assertStringIncludes(
      text,
      "The gateway's budget has no room for this request, which may cost 0.021 (10 tokens of input and 11 of answer, as the request allows). It does not reset",
    );
  } finally {
    await small.close();
  }
});

Deno.test("budget: headers, /usage and /metrics show what is left", async () => {
  const app = newGateway({
    budget: { dollars: 5, ...DAY },
    config: {
      keys: [
        { name: "anna", secret: { env: "TEAM_KEY" }, budget: { dollars: 5, ...DAY } },
        { name: "ops", secret: { env: "GUEST_KEY" }, operator: true },
      ],
      budget: { dollars: 7, period: "month" },
    },
  });
  try {
    const { headers } = await ask(app);
    const left = Object.fromEntries([...headers].filter(([name]) => name.includes("dollars")));
    assertEquals(left, {
      "x-ratelimit-limit-dollars": "5",
      "x-ratelimit-remaining-dollars": "4.99",
      "x-ratelimit-reset-dollars": "960m0s",
    });
    const body = { model: "model", max_tokens: 11, messages: [{ role: "user", content: "Hello" }] };
    const messages = await app.post("/oss/v1/messages", body, TEAM);
    await messages.text();
    assertEquals(messages.headers.get("anthropic-ratelimit-dollars-limit"), "5");
    assertEquals(messages.headers.get("anthropic-ratelimit-dollars-reset"), "2027-01-16T00:00:00.000Z");
    const usage = async (key: HeadersInit) => (await (await app.get("/usage", key)).json()).budgets;
    const own = { budget: "key:anna", period: "day 2027-01-15", dollars: "5", resets: "2027-01-16T00:00:00.000Z" };
    assertEquals(await usage(TEAM), [{ ...own, spent: "0.02", left: "4.98", forecast: { dollars: "0.06" } }]);
    assertEquals((await usage(GUEST)).map(({ budget }: { budget: string }) => budget), ["gateway", "key:anna"]);
    const page = await (await app.get("/metrics", GUEST)).text();
    assertStringIncludes(page, 'laneway_budget_dollars{budget="key:anna"} 5\n');
    assertStringIncludes(page, 'laneway_budget_spent_dollars{budget="gateway"} 0.02\n');
  } finally {
    await app.close();
  }
});

Deno.test("budget: a warning comes once in a period, whoever spends", async () => {
  const warnings: BudgetWarning[] = [];
  const store = newStore();
  const clock = { ms: NOW };
  const setting = {
    budget: { dollars: 0.1, ...DAY, warnAt: 0.3 },
    store,
    now: () => clock.ms,
    monotonic: () => clock.ms,
    warn: (warning: Warning) => void warnings.push(warning as BudgetWarning),
  };
  const apps = [newGateway(setting), newGateway(setting)];
  try {
    for (let count = 0; count < 4; count++) for (const app of apps) await ask(app);
    for (let count = 0; count < 2; count++) for (const app of apps) await app.get("/usage", TEAM);
    clock.ms += 86_400_000;
    for (let count = 0; count < 4; count++) for (const app of apps) await ask(app);
  } finally {
    for (const app of apps) await app.close();
  }
  assertEquals(warnings.map(({ budget, period }) => [budget, period]), [
    ["key:anna", "day 2027-01-15"],
    ["key:anna", "day 2027-01-16"],
  ]);
  assert(Number(warnings[0]!.spent) >= 0.03 && Number(warnings[0]!.spent) <= 0.08, warnings[0]!.spent);
});

Deno.test("budget: a changed configuration goes on with what was spent", async () => {
  const store = newStore();
  const small = newGateway({ budget: { dollars: 0.035, ...DAY }, store });
  assertEquals((await ask(small)).status, 200);
  assertEquals((await ask(small)).status, 200);
  assertEquals((await ask(small)).status, 402);
  const large = newGateway({ budget: { dollars: 0.055, ...DAY }, store, after: small });
  assertEquals((await ask(large)).status, 200);
  assertEquals((await ask(large)).status, 200);
  assertEquals((await ask(large)).status, 402);
  const smaller = newGateway({ budget: { dollars: 0.01, ...DAY }, store, after: large });
  const { status, text } = await ask(smaller, { max_tokens: 1 });
  assertEquals(status, 402);
  assertStringIncludes(text, "The budget is used up");
  const none = newGateway({ store, after: smaller });
  assertEquals((await ask(none)).status, 200);
  await none.close();
});

Deno.test("budget: a client that leaves in the middle pays what it got, and the rest is free again", async () => {
  const app = newGateway({
    budget: { dollars: 0.1, ...DAY },
    answer: ({ signal }) => {
      const body = new ReadableStream<Uint8Array>({
        start(controller) {
          controller.enqueue(new TextEncoder().encode(word("12345678")));
          signal.addEventListener("abort", () => controller.error(signal.reason));
        },
      });
      return new Response(body, { headers: { "content-type": "text/event-stream" } });
    },
  });
  try {
    const response = await app.post(CHAT, chatBody({ max_tokens: 50, stream: true }), TEAM);
    const reader = response.body!.getReader();
    await reader.read();
    await reader.cancel();
    const { budgets: [{ spent }] } = await (await app.get("/usage", TEAM)).json();
    // 9 tokens that were asked and 2 that came.
    assertEquals(spent, "0.011");
  } finally {
    await app.close();
  }
});

const WIRES: Record<string, { path: string; body: object; wrong(error: JsonObject): unknown; says: unknown }> = {
  chat: {
    path: CHAT,
    body: chatBody({ max_tokens: 99 }),
    wrong: ({ type, code }) => [type, code],
    says: ["insufficient_quota", "budget_exceeded"],
  },
  responses: {
    path: "/oss/v1/responses",
    body: { model: "model", input: "Hello", max_output_tokens: 99 },
    wrong: ({ type, code }) => [type, code],
    says: ["insufficient_quota", "budget_exceeded"],
  },
  messages: {
    path: "/oss/v1/messages",
    body: { model: "model", max_tokens: 99, messages: [{ role: "user", content: "Hello" }] },
    wrong: ({ type, details }) => [type, details],
    says: ["billing_error", { error_code: "budget_exceeded" }],
  },
};

for (const [wire, { path, body, wrong, says }] of Object.entries(WIRES)) {
  Deno.test(`budget: the refusal in the shape of ${wire}, whole and streamed`, async () => {
    const app = newGateway({ budget: { dollars: 0.01, period: "week" } });
    try {
      for (const stream of [false, true]) {
        const response = await app.post(path, { ...body, stream }, TEAM);
        assertEquals([response.status, response.headers.get("content-type")], [402, "application/json"]);
        const { error } = await response.json();
        assertEquals(wrong(error), says);
        // The 15th of January 2027 is a Friday.
        assertMatch(error.message, /It resets at 2027-01-18T00:00:00.000Z$/);
      }
    } finally {
      await app.close();
    }
  });
}

/** How an answer ends whose hosted tools have spent the budget: with what there is of it. */
const ENDS: Record<string, RegExp> = {
  chat: /"finish_reason":"length"/,
  responses: /"status":"incomplete"/,
  messages: /"stop_reason":"pause_turn"/,
};

for (const [wire, ending] of Object.entries(ENDS)) {
  for (const stream of [false, true]) {
    Deno.test(`budget: hosted tools that come to its end in round two end the answer · ${wire} · ${stream ? "streamed" : "whole"}`, async () => {
      const rig = newHostedRig({
        rounds: [["Let me see. ", 'web_search{"query":"a"}'], ["never"]],
        config: {
          // Two rounds of up to 10,000 tokens at a thousandth of a cent, and a search, do not fit into it.
          budget: { dollars: 0.055, period: "day" },
          lanes: {
            oss: {
              models: {
                model: {
                  task: "chat",
                  maxOutputTokens: 1_000,
                  targets: [{ upstream: "fake", model: "org/model", price: { input: 1, output: 40, search: 0.02 } }],
                },
              },
            },
          },
        } as unknown as JsonObject,
      });
      try {
        const { path, body } = ASKS[wire]!;
        const asked = {
          ...body() as object,
          stream,
          [wire === "responses" ? "max_output_tokens" : "max_tokens"]: 1_000,
        };
        const response = await rig.app.post(path, asked);
        const text = await response.text();
        assertEquals([response.status, rig.asked.length, rig.searched.length], [200, 1, 1], text);
        assertMatch(text, ending);
        assertStringIncludes(text, "Let");
        assertStringIncludes(`${response.headers.get("x-laneway-notes")} ${text}`, "ended the answer");
      } finally {
        await rig.app.close();
      }
    });
  }
}

Deno.test("budget: a search that does not fit into it is not made, and the model goes on without", async () => {
  const rig = newHostedRig({
    rounds: [['web_search{"query":"a"}'], ["done"]],
    config: {
      budget: { dollars: 0.5, period: "day" },
      lanes: {
        oss: {
          models: {
            model: {
              task: "chat",
              maxOutputTokens: 10,
              targets: [{ upstream: "fake", model: "org/model", price: { input: 1, output: 1, search: 5 } }],
            },
          },
        },
      },
    } as unknown as JsonObject,
  });
  try {
    const { path, body } = ASKS.messages!;
    const response = await rig.app.post(path, body());
    assertEquals([response.status, rig.searched], [200, []]);
    assertStringIncludes(await response.text(), "too_many_requests");
  } finally {
    await rig.app.close();
  }
});

Deno.test("budget: while the store fails, what is known to be left is spent, and no more", async () => {
  const inner = newStore();
  const state = { fails: false };
  const store: Store = {
    ...inner,
    update: (...args) => state.fails ? Promise.reject(new Error("down")) : inner.update(...args),
  };
  const app = newGateway({ budget: { dollars: 1, ...DAY }, store });
  try {
    await ask(app);
    state.fails = true;
    const statuses: number[] = [];
    for (let count = 0; count < 10; count++) statuses.push((await ask(app)).status);
    const served = statuses.filter((status) => status === 200).length;
    assert(served >= 1 && served < 10, String(statuses));
    assertEquals(statuses.at(-1), 503);
    state.fails = false;
    assertEquals((await ask(app)).status, 200);
    const { budgets: [{ spent }] } = await (await app.get("/usage", TEAM)).json();
    assertEquals(Number(spent), (served + 2) / 100);
  } finally {
    await app.close();
  }
});

Deno.test("budget: a store that fails is no failure of an upstream", async () => {
  const inner = newStore();
  const state = { fails: true };
  const store: Store = {
    ...inner,
    update: (...args) => state.fails ? Promise.reject(new Error("down")) : inner.update(...args),
  };
  const target = (upstream: string) => ({ upstream, model: "org/model" });
  const at = (host: string) => ({ driver: "chat", baseUrl: `http://${host}.test/v1` });
  const app = newGateway({
    budget: { dollars: 1, ...DAY },
    guest: { operator: true },
    model: { targets: [target("good"), { ...target("better"), price: { input: 0, output: 0 } }] },
    config: { upstreams: { good: at("good"), better: at("better") } },
    store,
  });
  try {
    for (let count = 0; count < 10; count++) assertEquals((await ask(app)).status, 200);
    const { upstreams: [first] } = await (await app.get("/status", GUEST)).json();
    assertEquals(first, { name: "good", driver: "chat", resting: [] });
  } finally {
    await app.close();
  }
});

Deno.test("budget: a stream that breaks off settles by estimate", async () => {
  const app = newGateway({
    budget: { dollars: 1, ...DAY },
    answer: () => answerStream([word("12345678")], new Error("cut")),
  });
  try {
    await ask(app, { stream: true });
    const { budgets: [{ spent }] } = await (await app.get("/usage", TEAM)).json();
    assertEquals(spent, "0.011");
    const ended = newGateway({
      budget: { dollars: 1, ...DAY },
      answer: () => answerStream([word("12345678"), ENDING]),
    });
    await ask(ended, { stream: true });
    assertEquals((await (await ended.get("/usage", TEAM)).json()).budgets[0].spent, "0.011");
    await ended.close();
  } finally {
    await app.close();
  }
});
