/** What a key may use, seen from outside: in every protocol, for every kind of request, whatever becomes of it. */
import { defaultMemoryBytes } from "../../src/http/load_shedding.ts";
import { collectGarbage } from "../../src/util/collect_garbage.ts";
import { until } from "../support/wait.ts";
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { formatLogLine } from "../../src/observe/log.ts";
import { createMemoryStore } from "../../src/state/memory_store.ts";
import {
  CHAT,
  chatBody,
  CONFIG,
  type ConfigInput,
  countedBody,
  ENV,
  newApp,
  NOW,
  type TestApp,
  type TestAppOptions,
} from "../support/app.ts";
import { answerStream, answerWhole, ENDING, word } from "../support/chat.ts";
import { fakeUpstream } from "../support/fake_upstream.ts";

type KeyInput = NonNullable<ConfigInput["keys"]>[number];

const AUTHORIZED = { authorization: `Bearer ${ENV.TEAM_KEY}` };
const ANTHROPIC = { "x-api-key": ENV.TEAM_KEY!, "anthropic-version": "2023-06-01" };

const SANDBOX_TASKS = {
  embedding: "embedding",
  rerank: "rerank",
  speech: "speech",
  transcription: "transcription",
  image: "image",
} as const;

/** The gateway of `CONFIG` with models of all tasks and one key. */
function locked(key: Partial<KeyInput>, more: Partial<ConfigInput> = {}): ConfigInput {
  const tasks = Object.values(SANDBOX_TASKS).map((task) =>
    [task, { task, targets: [{ upstream: "sandbox", model: `sandbox-${task}` }] }] as const
  );
  return {
    ...CONFIG,
    keys: [{ name: "team", secret: { env: "TEAM_KEY" }, ...key }],
    lanes: {
      oss: {
        models: {
          ...CONFIG.lanes.oss.models,
          "claude-model": { task: "chat", targets: [{ upstream: "fake", model: "org/model" }] },
          ...Object.fromEntries(tasks),
        },
      },
      other: { models: { model: { task: "chat", targets: [{ upstream: "fake", model: "org/model" }] } } },
    },
    ...more,
  };
}

/** An app whose clock is the test's. */
function timed(config: ConfigInput, options: Omit<TestAppOptions, "config"> = {}) {
  const clock = { ms: NOW };
  const app = newApp({ config, now: () => clock.ms, fetch: fakeUpstream(() => answerWhole()).fetch, ...options });
  return { app, clock };
}

const TURNS = [{ role: "user", content: "Hello" }];

/** The smallest request of each protocol that runs a model. */
const REQUESTS: Record<string, { path: string; body: object | FormData; headers?: Record<string, string> }> = {
  chat: { path: CHAT, body: { model: "sandbox", messages: TURNS } },
  "chat, relayed": { path: CHAT, body: { model: "model", messages: TURNS, n: 2 } },
  messages: {
    path: "/oss/v1/messages",
    body: { model: "sandbox", max_tokens: 9, messages: TURNS },
    headers: ANTHROPIC,
  },
  responses: { path: "/oss/v1/responses", body: { model: "sandbox", input: "Hello" } },
  embeddings: { path: "/oss/v1/embeddings", body: { model: "embedding", input: "Hello" } },
  rerank: { path: "/oss/v1/rerank", body: { model: "rerank", query: "Hello", documents: ["a"] } },
  "rerank, second version": { path: "/oss/v2/rerank", body: { model: "rerank", query: "Hello", documents: ["a"] } },
  speech: {
    path: "/oss/v1/audio/speech",
    body: { model: "speech", input: "Hello", voice: "alloy", response_format: "wav" },
  },
  transcription: { path: "/oss/v1/audio/transcriptions", body: form() },
  images: { path: "/oss/v1/images/generations", body: { model: "image", prompt: "Hello", size: "8x8" } },
};

function form(): FormData {
  const form = new FormData();
  form.append("model", "transcription");
  form.append("file", new File([silence()], "a.wav", { type: "audio/wav" }));
  return form;
}

/** A second of nothing, as a WAV file. */
function silence(): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(44 + 16_000);
  const view = new DataView(bytes.buffer);
  const text = (at: number, word: string) => bytes.set(new TextEncoder().encode(word), at);
  text(0, "RIFF");
  view.setUint32(4, bytes.length - 8, true);
  text(8, "WAVEfmt ");
  view.setUint32(16, 16, true);
  view.setUint16(20, 1, true);
  view.setUint16(22, 1, true);
  view.setUint32(24, 8_000, true);
  view.setUint32(28, 16_000, true);
  view.setUint16(32, 2, true);
  view.setUint16(34, 16, true);
  text(36, "data");
  view.setUint32(40, 16_000, true);
  return bytes;
}

async function send(app: TestApp, name: string, more: Record<string, string> = {}): Promise<Response> {
  const { path, body, headers = AUTHORIZED } = REQUESTS[name]!;
  const payload = body instanceof FormData ? body : JSON.stringify(body);
  const response = await app.fetch(
    new Request(`http://gateway${path}`, { method: "POST", headers: { ...headers, ...more }, body: payload }),
  );
  await response.clone().arrayBuffer();
  return response;
}

const limitsIn = ({ headers }: Response) =>
  Object.fromEntries([...headers].filter(([name]) => name.includes("ratelimit") || name === "retry-after"));

for (const name of Object.keys(REQUESTS)) {
  Deno.test(`${name}: what is left is told with every answer, and what is used up with when to come back`, async () => {
    const { app, clock } = timed(locked({ quota: { requestsPerMinute: 2 } }));
    const isMessages = name === "messages";
    const expected = (remaining: string, seconds: number) =>
      isMessages
        ? {
          "anthropic-ratelimit-requests-limit": "2",
          "anthropic-ratelimit-requests-remaining": remaining,
          "anthropic-ratelimit-requests-reset": new Date(clock.ms + seconds * 1_000).toISOString(),
        }
        : {
          "x-ratelimit-limit-requests": "2",
          "x-ratelimit-remaining-requests": remaining,
          "x-ratelimit-reset-requests": seconds === 60 ? "1m0s" : `${seconds}s`,
        };
    const first = await send(app, name);
    assertEquals([first.status, limitsIn(first)], [200, expected("1", 30)], await first.text());
    await send(app, name);
    const refused = await send(app, name);
    assertEquals([refused.status, limitsIn(refused)], [429, { ...expected("0", 60), "retry-after": "30" }]);
    assertStringIncludes(await refused.text(), 'Key \\"team\\" is limited to 2 requests per minute');
    clock.ms += 30_000;
    assertEquals((await send(app, name)).status, 200);
  });

  Deno.test(`${name}: a model that the key may not ask for is refused in the protocol's shape`, async () => {
    const { app } = timed(locked({ models: ["nothing"] }));
    const response = await send(app, name);
    const body = await response.json();
    const isRerank = name.startsWith("rerank");
    assertEquals([response.status, isRerank || (body.error.type ?? body.type)], [403, isRerank || "permission_error"]);
    assertStringIncludes(JSON.stringify(body), "This key is not allowed to use model");
  });

  Deno.test(`${name}: a gateway with enough to do says so, and has taken nothing of the key's`, async () => {
    const config = locked({ quota: { requestsPerMinute: 2, tokensPerMinute: 100_000 } }, {
      limits: { concurrentRequests: 1 },
    });
    const upstream = fakeUpstream(({ signal }) => leaving(signal), () => answerWhole());
    const { app } = timed(config, { fetch: upstream.fetch });
    const running = new AbortController();
    const busy = app.fetch(
      new Request(`http://gateway${CHAT}`, {
        method: "POST",
        headers: AUTHORIZED,
        body: JSON.stringify(chatBody()),
        signal: running.signal,
      }),
    );
    await until(() => upstream.asked.length > 0);
    for (let time = 0; time < 3; time++) {
      const response = await send(app, name);
      const { "retry-after": wait, ...left } = limitsIn(response);
      assertEquals([response.status, wait], [name === "messages" ? 529 : 503, "1"]);
      const remaining = Object.entries(left).find(([key]) => /requests-remaining|remaining-requests/.test(key));
      assertEquals(remaining?.[1], "1");
    }
    running.abort();
    await (await busy).body?.cancel();
    assertEquals((await send(app, name)).status, 200);
  });
}

Deno.test("above the limit of memory what runs a model is refused, and the rest is not", async () => {
  const { app } = timed(locked({}, { limits: { memoryBytes: 1 } }));
  assertEquals((await send(app, "chat")).status, 503);
  assertEquals((await send(app, "messages")).status, 529);
  assertEquals((await app.get("/oss/v1/models", AUTHORIZED)).status, 200);
});

Deno.test("so it is with a share of the machine's memory where no limit is configured", async () => {
  const unlimited = { limits: { memoryBytes: undefined } };
  const { app } = timed(locked({}, unlimited));
  const { memoryUsage, systemMemoryInfo } = Deno;
  try {
    Deno.memoryUsage = () => ({ ...memoryUsage(), rss: systemMemoryInfo().total * 0.74 });
    const isBelow = systemMemoryInfo().total * 0.74 <= defaultMemoryBytes();
    assertEquals((await send(app, "chat")).status, isBelow ? 200 : 503);
    Deno.memoryUsage = () => ({ ...memoryUsage(), rss: defaultMemoryBytes() + 1 });
    const after = timed(locked({}, unlimited));
    assertEquals((await send(after.app, "chat")).status, 503);
    assertEquals((await send(after.app, "messages")).status, 529);
  } finally {
    Deno.memoryUsage = memoryUsage;
  }
  assert(defaultMemoryBytes() <= systemMemoryInfo().total * 0.75);
  // What the container may have, where its variable says so.
  assertEquals(defaultMemoryBytes(200 * 2 ** 20), 150 * 2 ** 20);
  assertEquals([defaultMemoryBytes(2 ** 60), defaultMemoryBytes(NaN)], [defaultMemoryBytes(), defaultMemoryBytes()]);
});

Deno.test("where a variable says how much memory the container may have, it is a share of that", async () => {
  const rss = Deno.memoryUsage;
  try {
    Deno.memoryUsage = () => ({ ...rss(), rss: 200 * 2 ** 20 });
    const status = async (limit: string) => {
      const config = locked({}, { limits: { memoryBytes: undefined } });
      const { app } = timed(config, { env: { ...ENV, LANEWAY_MEMORY_LIMIT: limit } });
      return (await send(app, "chat")).status;
    };
    assertEquals(await status(String(256 * 2 ** 20)), 503);
    assertEquals(await status(String(300 * 2 ** 20)), 200);
    assertEquals(await status("plenty"), 200);
  } finally {
    Deno.memoryUsage = rss;
  }
});

Deno.test("where memory is full what nobody holds is given back, so that a burst that is over refuses nobody", () => {
  const held = () => Deno.memoryUsage().heapUsed + Deno.memoryUsage().external;
  const before = held();
  let garbage: unknown = Array.from({ length: 20 }, (_, at) => JSON.parse(`"${"a".repeat(1_000_000)}${at}"`));
  assert(held() > before + 15_000_000);
  garbage = undefined;
  collectGarbage();
  assert(held() < before + 10_000_000, `${garbage} ${held() - before} bytes are left`);
});

Deno.test("a gateway with enough to do reads no further body", async () => {
  const { app } = timed(locked({}, { limits: { memoryBytes: 1 } }));
  const { init, pulls } = countedBody();
  const headers = { ...AUTHORIZED, ...init.headers };
  const response = await app.fetch(new Request(`http://gateway${CHAT}`, { ...init, headers }));
  assertEquals([response.status, pulls()], [503, 0]);
  await response.body?.cancel();
});

Deno.test("counting, listing, explaining and reading what is stored are free", async () => {
  const { app } = timed(locked({ quota: { requestsPerMinute: 1, tokensPerDay: 1, concurrentRequests: 1 } }));
  const stored = await (await send(app, "responses")).json();
  assertEquals((await send(app, "responses")).status, 429);
  const free = [
    () => app.post("/oss/v1/messages/count_tokens", { model: "sandbox", messages: TURNS }, ANTHROPIC),
    () => app.post("/oss/v1/responses/input_tokens", { model: "sandbox", input: "Hello" }, AUTHORIZED),
    () => app.get("/oss/v1/models", AUTHORIZED),
    () => app.get("/oss/v1/models/sandbox", AUTHORIZED),
    () => app.get(`/oss/v1/responses/${stored.id}`, AUTHORIZED),
    () => app.get(`/oss/v1/responses/${stored.id}/input_items`, AUTHORIZED),
    () => send(app, "chat", { "x-laneway-explain": "true" }),
    () => send(app, "embeddings", { "x-laneway-explain": "true" }),
  ];
  for (const [index, ask] of [...free, ...free].entries()) {
    const response = await ask();
    assertEquals(response.status, 200, `${index}: ${await response.text()}`);
  }
  await app.close();
});

/** Tokens that the key has left of 1000. */
async function left(app: TestApp): Promise<number> {
  const response = await send(app, "chat", { "x-laneway-explain": "true" });
  return Number(response.headers.get("x-ratelimit-remaining-tokens"));
}

const METERED = locked({ quota: { tokensPerMinute: 1_000 } });
/** What `chatBody()` is estimated at. */
const ESTIMATE = 9;
const LONG = "word ".repeat(80);

/** A stream whose upstream falls silent after `frames`. */
function silentStream(frames: string[], signal: AbortSignal): Response {
  const encoder = new TextEncoder();
  const body = new ReadableStream({
    start(controller) {
      for (const text of frames) controller.enqueue(encoder.encode(text));
      signal.addEventListener("abort", () => controller.error(signal.reason), { once: true });
    },
  });
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
}

for (const stream of [false, true]) {
  const mode = stream ? "streamed" : "whole";
  Deno.test(`what an answer's usage says is charged: ${mode}`, async () => {
    const usage = { prompt_tokens: 300, completion_tokens: 200, total_tokens: 500 };
    const answer = () =>
      stream
        ? answerStream([word("one"), ENDING.replace('"choices"', `"usage":${JSON.stringify(usage)},"choices"`)])
        : Response.json({
          object: "chat.completion",
          choices: [{ index: 0, message: { role: "assistant", content: "one" }, finish_reason: "stop" }],
          usage,
        });
    const { app } = timed(METERED, { fetch: fakeUpstream(answer).fetch });
    await (await app.post(CHAT, chatBody({ stream }), AUTHORIZED)).text();
    assertEquals(await left(app), 500);
  });

  Deno.test(`a request that fails before anything is said costs nothing: ${mode}`, async () => {
    const failures = [
      () => new Response("no", { status: 500 }),
      () => Response.json({ error: { message: "no such thing" } }, { status: 400 }),
      () => Promise.reject(new TypeError("connection refused")),
      () => answerStream([], new TypeError("connection reset")),
    ];
    for (const failure of failures) {
      const { app } = timed(METERED, { fetch: fakeUpstream(failure).fetch });
      const response = await app.post(CHAT, chatBody({ stream }), AUTHORIZED);
      assert(response.status >= 400);
      await response.body?.cancel();
      assertEquals(await left(app), 1_000);
    }
  });

  Deno.test(`a retried request is charged once: ${mode}`, async () => {
    const failing = () => new Response("no", { status: 503 });
    const answer = () => stream ? answerStream([word("one"), ENDING]) : answerWhole();
    const run = async (answers: (() => Response)[]) => {
      const { app } = timed({ ...METERED, retry: { budgetMs: 5_000 } }, { fetch: fakeUpstream(...answers).fetch });
      const response = await app.post(CHAT, chatBody({ stream }), AUTHORIZED);
      assertEquals(response.status, 200);
      await response.text();
      return await left(app);
    };
    assertEquals(await run([failing, answer]), await run([answer]));
  });
}

Deno.test("a stream that breaks off costs what was asked and said until then", async () => {
  const broken = () => answerStream([word(LONG)], new TypeError("connection reset"));
  const { app } = timed(METERED, { fetch: fakeUpstream(broken).fetch });
  await (await app.post(CHAT, chatBody({ stream: true }), AUTHORIZED)).text();
  assertEquals(await left(app), 1_000 - ESTIMATE - LONG.length / 4);
});

Deno.test("who leaves a stream pays for what was asked and said until then, and makes room", async () => {
  const config = locked({ quota: { tokensPerMinute: 1_000, concurrentRequests: 1 } });
  const { app } = timed(config, { fetch: fakeUpstream(({ signal }) => silentStream([word(LONG)], signal)).fetch });
  const response = await app.post(CHAT, chatBody({ stream: true }), AUTHORIZED);
  const reader = response.body!.getReader();
  let received = "";
  while (!received.includes("word")) received += new TextDecoder().decode((await reader.read()).value);
  assertEquals((await send(app, "chat")).status, 429);
  await reader.cancel();
  assertEquals(await left(app), 1_000 - ESTIMATE - LONG.length / 4);
  assertEquals((await send(app, "chat")).status, 200);
});

Deno.test("who leaves before the answer pays for what was asked", async () => {
  const { promise: asked, resolve: ask } = Promise.withResolvers<void>();
  const { app } = timed(METERED, { fetch: fakeUpstream(({ signal }) => (ask(), leaving(signal))).fetch });
  const leave = new AbortController();
  const init = { method: "POST", headers: AUTHORIZED, body: JSON.stringify(chatBody()), signal: leave.signal };
  const response = app.fetch(new Request(`http://gateway${CHAT}`, init));
  await asked;
  leave.abort();
  assertEquals((await response).status, 499);
  assertEquals(await left(app), 1_000 - ESTIMATE);
});

function leaving(signal: AbortSignal): Promise<Response> {
  return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true }));
}

Deno.test("a request that is refused uses nothing", async () => {
  const { app } = timed(locked({ quota: { requestsPerMinute: 1, tokensPerMinute: 1_000 } }));
  await send(app, "embeddings");
  const before = await left(app);
  for (let time = 0; time < 5; time++) assertEquals((await send(app, "chat")).status, 429);
  assertEquals(await left(app), before);
});

Deno.test("embeddings are charged what their inputs are worth before they are made", async () => {
  const { app } = timed(METERED);
  const ask = (words: number) =>
    app.post("/oss/v1/embeddings", { model: "embedding", input: "word ".repeat(words) }, AUTHORIZED);
  assertEquals((await ask(700)).status, 200);
  const refused = await ask(700);
  assertEquals(refused.status, 429);
  await refused.body?.cancel();
  assert(await left(app) > 0);
});

Deno.test("a day's tokens are there again at midnight UTC", async () => {
  const { app, clock } = timed(locked({ quota: { tokensPerDay: 5 } }));
  assertEquals((await send(app, "chat")).status, 200);
  const refused = await send(app, "chat");
  const midnight = 86_400_000 * Math.ceil(clock.ms / 86_400_000);
  assertEquals([refused.status, refused.headers.get("retry-after")], [
    429,
    String(Math.ceil((midnight - clock.ms) / 1_000)),
  ]);
  clock.ms = midnight;
  assertEquals((await send(app, "chat")).status, 200);
  await app.close();
});

Deno.test("a day's tokens are used up after a restart, too, and at every gateway on the same store", async () => {
  const store = { ...createMemoryStore({ now: () => NOW, limitBytes: 1_000_000 }), close: () => {} };
  const config = locked({ quota: { tokensPerDay: 5 } });
  const { app } = timed(config, { store });
  assertEquals((await send(app, "chat")).status, 200);
  assertEquals((await send(app, "chat")).status, 429);
  await app.close();
  const next = timed(config, { store }).app;
  assertEquals((await send(next, "chat")).status, 429);
  await next.close();
});

Deno.test("a store that fails costs no request: the key is judged by what the gateway saw, and the log says so", async () => {
  const fail = () => Promise.reject(new Error("No such disk"));
  const store = { ...createMemoryStore({ now: () => NOW, limitBytes: 1_000_000 }), get: fail, update: fail };
  const { app } = timed(locked({ quota: { tokensPerDay: 5 } }), { store });
  assertEquals((await send(app, "chat")).status, 200);
  assertEquals(JSON.parse(formatLogLine(app.logs.at(-1)!)).cause, "No such disk");
  assertEquals((await send(app, "chat")).status, 429);
  await app.close();
});

Deno.test("limits count on after a change of the configuration", async () => {
  const { app } = timed(locked({ quota: { requestsPerMinute: 1, tokensPerDay: 1_000 } }));
  await send(app, "chat");
  const same = newApp({ config: locked({ quota: { requestsPerMinute: 1, tokensPerDay: 1_000 } }), after: app });
  assertEquals((await send(same, "chat")).status, 429);
  const tighter = newApp({ config: locked({ quota: { tokensPerDay: 3 } }), after: app });
  assertEquals((await send(tighter, "chat")).status, 429);
  await tighter.close();
});

Deno.test("limits that an upstream tells are its own affair", async () => {
  const theirs = {
    "x-ratelimit-limit-requests": "777",
    "x-ratelimit-remaining-tokens": "777",
    "anthropic-ratelimit-requests-limit": "777",
    "ratelimit": '"api";r=777;t=777',
  };
  for (const quota of [undefined, { requestsPerMinute: 5 }]) {
    const { app } = timed(locked({ quota }), {
      fetch: fakeUpstream(() => {
        const response = answerWhole();
        for (const [name, value] of Object.entries(theirs)) response.headers.set(name, value);
        return response;
      }).fetch,
    });
    for (const [path, headers] of [[CHAT, AUTHORIZED], ["/oss/v1/messages", ANTHROPIC]] as const) {
      const response = await app.post(path, { ...chatBody(), max_tokens: 9 }, headers);
      assertEquals(response.status, 200);
      assert(
        !Object.values(limitsIn(response)).some((value) => value.includes("777")),
        JSON.stringify(limitsIn(response)),
      );
      assertEquals(Object.keys(limitsIn(response)).length, quota ? 3 : 0);
      await response.body?.cancel();
    }
  }
});

// What a key opens

Deno.test("a key's models are those that it is told of, finds and may ask for", async () => {
  const { app } = timed(locked({ models: ["model", "sand*"] }));
  const { data } = await (await app.get("/oss/v1/models", AUTHORIZED)).json();
  assertEquals(data.map(({ id }: { id: string }) => id), ["model", "sandbox"]);
  for (
    const [model, status] of [["model", 200], ["sandbox", 200], ["embedding", 403], ["claude-model", 403]] as const
  ) {
    for (const headers of [AUTHORIZED, ANTHROPIC]) {
      const found = await app.get(`/oss/v1/models/${model}`, headers);
      assertEquals(found.status, status, model);
      if (status === 403) assertEquals((await found.json()).error.type, "permission_error");
      else await found.body?.cancel();
    }
  }
});

Deno.test("a wish for a long window opens no other model, and closes none", async () => {
  const config = locked({ models: ["model"] });
  const lanes = config.lanes!;
  const { models } = lanes.oss!;
  const long = { task: "chat" as const, targets: [{ upstream: "fake", model: "org/expensive" }] };
  const { app } = timed({ ...config, lanes: { ...lanes, long: { models: { ...models, "model[1m]": long } } } });
  const ask = async (path: string, model: string) => {
    const response = await app.post(path, chatBody({ model }), AUTHORIZED);
    await response.body?.cancel();
    return response.status;
  };
  assertEquals(await ask(CHAT, "model[1m]"), 200);
  assertEquals(await ask(CHAT, "sandbox[1m]"), 403);
  // There the name is another model's.
  assertEquals(await ask("/long/v1/chat/completions", "model[1m]"), 403);
});

Deno.test("a key opens its lanes alone, and ends at its time", async () => {
  const expires = new Date(NOW + 60_000).toISOString();
  const { app, clock } = timed(locked({ lanes: ["oss"], expires }));
  const ask = async (lane: string, headers: Record<string, string>) => {
    const response = await app.get(`/${lane}/v1/models`, headers);
    const { error, type } = await response.json();
    return [response.status, error && (error.type ?? type)];
  };
  for (const headers of [AUTHORIZED, ANTHROPIC]) {
    clock.ms = NOW;
    assertEquals(await ask("oss", headers), [200, undefined]);
    assertEquals(await ask("other", headers), [403, "permission_error"]);
    clock.ms = NOW + 60_000;
    assertEquals(await ask("oss", headers), [401, "authentication_error"]);
  }
});

Deno.test("a key opens its lanes alone where the path names none", async () => {
  const ask = async (lanes: string[]) => {
    const { app } = timed(locked({ lanes }));
    const init = { method: "POST", headers: AUTHORIZED, body: form() };
    const response = await app.fetch(new Request("http://gateway/v1/audio/translations", init));
    await response.body?.cancel();
    return response.status;
  };
  assertEquals([await ask(["oss"]), await ask(["other"])], [200, 403]);
});
