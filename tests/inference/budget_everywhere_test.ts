/** Budgets at every endpoint, and for callers of every kind. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { type Task, TASKS } from "../../src/canonical/models.ts";
import type { Price } from "../../src/contract/planned_target.ts";
import { picoDollars } from "../../src/util/dollars.ts";
import { createMemoryStore } from "../../src/state/memory_store.ts";
import type { Store } from "../../src/state/store.ts";
import { CHAT, chatBody, type ConfigInput, ENV, newApp, NOW, type TestApp } from "../support/app.ts";
import { ANSWER, answerStream, word } from "../support/chat.ts";
import { ENDPOINTS, payloadOf, serveAll } from "../support/endpoints.ts";
import { fakeUpstream } from "../support/fake_upstream.ts";
import { newRig } from "../support/token_issuer.ts";
import { until } from "../support/wait.ts";

const DEAR: Price = { input: 1_000, output: 1_000, request: 0.001, audioMinute: 0.6 };

function configWith(dollars: number, price: Price | undefined): ConfigInput {
  const model = (task: Task) => ({
    task,
    targets: [{ upstream: "fake", model: "org/model" }],
    ...(price && { price }),
  });
  return {
    upstreams: { fake: { driver: "chat", baseUrl: "http://upstream.test/v1" } },
    lanes: { oss: { models: Object.fromEntries(TASKS.map((task) => [task, model(task)])) } },
    budget: { dollars, period: "day" },
  };
}

async function send(app: TestApp, name: string): Promise<{ status: number; text: string }> {
  const request = ENDPOINTS[name]!((task) => task);
  const response = await app.fetch(
    new Request(`http://gateway${request.path}`, { method: "POST", body: payloadOf(request) }),
  );
  return { status: response.status, text: await response.text() };
}

async function budgetsOf(app: TestApp, headers?: HeadersInit) {
  return (await (await app.get("/usage", headers)).json()).budgets as { budget: string; spent: string; left: string }[];
}

for (const name of Object.keys(ENDPOINTS)) {
  Deno.test(`budget: what an answer costs by the log is what was spent, and without room nobody is asked · ${name}`, async () => {
    const upstream = fakeUpstream((asked) => serveAll(asked));
    const rich = newApp({ config: configWith(1_000, DEAR), fetch: upstream.fetch });
    try {
      for (let count = 0; count < 3; count++) assertEquals((await send(rich, name)).status, 200);
      await until(() => rich.logs.length === 3);
      const { spent } = (await budgetsOf(rich))[0]!;
      const logged = rich.logs.reduce((sum, { cost }) => sum + picoDollars(cost ?? "0")!, 0n);
      assert(picoDollars(spent)! > 0n, spent);
      // Whose sound is of no known length is paid as it was set aside.
      if (name !== "transcription") assertEquals(picoDollars(spent), logged);
    } finally {
      await rich.close();
    }
    const asked = upstream.asked.length;
    const poor = newApp({ config: configWith(0.000001, DEAR), fetch: upstream.fetch });
    try {
      const { status, text } = await send(poor, name);
      assertEquals([status, upstream.asked.length], [402, asked], text);
      assertEquals((await budgetsOf(poor))[0]!.spent, "0");
      assertEquals(poor.logs[0]!.error, "budget_exceeded");
    } finally {
      await poor.close();
    }
    const unpriced = newApp({ config: configWith(1_000, undefined), fetch: upstream.fetch });
    try {
      assertEquals([(await send(unpriced, name)).status, upstream.asked.length], [403, asked]);
    } finally {
      await unpriced.close();
    }
  });
}

/** A request for sound of so many bytes, and what its price by the minute sets aside. */
for (
  const [what, bytes, minutes] of [
    ["packed sound", new Uint8Array(240_000), 2],
    ["a recording that says how many bytes a second has", wave(1_920_000, 32_000), 1],
    ["a recording that says that it is hardly any sound", wave(4_800_000, 4_000_000_000), 0.2],
  ] as const
) {
  Deno.test(`budget: what transcription may cost goes by the size: ${what}`, async () => {
    for (
      const [dollars, status] of [[minutes * 0.6 * 1.001 + 0.001, 200], [minutes * 0.6 * 0.999 + 0.001, 402]] as const
    ) {
      const app = newApp({
        config: configWith(Math.round(dollars * 1e6) / 1e6, DEAR),
        fetch: () => Promise.resolve(Response.json({ text: "Hello", usage: { type: "duration", seconds: 6 } })),
      });
      try {
        const form = new FormData();
        form.append("model", "transcription");
        form.append("file", new File([bytes], "a.wav"));
        const request = new Request("http://gateway/oss/v1/audio/transcriptions", { method: "POST", body: form });
        const response = await app.fetch(request);
        assertEquals(response.status, status, await response.text());
        // A tenth of a minute, and the request.
        assertEquals((await budgetsOf(app))[0]!.spent, status === 200 ? "0.061" : "0");
      } finally {
        await app.close();
      }
    }
  });
}

Deno.test("budget: sound whose length nobody says costs what was set aside for it", async () => {
  const app = newApp({
    config: configWith(1, { audioMinute: 0.6 }),
    fetch: () => Promise.resolve(Response.json({ text: "Hello" })),
  });
  try {
    const form = new FormData();
    form.append("model", "transcription");
    form.append("file", new File([new Uint8Array(120_000)], "a.mp3"));
    const request = new Request("http://gateway/oss/v1/audio/transcriptions", { method: "POST", body: form });
    assertEquals((await app.fetch(request)).status, 200);
    assertEquals((await budgetsOf(app))[0]!.spent, "0.6");
  } finally {
    await app.close();
  }
});

function wave(length: number, bytesPerSecond: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(length);
  bytes.set(new TextEncoder().encode("RIFF\x24\0\0\0WAVEfmt "));
  new DataView(bytes.buffer).setUint32(28, bytesPerSecond, true);
  return bytes;
}

Deno.test("budget: several answers at once are paid several times", async () => {
  const app = newApp({
    config: configWith(0.1, DEAR),
    fetch: () => Promise.resolve(Response.json({ ...ANSWER, choices: [...ANSWER.choices, ...ANSWER.choices] })),
  });
  try {
    const ask = (n: number) => app.post(CHAT, chatBody({ model: "chat", max_tokens: 20, n }));
    assertEquals((await ask(4)).status, 200);
    assertEquals((await ask(5)).status, 402);
  } finally {
    await app.close();
  }
});

Deno.test("budget: an answer that is longer than a model may write is paid all the same", async () => {
  for (const stream of [false, true]) {
    const text = "a".repeat(400);
    const message = { role: "assistant", content: text };
    const app = newApp({
      config: { ...configWith(10, DEAR), limits: { answerText: 300 } },
      fetch: () =>
        Promise.resolve(
          stream
            ? answerStream([word(text.slice(0, 200)), word(text.slice(200))])
            : Response.json({ ...ANSWER, choices: [{ ...ANSWER.choices[0], message }] }),
        ),
    });
    try {
      await (await app.post(CHAT, chatBody({ model: "chat", max_tokens: 20, stream }))).text();
      assert(Number((await budgetsOf(app))[0]!.spent) > 0);
    } finally {
      await app.close();
    }
  }
});

Deno.test("budget: who brings a token of its own to an upstream pays for itself", async () => {
  const fetch = () => Promise.resolve(Response.json(ANSWER));
  const { upstreams, ...rest } = configWith(0.000001, DEAR);
  const app = newApp({ config: { ...rest, upstreams: { fake: { ...upstreams!.fake!, secret: "client" } } }, fetch });
  try {
    const response = await app.post(CHAT, chatBody({ model: "chat" }), { authorization: "Bearer own" });
    assertEquals(response.status, 200, await response.text());
    assertEquals((await budgetsOf(app))[0]!.spent, "0");
  } finally {
    await app.close();
  }
});

Deno.test("budget: what the gateway answers by itself costs nothing, and needs no price", async () => {
  const app = newApp({
    config: {
      upstreams: { sandbox: { driver: "sandbox" } },
      lanes: { oss: { models: { model: { task: "chat", targets: [{ upstream: "sandbox", model: "sandbox" }] } } } },
      budget: { dollars: 0, period: "day" },
    },
  });
  try {
    assertEquals((await app.post(CHAT, chatBody())).status, 200);
  } finally {
    await app.close();
  }
});

Deno.test("budget: where a process may be frozen after its answer, what was spent is written with it", async () => {
  const store = createMemoryStore({ now: () => NOW, limitBytes: 1_000_000 });
  const app = newApp({
    config: configWith(10, DEAR),
    store,
    pace: { gatherMs: 0 },
    fetch: () => Promise.resolve(Response.json(ANSWER)),
  });
  try {
    await (await app.post(CHAT, chatBody({ model: "chat", max_tokens: 20 }))).text();
    await new Promise((resolve) => setTimeout(resolve, 10));
    assertStringIncludes(
      JSON.stringify(await store.get(["budget", "gateway", "day 2027-01-15"])),
      '"spent":"7000000000"',
    );
  } finally {
    await app.close();
  }
});

Deno.test("budget: a client that leaves while the store is asked has nothing set aside, and nobody is asked", async () => {
  const inner = createMemoryStore({ now: () => NOW, limitBytes: 1_000_000 });
  const gate = Promise.withResolvers<void>();
  const store: Store = { ...inner, update: (...args) => gate.promise.then(() => inner.update(...args)) };
  let asked = 0;
  const app = newApp({
    config: configWith(1, DEAR),
    store,
    fetch: () => Promise.resolve((asked++, Response.json(ANSWER))),
  });
  try {
    const leaving = new AbortController();
    const body = JSON.stringify(chatBody({ model: "chat", max_tokens: 900 }));
    const request = new Request(`http://gateway${CHAT}`, { method: "POST", body, signal: leaving.signal });
    const answering = app.fetch(request);
    await new Promise((resolve) => setTimeout(resolve));
    leaving.abort();
    gate.resolve();
    await (await answering).body?.cancel();
    await until(() => app.logs.length === 1);
    assertEquals([asked, app.logs[0]!.cost], [0, undefined]);
    assertEquals((await app.post(CHAT, chatBody({ model: "chat", max_tokens: 900 }))).status, 200);
  } finally {
    await app.close();
  }
});

Deno.test("budget: each caller with a token has the budget of its group, and its team's", async () => {
  const rig = await newRig({
    groups: [{ name: "*", budget: { dollars: 0.00002, period: "day" }, team: "all" }],
  }, {
    config: {
      teams: { all: { budget: { dollars: 0.00005, period: "day" } } },
      lanes: {
        oss: {
          models: {
            model: {
              task: "chat",
              targets: [{ upstream: "fake", model: "org/model" }],
              price: { input: 1, output: 1 },
            },
          },
        },
      },
    },
  });
  try {
    const ask = async (sub: string) => {
      const headers = { authorization: `Bearer ${await rig.issuer.token({ sub })}` };
      const response = await rig.app.post(CHAT, chatBody({ max_tokens: 1 }), headers);
      return [response.status, await response.text()] as const;
    };
    // The fake answer has 6 tokens; each may have some 10, of 20.
    const statuses: number[] = [];
    for (const sub of ["anna", "anna", "anna", "ben"]) statuses.push((await ask(sub))[0]);
    assertEquals(statuses, [200, 200, 402, 200]);
    for (let count = 0; count < 20 && statuses.at(-1) === 200; count++) statuses.push((await ask(`c${count}`))[0]);
    assertStringIncludes((await ask("new"))[1], 'team \\"all\\"');
    const headers = { authorization: `Bearer ${await rig.issuer.token({ sub: "anna" })}` };
    assertEquals((await budgetsOf(rig.app, headers)).map(({ budget }) => budget), ["key:oidc:anna", "team:all"]);
  } finally {
    await rig.app.close();
  }
});

Deno.test("budget: a key that is revoked in the middle of its answer pays for it", async () => {
  const store = createMemoryStore({ now: () => NOW, limitBytes: 1_000_000 });
  const release = Promise.withResolvers<void>();
  let isAsked = false;
  const app = newApp({
    config: { ...configWith(100, DEAR), budget: undefined, storedKeys: true, keys: [], teams: {} },
    store: { ...store, close: () => {} },
    env: ENV,
    fetch: async () => {
      isAsked = true;
      await release.promise;
      return Response.json(ANSWER);
    },
  });
  try {
    const { createKeyring } = await import("../../src/state/keyring.ts");
    const keyring = createKeyring(store, () => NOW);
    const budget = { dollars: 1, period: "total" as const };
    const key = await keyring.create({ name: "anna", budget });
    const answering = app.post(CHAT, chatBody({ model: "chat", max_tokens: 9 }), { "x-api-key": key! });
    await until(() => isAsked);
    await keyring.revoke("anna");
    release.resolve();
    assertEquals((await answering).status, 200);
    // Under the same name again it goes on from there.
    const again = await keyring.create({ name: "anna", budget });
    const { spent } = (await budgetsOf(app, { "x-api-key": again! }))[0]!;
    assertEquals(spent, "0.007");
  } finally {
    await app.close();
  }
});
