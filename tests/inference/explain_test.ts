/** `x-laneway-explain`: what a request would become, with nobody called. */
import { assert, assertEquals, assertObjectMatch } from "@std/assert";
import { createApp, parseConfig } from "../../src/app.ts";
import { CONFIG, type ConfigInput, ENV, newApp } from "../support/app.ts";

const EXPLAIN = { "x-laneway-explain": "true" };

const config: ConfigInput = {
  ...CONFIG,
  upstreams: {
    ...CONFIG.upstreams,
    fake: { ...CONFIG.upstreams.fake, refuses: ["user"], headers: { "x-team": "blue", "x-api-key": "k-4f5e6d" } },
    plain: { driver: "chat", baseUrl: "http://plain.test/v1" },
    bare: { driver: "messages", baseUrl: "http://bare.test/v1", secret: { env: "UNSET" } },
    ears: { driver: "audio", baseUrl: "http://ears.test/v1" },
  },
  lanes: {
    oss: {
      models: {
        ...CONFIG.lanes.oss.models,
        both: {
          task: "chat",
          targets: [{ upstream: "fake", model: "org/model" }, { upstream: "bare", model: "bare" }],
        },
        either: {
          task: "chat",
          targets: [{ upstream: "fake", model: "org/model" }, { upstream: "plain", model: "org/model" }],
        },
        limited: { task: "chat", maxOutputTokens: 1_000, targets: [{ upstream: "plain", model: "org/model" }] },
        ears: { task: "transcription", targets: [{ upstream: "ears", model: "whisper" }] },
      },
    },
  },
};

function newExplained() {
  const called: string[] = [];
  const app = newApp({ config, fetch: (url) => (called.push(url), Promise.reject(new TypeError("Nobody is called"))) });
  return { app, called };
}

for (
  const [wire, path, body] of [
    ["chat", "chat/completions", { messages: [{ role: "user", content: "Hi" }], user: "u" }],
    ["messages", "messages", { max_tokens: 5, messages: [{ role: "user", content: "Hi" }] }],
    ["responses", "responses", { input: "Hi", user: "u" }],
  ] as const
) {
  for (const stream of [false, true]) {
    Deno.test(`explain: ${wire}, ${stream ? "streamed" : "whole"}: every target, its calls, and no secret`, async () => {
      const { app, called } = newExplained();
      const response = await app.post(`/oss/v1/${path}`, { model: "both", stream, ...body }, EXPLAIN);
      assertEquals(response.status, 200);
      const text = await response.text();
      for (const secret of [ENV.UPSTREAM_SECRET!, "k-4f5e6d"]) assert(!text.includes(secret));
      const report = JSON.parse(text);
      assertObjectMatch(report, { object: "explanation", operation: "generate", lane: "oss", model: "both" });
      const [first, second] = report.targets;
      assertObjectMatch(first, {
        target: "fake/org/model",
        driver: "chat",
        requests: [{
          method: "POST",
          url: "http://upstream.test/v1/chat/completions",
          headers: { authorization: "Bearer ***", "x-api-key": "***", "x-team": "blue" },
          body: { model: "org/model", messages: [{ role: "user", content: "Hi" }] },
        }],
      });
      assertEquals("user" in first.requests[0].body, false);
      if (wire === "chat") assertEquals(first.notes, ["dropped user"]);
      assertEquals([second.target, second.error.code], ["bare/bare", "unavailable"]);
      // Whoever has no secret yet sees what the upstream would get.
      assertObjectMatch(second.requests[0], { url: "http://bare.test/v1/messages", body: { model: "bare" } });
      assertEquals(called, []);
      assertEquals(app.logs.map(({ status }) => status), [200]);
    });
  }
}

Deno.test("explain: the embedded upstream makes no call, and what it leaves out is told", async () => {
  const { app } = newExplained();
  const body = { model: "sandbox", messages: [{ role: "user", content: "Hi" }], user: "u" };
  const [{ requests, notes }] = (await (await app.post("/oss/v1/chat/completions", body, EXPLAIN)).json()).targets;
  const answered = await app.post("/oss/v1/chat/completions", body);
  assertEquals([requests, notes.join(", ")], [[], answered.headers.get("x-laneway-notes") ?? ""]);
});

const STRICT = { "x-laneway-strict": "true" };
const CHAT_PATH = "/oss/v1/chat/completions";
const HI = { messages: [{ role: "user", content: "Hi" }] };

for (
  const [name, path, body] of [
    ["a field that the only target refuses", CHAT_PATH, { ...HI, model: "model", user: "u" }],
    ["a field that the first of two refuses, and the second cannot be asked", CHAT_PATH, {
      ...HI,
      model: "both",
      user: "u",
    }],
    ["a field that the embedded upstream leaves out", "/oss/v1/messages", {
      ...HI,
      model: "sandbox",
      max_tokens: 5,
      top_k: 4,
      mcp_servers: [{ type: "url" }],
    }],
    ["a hosted tool alone that nobody runs", "/oss/v1/messages", {
      ...HI,
      model: "model",
      max_tokens: 5,
      tools: [{ type: "web_search_20250305", name: "web_search" }],
    }],
    ["nothing to leave out", CHAT_PATH, { ...HI, model: "sandbox" }],
  ] as const
) {
  for (const stream of [false, true]) {
    Deno.test(`explain: a strict request is refused as it would be without, ${stream ? "streamed" : "whole"}: ${name}`, async () => {
      const { app } = newExplained();
      const whole = await app.post(path, { ...body, stream }, STRICT);
      const response = await app.post(path, { ...body, stream }, { ...STRICT, ...EXPLAIN });
      assertEquals(response.status, whole.status);
      if (whole.ok) {
        assertEquals((await response.json()).object, "explanation");
        await whole.body?.cancel();
      } else {
        assertEquals((await response.json()).error, (await whole.json()).error);
      }
    });
  }
}

Deno.test("explain: a strict request that one of two targets takes as it is is explained, with the other's refusal", async () => {
  const { app } = newExplained();
  const response = await app.post(CHAT_PATH, { ...HI, model: "either", user: "u" }, { ...STRICT, ...EXPLAIN });
  const [first, second] = (await response.json()).targets;
  assertEquals([response.status, first.error.code, second.requests.length], [200, "invalid_request", 1]);
  assertEquals([first.notes, second.notes], [["dropped user"], []]);
});

Deno.test("explain: of a file is told what it is, and nothing of what is in it", async () => {
  const { app, called } = newExplained();
  const form = new FormData();
  form.append("model", "ears");
  form.append("file", new Blob(["RIFF....WAVEfmt "]), "a.wav");
  const url = "http://gateway/oss/v1/audio/transcriptions";
  const response = await app.fetch(new Request(url, { method: "POST", headers: EXPLAIN, body: form }));
  const [{ requests }] = (await response.json()).targets;
  assertEquals(requests[0].body.at(-1), { name: "file", file: { name: "a.wav", type: "audio/wav", bytes: 16 } });
  assertEquals(called, []);
});

Deno.test("explain: what is wrong with the request is told as ever", async () => {
  const { app } = newExplained();
  assertEquals((await app.post("/oss/v1/embeddings", { model: "both", input: "a" }, EXPLAIN)).status, 422);
  assertEquals((await app.post("/oss/v1/embeddings", { model: "none", input: "a" }, EXPLAIN)).status, 404);
});

interface ExplainedStep {
  step: string;
  notes: string[];
  changes: { path: string; before?: unknown; after?: unknown }[];
}

Deno.test("explain: what changed the request is shown step by step, for its model and for each target", async () => {
  const { app } = newExplained();
  const body = {
    model: "limited",
    max_tokens: 5_000,
    tools: [{ name: "files.read", input_schema: { type: "object" } }],
    messages: [
      { role: "user", content: "Read it" },
      { role: "assistant", content: [{ type: "tool_use", id: "a", name: "files.read", input: {} }] },
      { role: "user", content: "Never mind" },
    ],
  };
  const response = await app.post("/oss/v1/messages", body, EXPLAIN);
  const { steps, targets } = await response.json() as {
    steps: ExplainedStep[];
    targets: { requests?: { body: { tools: unknown[]; max_tokens: number } }[]; steps: ExplainedStep[] }[];
  };
  assertEquals(steps, [{
    step: "length of the answer",
    notes: ["clamped max_tokens 5000>1000"],
    changes: [{ path: "maxOutputTokens", before: 5_000, after: 1_000 }],
  }]);
  const [first] = targets;
  assertEquals(first!.steps.map(({ step }) => step), ["tool names", "order of turns"]);
  const [names, turns] = first!.steps;
  const name = names!.changes[0]!.after;
  assert(typeof name === "string" && /^files_read_[\da-f]{8}$/.test(name), String(name));
  assertEquals(names!.changes, [
    { path: "messages[1].content[0].name", before: "files.read", after: name },
    { path: "tools[0].name", before: "files.read", after: name },
  ]);
  assertEquals(turns!.notes, ["added a result for call a, which had none"]);
  assertEquals(turns!.changes.map(({ path, before }) => [path, before]), [["messages[2]", undefined]]);
  assertEquals(first!.requests![0]!.body.max_tokens, 1_000);
});

Deno.test("explain: a request that goes as it is has no steps", async () => {
  const { app } = newExplained();
  const { steps, targets } = await (await app.post(CHAT_PATH, { ...HI, model: "both" }, EXPLAIN)).json();
  assertEquals([steps, targets[0].steps], [[], []]);
});

Deno.test("explain: also what the gateway puts in, what it does itself, and what a plugin takes out is a step", async () => {
  const config = parseConfig({
    ...CONFIG,
    hostedTools: { webSearch: { backend: "searxng", baseUrl: "http://search.test" } },
    store: { kind: "memory" },
    redact: { emails: true },
  });
  const app = createApp({ config, env: (name) => ENV[name], log() {} });
  const post = async (body: object, headers?: HeadersInit) => {
    const request = { method: "POST", headers, body: JSON.stringify(body) };
    return await (await app.fetch(new Request("http://gateway/oss/v1/responses", request))).json();
  };
  const first = await post({ model: "sandbox", input: "Ask ada@example.com" });
  const body = {
    model: "model",
    input: "Now search",
    previous_response_id: first.id,
    tools: [{ type: "web_search" }],
    context_management: [{ type: "compaction", compact_threshold: 90_000 }],
  };
  const { steps, targets: [target] } = await post(body, EXPLAIN) as {
    steps: ExplainedStep[];
    targets: { steps: ExplainedStep[] }[];
  };
  assertEquals(steps.map(({ step }) => step), ["recall", "compaction"]);
  assertEquals(target!.steps.map(({ step }) => step), ["hosted tools as functions", "redact"]);
  const [recalled] = steps;
  assert(recalled!.changes.some(({ path }) => path === "messages[0]"), JSON.stringify(recalled));
  assert(!JSON.stringify(target!.steps.at(-1)!.changes.map(({ after }) => after)).includes("ada@example.com"));
});
