import { assert, assertEquals, assertMatch, assertRejects, assertStringIncludes } from "@std/assert";
import { catalogs, drivers, protocols } from "../plugins/mod.ts";
import type { GenerateEvent } from "../src/canonical/generate.ts";
import type { Driver } from "../src/contract/driver.ts";
import type { Frame } from "../src/contract/frame.ts";
import type { Emit } from "../src/contract/stream.ts";
import { type ErrorCode, STATUS_OF } from "../src/errors.ts";
import { collectGarbage } from "../src/util/collect_garbage.ts";
import { formatLogLine } from "../src/observe/log.ts";
import { readFrames } from "./support/sources.ts";
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
} from "./support/app.ts";
import { answerStream, answerWhole, ENDING, frame, word } from "./support/chat.ts";
import { toArray } from "./support/chunks.ts";
import { type Asked, fakeUpstream } from "./support/fake_upstream.ts";

/** What a client is told of a failure. */
interface Failure {
  status: number;
  code: string | null;
  message: string;
  param: string | null;
}

async function failureOf(response: Response): Promise<Failure> {
  const { error } = await response.json();
  assertEquals(Object.keys(error).sort(), ["code", "message", "param", "type"]);
  assertMatch(response.headers.get("x-request-id") ?? "", /^req_/);
  return { status: response.status, code: error.code, message: error.message, param: error.param };
}

async function expectFailure(response: Response, code: ErrorCode, word: string | null = code): Promise<Failure> {
  const error = await failureOf(response);
  assertEquals([error.status, error.code], [STATUS_OF[code], word]);
  return error;
}

/** The text of a stream, and how it ended. */
async function readStream(response: Response): Promise<{ text: string; comments: string[]; end: string | undefined }> {
  assertEquals([response.status, response.headers.get("content-type")], [200, "text/event-stream; charset=utf-8"]);
  const frames = await toArray(readFrames(response.body!));
  const data = frames.flatMap(({ data }) => data === undefined ? [] : [data]);
  const chunks = data.filter((text) => text !== "[DONE]").map((text) => JSON.parse(text));
  return {
    text: chunks.map(({ choices }) => choices?.[0]?.delta.content ?? "").join(""),
    comments: frames.flatMap(({ comment }) => comment === undefined ? [] : [comment]),
    end: data.at(-1) === "[DONE]" ? "[DONE]" : chunks.at(-1)?.error?.code,
  };
}

// What operators ask

Deno.test("the gateway says who it is, that it lives and that it is ready", async () => {
  const app = newApp();
  const { name, version, lanes } = await (await app.get("/")).json();
  assertEquals([name, lanes], ["laneway", ["oss"]]);
  assertMatch(version, /^\d+\.\d+\.\d+/);
  assertEquals(await (await app.get("/healthz")).json(), { status: "ok" });
  assertEquals(await (await app.get("/readyz")).json(), { status: "ready" });
  app.drain();
  const draining = await app.get("/readyz");
  assertEquals([draining.status, await draining.json()], [503, { status: "draining" }]);
  assertEquals((await app.get("/healthz")).status, 200);
});

Deno.test("what operators ask needs no key, is answered to HEAD and is not logged", async () => {
  const app = newApp({ config: { ...CONFIG, keys: [{ name: "team", secret: { env: "TEAM_KEY" } }] } });
  for (const path of ["/", "/healthz", "/readyz"]) {
    assertEquals((await app.get(path)).status, 200);
    const head = await app.fetch(new Request(`http://gateway${path}`, { method: "HEAD" }));
    assertEquals([head.status, head.body], [200, null]);
    const post = await app.post(path, {});
    assertEquals(post.headers.get("allow"), "GET, HEAD");
    await expectFailure(post, "method_not_allowed");
  }
  assertEquals(app.logs.map(({ status }) => status), [405, 405, 405]);
});

// Match

for (const path of ["/oss", "/oss/v1", "/oss/v2/chat/completions", "/v1/chat/completions", "/favicon.ico"]) {
  Deno.test(`${path} is a path that nothing serves`, async () => {
    const error = await expectFailure(await newApp().post(path, chatBody()), "not_found", null);
    assertStringIncludes(error.message, `"${path}"`);
  });
}

Deno.test("what operators ask leaves nothing behind", async () => {
  const app = newApp();
  const made: WeakRef<AbortController>[] = [];
  const Original = AbortController;
  globalThis.AbortController = class extends Original {
    constructor() {
      super();
      made.push(new WeakRef(this));
    }
  };
  try {
    for (const path of ["/healthz", "/readyz", "/"]) {
      for (let n = 0; n < 10; n++) await (await app.get(path)).text();
    }
  } finally {
    globalThis.AbortController = Original;
  }
  // What is weakly held is let go of once this turn is over.
  await new Promise((resolve) => setTimeout(resolve));
  collectGarbage();
  const kept = made.filter((one) => one.deref()).length;
  assert(made.length >= 30 && kept <= 3, `${kept} of ${made.length} are kept`);
});

Deno.test("an unknown lane is told, with those that there are", async () => {
  const error = await expectFailure(await newApp().post("/ssо/v1/chat/completions", chatBody()), "not_found", null);
  assertEquals(error.message, 'Cannot find lane "ssо": this gateway has "oss"');
});

/** What is answered 404 by its own method is 404 by any other. */
const NOWHERE: [method: string, path: string][] = [
  ["GET", "/nolane/v1/chat/completions"],
  ["PUT", "/nolane/v1/models"],
  ["DELETE", "/nolane/v1/messages"],
  ["OPTIONS", "/nolane/v1/responses"],
  ["GET", "/oss/v1/nothing"],
  ["DELETE", "/nope"],
  ["POST", "/oss/v1/models/x/y"],
  ["DELETE", "/oss/v1/models/none"],
  ["POST", "/oss/v1/models/a%20b"],
  ["PUT", "/oss/v1/responses/resp_none"],
  ["POST", "/oss/v1/responses/resp_none"],
  ["GET", "/oss/v1/responses/resp_none/cancel"],
  ["POST", "/oss/v1/responses/resp_none/input_items"],
];

for (const [method, path] of NOWHERE) {
  Deno.test(`${method} ${path} is told that there is no such path, and no methods`, async () => {
    const response = await newApp().fetch(new Request(`http://gateway${path}`, { method }));
    assertEquals([response.status, response.headers.get("allow")], [404, null]);
  });
}

Deno.test("a stored response allows its own methods, until it is deleted, and to its owner alone", async () => {
  const keys = [{ name: "team", secret: { env: "TEAM_KEY" } }, { name: "guest", secret: { env: "GUEST_KEY" } }];
  const app = newApp({ config: { ...CONFIG, keys } });
  const as = (key: string) => ({ authorization: `Bearer ${ENV[key]}` });
  const asked = await app.post("/oss/v1/responses", { model: "sandbox", input: "Hello" }, as("TEAM_KEY"));
  const path = `/oss/v1/responses/${(await asked.json()).id}`;
  const put = async (key: string) => {
    const request = new Request(`http://gateway${path}`, { method: "PUT", headers: as(key) });
    const response = await app.fetch(request);
    return [response.status, response.headers.get("allow")];
  };
  assertEquals(await put("TEAM_KEY"), [405, "GET, HEAD, DELETE"]);
  assertEquals(await put("GUEST_KEY"), [404, null]);
  await app.fetch(new Request(`http://gateway${path}`, { method: "DELETE", headers: as("TEAM_KEY") }));
  assertEquals(await put("TEAM_KEY"), [404, null]);
});

const OTHER_METHODS: [method: string, path: string, allow: string][] = [
  ["GET", CHAT, "POST"],
  ["HEAD", CHAT, "POST"],
  ["PUT", CHAT, "POST"],
  ["POST", "/oss/v1/models", "GET, HEAD"],
  ["DELETE", "/oss/v1/models/model", "GET, HEAD"],
  ["GET", "/oss/v1/responses/compact", "POST"],
  ["PUT", "/oss/v1/responses/compact", "POST"],
  ["GET", "/oss/v1/responses/input_tokens", "POST"],
];

for (const [method, path, allow] of OTHER_METHODS) {
  Deno.test(`${method} ${path} is told what the path allows`, async () => {
    const response = await newApp().fetch(new Request(`http://gateway${path}`, { method }));
    assertEquals([response.status, response.headers.get("allow")], [405, allow]);
    if (method === "HEAD") assertEquals(response.body, null);
    else await expectFailure(response, "method_not_allowed");
  });
}

Deno.test("HEAD on the list of models is its head alone", async () => {
  const app = newApp();
  const response = await app.fetch(new Request("http://gateway/oss/v1/models", { method: "HEAD" }));
  assertEquals([response.status, response.body], [200, null]);
  assertMatch(response.headers.get("content-type")!, /^application\/json/);
  assertEquals(app.logs.map(({ method, status }) => [method, status]), [["HEAD", 200]]);
});

Deno.test("a path with slashes to spare is the path that is meant", async () => {
  const app = newApp();
  for (const path of ["//oss/v1/models", "/oss//v1//models", "/oss/v1/models/"]) {
    const response = await app.get(path);
    assertEquals(response.status, 200, path);
    await response.body?.cancel();
  }
});

Deno.test("an invalid percent-encoding is refused", async () => {
  for (const path of ["/oss/v1/models/%zz", "/%ff/v1/models"]) {
    assertStringIncludes((await expectFailure(await newApp().get(path), "invalid_request", null)).message, "percent");
  }
});

Deno.test("a WebSocket is refused in words that name the way that works", async () => {
  const app = newApp();
  const response = await app.get("/oss/v1/chat/completions", { upgrade: "websocket", connection: "upgrade" });
  await expectFailure(response, "upgrade_required");
});

// Models

const OPEN: ConfigInput = { ...CONFIG, lanes: { hf: { upstreams: { chat: "fake" } } } };

for (const path of ["org%2Fname:fastest", "org/name:fastest", "org%2fname%3Afastest"]) {
  Deno.test(`a model is found as ${path}`, async () => {
    const response = await newApp({ config: OPEN }).get(`/hf/v1/models/${path}`);
    const { id, object, owned_by } = await response.json();
    assertEquals({ id, object, owned_by }, { id: "org/name:fastest", object: "model", owned_by: "org" });
  });
}

Deno.test("a lane without a list sends the name on as it was written", async () => {
  const upstream = fakeUpstream(() => answerWhole());
  const app = newApp({ config: OPEN, fetch: upstream.fetch });
  const response = await app.post("/hf/v1/chat/completions", chatBody({ model: "org/name:fastest" }));
  assertEquals((await response.json()).model, "org/name:fastest");
  assertEquals(JSON.parse(upstream.asked[0]!.body).model, "org/name:fastest");
  assertEquals(app.logs[0]!.target, "fake/org/name:fastest");
});

Deno.test("an unknown model is told", async () => {
  const app = newApp();
  for (const response of [await app.post(CHAT, chatBody({ model: "x" })), await app.get("/oss/v1/models/x")]) {
    const error = await expectFailure(response, "model_not_found");
    assertEquals([error.message, error.param], ['Cannot find model "x" in lane "oss"', "model"]);
  }
});

Deno.test("a model of another task is told", async () => {
  const embedder: Driver = {
    name: "embedder",
    wire: "embedder",
    operations: { embed: { local: () => ({ model: "m", vectors: [], usage: { inputTokens: 1 } }) } },
    parseError: () => {
      throw new Error("It makes no call");
    },
  };
  const app = newApp({
    plugins: { protocols, drivers: [...drivers, embedder], catalogs },
    config: {
      upstreams: { embedder: { driver: "embedder" } },
      lanes: { oss: { models: { bge: { task: "embedding", targets: [{ upstream: "embedder", model: "bge" }] } } } },
    },
  });
  const error = await expectFailure(await app.post(CHAT, chatBody({ model: "bge" })), "model_task_mismatch");
  assertEquals(error.param, "model");
  assertStringIncludes(error.message, '"bge" is for embedding');
});

// Admission

const LOCKED: ConfigInput = {
  ...CONFIG,
  keys: [
    { name: "team", secret: { env: "TEAM_KEY" } },
    { name: "guest", secret: { env: "GUEST_KEY" }, lanes: ["other"] },
  ],
  lanes: { ...CONFIG.lanes, other: CONFIG.lanes.oss },
};

Deno.test("a request without a key is refused before its body is read, and before it learns what there is", async () => {
  const { init, pulls } = countedBody();
  const app = newApp({ config: LOCKED });
  await expectFailure(
    await app.fetch(new Request(`http://gateway${CHAT}`, init)),
    "authentication",
    "invalid_api_key",
  );
  assertEquals(pulls(), 0);
  for (const path of ["/nope/v1/chat/completions", "/nope", "/oss/v1/models"]) {
    await expectFailure(await app.get(path), "authentication", "invalid_api_key");
  }
  assertEquals(app.logs.map(({ status, key }) => [status, key]), Array(4).fill([401, undefined]));
});

const CREDENTIALS: Record<string, { headers: HeadersInit; status: number }> = {
  "a bearer token": { headers: { authorization: `Bearer ${ENV.TEAM_KEY}` }, status: 200 },
  "x-api-key": { headers: { "x-api-key": ENV.TEAM_KEY! }, status: 200 },
  "both, of which the one that is a key counts": {
    headers: { authorization: `Bearer ${ENV.TEAM_KEY}`, "x-api-key": "wrong" },
    status: 200,
  },
  "a wrong key": { headers: { authorization: "Bearer wrong" }, status: 401 },
  "the upstream's secret": { headers: { authorization: `Bearer ${ENV.UPSTREAM_SECRET}` }, status: 401 },
  "another scheme": { headers: { authorization: `Basic ${ENV.TEAM_KEY}` }, status: 401 },
};

for (const [name, { headers, status }] of Object.entries(CREDENTIALS)) {
  Deno.test(`with ${name} the answer is ${status}`, async () => {
    const response = await newApp({ config: LOCKED }).get("/oss/v1/models", headers);
    assertEquals(response.status, status);
    await response.body?.cancel();
  });
}

Deno.test("a key opens the lanes that it names, and no others", async () => {
  const app = newApp({ config: LOCKED });
  const headers = { authorization: `Bearer ${ENV.GUEST_KEY}` };
  const other = await app.get("/other/v1/models", headers);
  assertEquals(other.status, 200);
  await other.body?.cancel();
  const error = await expectFailure(await app.get("/oss/v1/models", headers), "permission", null);
  assertEquals(error.message, 'This key is not allowed to use lane "oss"');
  assertEquals(app.logs.map(({ key, status }) => [key, status]), [["guest", 200], ["guest", 403]]);
});

Deno.test("without keys, others than this machine are refused", async () => {
  const app = newApp();
  const call = (hostname: string) =>
    app.fetch(new Request("http://localhost/oss/v1/models"), {
      remoteAddr: { transport: "tcp", hostname, port: 1 },
    });
  assertEquals((await failureOf(await call("192.0.2.1"))).status, 401);
  const own = await call("127.0.0.1");
  assertEquals(own.status, 200);
  await own.body?.cancel();
});

// What comes in

const BAD_BODIES: Record<string, { body: unknown; code: ErrorCode; param?: string | null }> = {
  "no JSON": { body: '{"model": ', code: "invalid_request" },
  "nothing": { body: "", code: "invalid_request" },
  "a list": { body: "[]", code: "invalid_request" },
  "no messages": { body: { model: "model", messages: [] }, code: "invalid_request", param: "messages" },
  "a number for a text": {
    body: { model: "model", messages: [{ role: "user", content: 7 }] },
    code: "invalid_request",
    param: "messages[0].content",
  },
  "too much": { body: chatBody({ user: "x".repeat(2_000) }), code: "request_too_large" },
};

for (const [name, { body, code, param = null }] of Object.entries(BAD_BODIES)) {
  Deno.test(`a body of ${name} is refused, and no call is made`, async () => {
    const upstream = fakeUpstream(() => answerWhole());
    const app = newApp({ config: { ...CONFIG, limits: { bodyBytes: 1_000 } }, fetch: upstream.fetch });
    const error = await expectFailure(
      await app.post(CHAT, body),
      code,
      code === "invalid_request" ? null : code,
    );
    assertEquals([error.param, upstream.asked.length], [param, 0]);
  });
}

// Answers

for (const stream of [false, true]) {
  Deno.test(`a request gets its answer: ${stream ? "streamed" : "whole"}`, async () => {
    const upstream = fakeUpstream(() =>
      stream ? answerStream([word("Hel"), word("lo"), ENDING]) : answerWhole("Hello")
    );
    const app = newApp({ fetch: upstream.fetch });
    const response = await app.post(CHAT, chatBody({ stream }));
    if (stream) {
      assertEquals(await readStream(response), { text: "Hello", comments: ["notes: estimated usage"], end: "[DONE]" });
    } else {
      const { id, created, model, choices } = await response.json();
      assertEquals({ id, created, model }, { id: "chatcmpl-2", created: NOW / 1000, model: "model" });
      assertEquals(choices[0].message.content, "Hello");
    }
    assertEquals(response.headers.get("x-request-id"), "req_1");
    const [asked] = upstream.asked;
    assertEquals([asked!.method, asked!.url.href], ["POST", "http://upstream.test/v1/chat/completions"]);
    assertEquals(JSON.parse(asked!.body).model, "org/model");
  });
}

Deno.test("an upstream that answers whole although a stream was asked for is streamed all the same", async () => {
  const app = newApp({ fetch: fakeUpstream(() => answerWhole("Hello you")).fetch });
  assertEquals(await readStream(await app.post(CHAT, chatBody({ stream: true }))), {
    text: "Hello you",
    comments: [],
    end: "[DONE]",
  });
});

Deno.test("the same request is the same bytes upstream, whoever sends it", async () => {
  const upstream = fakeUpstream(() => answerWhole());
  const app = newApp({ fetch: upstream.fetch });
  const body = chatBody({ tools: [{ type: "function", function: { name: "f" } }], temperature: 0, user: "me" });
  for (const headers of [undefined, { "user-agent": "x", cookie: "a=b", "x-forwarded-for": "192.0.2.1" }]) {
    await (await app.post(CHAT, body, headers)).body?.cancel();
  }
  const [first, second] = upstream.asked;
  assertEquals(first!.body, second!.body);
  assertEquals([...first!.headers], [...second!.headers]);
});

Deno.test("a stream that nobody reads is ended when its client leaves", async () => {
  const app = newApp({ fetch: fakeUpstream(() => answerStream([word("one"), ENDING])).fetch });
  const response = await app.post(CHAT, chatBody({ stream: true }));
  await response.body!.cancel();
  assertEquals(app.logs.map(({ status }) => status), [499]);
});

// Secrets and headers

Deno.test("credentials stay on their side, and so do headers", async () => {
  const leaky = {
    "set-cookie": "session=1",
    "x-internal-host": "gpu-17",
    "server": "uvicorn",
    "x-request-id": "theirs",
    "authorization": `Bearer ${ENV.UPSTREAM_SECRET}`,
    "access-control-allow-origin": "*",
  };
  for (const stream of [false, true]) {
    const upstream = fakeUpstream(() => {
      const answer = stream ? answerStream([word("one"), ENDING]) : answerWhole();
      for (const [name, value] of Object.entries(leaky)) answer.headers.set(name, value);
      return answer;
    });
    const app = newApp({ config: LOCKED, fetch: upstream.fetch });
    const response = await app.post(CHAT, chatBody({ stream }), {
      authorization: `Bearer ${ENV.TEAM_KEY}`,
      cookie: "client=1",
      "x-forwarded-for": "192.0.2.7",
      "openai-organization": "org-1",
    });
    const text = await response.text();

    const [asked] = upstream.asked;
    assertEquals(asked!.headers.get("authorization"), `Bearer ${ENV.UPSTREAM_SECRET}`);
    assertEquals([...asked!.headers.keys()].sort(), ["accept", "authorization", "content-type", "user-agent"]);
    assert(!JSON.stringify([...asked!.headers]).includes(ENV.TEAM_KEY!));

    const seen = JSON.stringify([...response.headers]) + text;
    assert(!seen.includes(ENV.UPSTREAM_SECRET!), seen);
    assertEquals(response.headers.get("x-request-id"), "req_1");
    const names = [...response.headers.keys()];
    assertEquals(names.filter((name) => name in leaky && name !== "x-request-id"), []);
    for (const line of app.logs.map(formatLogLine)) {
      assert(!line.includes(ENV.UPSTREAM_SECRET!) && !line.includes(ENV.TEAM_KEY!), line);
    }
  }
});

for (const stream of [false, true]) {
  Deno.test(`an upstream without its secret is not called: ${stream ? "streamed" : "whole"}`, async () => {
    const upstream = fakeUpstream(() => answerWhole());
    const app = newApp({ env: { TEAM_KEY: "x" }, fetch: upstream.fetch });
    const response = await app.post(CHAT, chatBody({ stream }));
    assertEquals(response.headers.get("x-should-retry"), "false");
    const error = await expectFailure(response, "unavailable");
    assertStringIncludes(error.message, "UPSTREAM_SECRET");
    assertEquals(upstream.asked.length, 0);
  });
}

// Notes

const FITTED: ConfigInput = {
  upstreams: {
    fake: { driver: "chat", baseUrl: "http://upstream.test/v1", refuses: ["store", "user"] },
    sandbox: { driver: "sandbox" },
  },
  lanes: {
    oss: {
      models: {
        model: { task: "chat", targets: [{ upstream: "fake", model: "org/model" }], efforts: ["low", "high"] },
        sandbox: { task: "chat", targets: [{ upstream: "sandbox", model: "sandbox" }], efforts: ["low", "high"] },
      },
    },
  },
};
const UNFIT = { reasoning_effort: "medium", store: true, user: "me" };
const UNFIT_NOTES = "clamped effort medium>high; dropped store; dropped user";

for (const stream of [false, true]) {
  Deno.test(`what was changed is said: ${stream ? "streamed" : "whole"}`, async () => {
    const upstream = fakeUpstream(() => stream ? answerStream([word("one"), ENDING]) : answerWhole());
    const app = newApp({ config: FITTED, fetch: upstream.fetch });
    const response = await app.post(CHAT, chatBody({ stream, ...UNFIT }));
    assertEquals(response.headers.get("x-laneway-notes"), UNFIT_NOTES);
    // What was said in the head is not said again.
    if (stream) assertEquals((await readStream(response)).comments, ["notes: estimated usage"]);
    else await response.body?.cancel();
    const { reasoning_effort, ...rest } = JSON.parse(upstream.asked[0]!.body);
    assertEquals([reasoning_effort, "store" in rest, "user" in rest], ["high", false, false]);
    const notes = [...UNFIT_NOTES.split("; "), ...(stream ? ["estimated usage"] : [])];
    assertEquals(app.logs[0]!.notes, notes);
  });

  Deno.test(`a strict request is refused instead: ${stream ? "streamed" : "whole"}`, async () => {
    const upstream = fakeUpstream(() => answerWhole());
    const app = newApp({ config: FITTED, fetch: upstream.fetch });
    const strict = { "x-laneway-strict": "true" };
    const error = await expectFailure(
      await app.post(CHAT, chatBody({ stream, ...UNFIT }), strict),
      "invalid_request",
      null,
    );
    assertStringIncludes(error.message, UNFIT_NOTES);
    const sandbox = chatBody({ stream, model: "sandbox", reasoning_effort: "medium" });
    await expectFailure(await app.post(CHAT, sandbox, strict), "invalid_request", null);
    assertEquals(upstream.asked.length, 0);

    const fitting = await app.post(CHAT, chatBody({ stream, reasoning_effort: "low" }), strict);
    assertEquals([fitting.status, upstream.asked.length], [200, 1]);
    await fitting.text();
  });

  Deno.test(`a strict request is refused if its upstream refuses a field: ${stream ? "streamed" : "whole"}`, async () => {
    for (const fields of [{ store: true }, { store: true, n: 2 }]) {
      const upstream = fakeUpstream(() => answerWhole());
      const app = newApp({ config: FITTED, fetch: upstream.fetch });
      const response = await app.post(CHAT, chatBody({ stream, ...fields }), { "x-laneway-strict": "true" });
      const { message } = await expectFailure(response, "invalid_request", null);
      assertStringIncludes(message, "dropped store");
      assertEquals(upstream.asked.length, 0);
    }
  });
}

Deno.test("what is learnt after the head is said right before the end", async () => {
  const app = newApp({ fetch: fakeUpstream(() => answerStream([word("one"), ENDING])).fetch });
  const response = await app.post(CHAT, chatBody({ stream: true, stream_options: { include_usage: true } }));
  assertEquals(response.headers.get("x-laneway-notes"), null);
  const blocks = (await response.text()).trimEnd().split("\n\n");
  assertEquals(blocks.findIndex((block) => block === ": notes: estimated usage"), blocks.length - 4);
  assertStringIncludes(blocks.at(-3)!, '"finish_reason":"stop"');
  assertStringIncludes(blocks.at(-2)!, '"prompt_tokens":');
  assertEquals(blocks.at(-1), "data: [DONE]");
});

// Fallback

const TWO: ConfigInput = {
  upstreams: {
    first: { driver: "chat", baseUrl: "http://first.test/v1", secret: { env: "UPSTREAM_SECRET" } },
    second: { driver: "chat", baseUrl: "http://second.test/v1" },
  },
  lanes: {
    oss: {
      models: {
        model: {
          task: "chat",
          targets: [{ upstream: "first", model: "org/one" }, { upstream: "second", model: "org/two" }],
        },
      },
    },
  },
};

interface Fallback {
  first(asked: Asked): Response;
  /** Where the answer comes from the second target; else what the client is told. */
  expected?: ErrorCode;
  /** Where only one mode can see it. */
  stream?: boolean;
}

const FALLBACKS: Record<string, Fallback> = {
  "a connection error": {
    first() {
      throw new TypeError("Connection refused");
    },
  },
  "a 500": { first: () => new Response("Out of memory", { status: 500 }) },
  "a 429": { first: () => Response.json({ error: "Too Many Requests" }, { status: 429 }) },
  "a 503": { first: () => new Response("", { status: 503 }) },
  "a time-out in between": { first: () => new Response("", { status: 504 }) },
  "a refused credential": { first: () => new Response("", { status: 401 }) },
  "a redirect": {
    first: () => new Response(null, { status: 302, headers: { location: "http://elsewhere.test/" } }),
    expected: "upstream_error",
  },
  "a page with status 200": {
    first: () => new Response("<html>Sign in</html>", { headers: { "content-type": "text/html" } }),
  },
  "an error object with status 200": { first: () => Response.json({ error: { message: "Out of memory", code: 500 } }) },
  "an error in the stream before its first chunk": {
    stream: true,
    first: () => answerStream(['data: {"error":{"message":"Out of memory","code":500}}\n\n']),
  },
  "an error in the stream before content": {
    stream: true,
    first: () => answerStream([word(""), 'data: {"error":{"message":"Out of memory","code":500}}\n\n']),
  },
  "a stream of nothing": { stream: true, first: () => answerStream(["data: [DONE]\n\n"]) },
  "a stream that breaks before content": {
    stream: true,
    first: () => answerStream([word("")], new TypeError("connection reset")),
  },
  "a 400": {
    first: () => Response.json({ error: { message: "No such parameter" } }, { status: 400 }),
    expected: "invalid_request",
  },
  "a conversation that is too long": {
    first: () => Response.json({ error: { code: "context_length_exceeded", message: "Too long" } }, { status: 400 }),
    expected: "context_length_exceeded",
  },
  "a body that is too large": { first: () => new Response("", { status: 413 }), expected: "request_too_large" },
};

for (const [name, { first, expected, stream }] of Object.entries(FALLBACKS)) {
  for (const mode of stream === undefined ? [false, true] : [stream]) {
    const outcome = expected ? "is told" : "is asked of the next target";
    Deno.test(`${name} ${outcome}: ${mode ? "streamed" : "whole"}`, async () => {
      const upstream = fakeUpstream(
        first,
        () => mode ? answerStream([word("second"), ENDING]) : answerWhole("second"),
      );
      const app = newApp({ config: TWO, fetch: upstream.fetch });
      const response = await app.post(CHAT, chatBody({ stream: mode }));
      if (expected) {
        await expectFailure(response, expected, expected === "invalid_request" ? null : expected);
        assertEquals(upstream.asked.map(({ url }) => url.host), ["first.test"]);
        return;
      }
      const text = mode ? (await readStream(response)).text : (await response.json()).choices[0].message.content;
      assertEquals(text, "second");
      assertEquals(upstream.asked.map(({ url }) => url.host), ["first.test", "second.test"]);
      assertEquals(upstream.asked.map(({ body }) => JSON.parse(body).model), ["org/one", "org/two"]);
      // A secret goes to its own upstream alone.
      assertEquals(upstream.asked[1]!.headers.has("authorization"), false);
      const { target, error, status } = app.logs[0]!;
      assertEquals({ target, error, status }, { target: "second/org/two", error: undefined, status: 200 });
    });
  }
}

const AFTER_CONTENT: Record<string, () => Response> = {
  "an error": () => answerStream([word("one"), 'data: {"error":{"message":"Out of memory","code":500}}\n\n']),
  "an error and a happy end": () =>
    answerStream([word("one"), 'data: {"error":{"message":"Out of memory","code":500}}\n\n', "data: [DONE]\n\n"]),
  "a broken connection": () => answerStream([word("one")], new TypeError("connection reset")),
  "an end that is none": () => answerStream([word("one")]),
};

for (const [name, first] of Object.entries(AFTER_CONTENT)) {
  Deno.test(`after content, ${name} is an error at the end of the stream, and nobody else is asked`, async () => {
    const upstream = fakeUpstream(first, () => answerStream([word("two"), ENDING]));
    const app = newApp({ config: TWO, fetch: upstream.fetch });
    const { text, end } = await readStream(await app.post(CHAT, chatBody({ stream: true })));
    assertEquals([text, end, upstream.asked.length], ["one", "upstream_error", 1]);
    const { status, error, target } = app.logs[0]!;
    assertEquals({ status, error, target }, { status: 200, error: "upstream_error", target: "first/org/one" });
  });
}

Deno.test("where every target fails, the last failure is told", async () => {
  const upstream = fakeUpstream(
    () => new Response("", { status: 500 }),
    () => Response.json({ error: "Slow down" }, { status: 429, headers: { "retry-after": "9" } }),
  );
  const response = await newApp({ config: TWO, fetch: upstream.fetch }).post(CHAT, chatBody());
  assertEquals(response.headers.get("retry-after"), "9");
  assertEquals((await expectFailure(response, "rate_limit", "rate_limit_exceeded")).message, "Slow down");
});

Deno.test("a target whose upstream has no secret is passed over", async () => {
  const upstream = fakeUpstream(() => answerWhole("second"));
  const app = newApp({ config: TWO, env: {}, fetch: upstream.fetch });
  assertEquals((await (await app.post(CHAT, chatBody())).json()).choices[0].message.content, "second");
  assertEquals(upstream.asked.map(({ url }) => url.host), ["second.test"]);
});

// What upstreams answer in place of an answer

const HTML = { "content-type": "text/html; charset=utf-8" };
const PAGE = "<!DOCTYPE html><html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>";

interface Mapped {
  answer: () => Response;
  code: ErrorCode;
  word?: string | null;
  message: string;
  retryAfter?: string;
}

const MAPPED: Record<string, Mapped> = {
  "a page with 502": {
    answer: () => new Response(PAGE, { status: 502, headers: HTML }),
    code: "upstream_error",
    message: "The upstream answered 502",
  },
  "a page with 401": {
    answer: () => new Response("<html><body><h1>401 Unauthorized</h1></body></html>", { status: 401, headers: HTML }),
    code: "upstream_error",
    message: "The upstream refused the gateway's credentials (401)",
  },
  "a refused token": {
    answer: () => Response.json({ error: `Invalid token ${ENV.UPSTREAM_SECRET}` }, { status: 403 }),
    code: "upstream_error",
    message: "The upstream refused the gateway's credentials (403)",
  },
  "a stack trace": {
    answer: () =>
      new Response("Error: boom\n    at serve (/srv/app/server.js:10:5)\n    at main (/srv/app/main.js:1:1)", {
        status: 500,
      }),
    code: "upstream_error",
    message: "The upstream failed (500): Error: boom",
  },
  "a Python traceback": {
    answer: () =>
      Response.json({
        error: { message: 'Failed\nTraceback (most recent call last):\n  File "/srv/app.py", line 3' },
      }, { status: 500 }),
    code: "upstream_error",
    message: "The upstream failed (500): Failed",
  },
  "a text for an error": {
    answer: () => Response.json({ error: "temperature must be positive" }, { status: 400 }),
    code: "invalid_request",
    word: null,
    message: "temperature must be positive",
  },
  "one detail": {
    answer: () => Response.json({ detail: "Unprocessable" }, { status: 422 }),
    code: "invalid_request",
    word: null,
    message: "Unprocessable",
  },
  "a list of details": {
    answer: () =>
      Response.json({ detail: [{ loc: ["body", "stop"], msg: "Input should be a valid list", type: "list_type" }] }, {
        status: 422,
      }),
    code: "invalid_request",
    word: null,
    message: "Input should be a valid list",
  },
  "a bill": {
    answer: () => Response.json({ error: "You have depleted your monthly included credits" }, { status: 402 }),
    code: "billing",
    word: "insufficient_quota",
    message: "You have depleted your monthly included credits",
  },
  "too many requests": {
    answer: () => Response.json({ error: { message: "Slow down" } }, { status: 429, headers: { "retry-after": "7" } }),
    code: "rate_limit",
    word: "rate_limit_exceeded",
    message: "Slow down",
    retryAfter: "7",
  },
  "overload": {
    answer: () => new Response(PAGE, { status: 503, headers: { ...HTML, "retry-after": "120" } }),
    code: "unavailable",
    message: "The upstream is overloaded",
    retryAfter: "120",
  },
  "a time-out in between": {
    answer: () => new Response(PAGE, { status: 524, headers: HTML }),
    code: "upstream_timeout",
    message: "The upstream ran out of time",
  },
  "an unknown model": {
    answer: () => Response.json({ error: { message: "model 'x' not found", code: 404 } }, { status: 404 }),
    code: "model_not_found",
    message: "model 'x' not found",
  },
  "a model that no provider has": {
    answer: () =>
      Response.json({ error: { message: "Not supported by any provider", code: "model_not_supported" } }, {
        status: 400,
      }),
    code: "model_not_found",
    message: "Not supported by any provider",
  },
  "a conversation that is too long": {
    answer: () =>
      Response.json({
        error: {
          code: 400,
          type: "exceed_context_size_error",
          message: "the request exceeds the available context size",
        },
      }, { status: 400 }),
    code: "context_length_exceeded",
    message: "the request exceeds the available context size",
  },
  "a redirect": {
    answer: () => new Response(null, { status: 307, headers: { location: "http://10.0.0.1/internal" } }),
    code: "upstream_error",
    message: "The upstream answered 307",
  },
};

for (const [name, { answer, code, word = code, message, retryAfter = null }] of Object.entries(MAPPED)) {
  for (const stream of [false, true]) {
    Deno.test(`of the upstream, ${name} becomes ${code}: ${stream ? "streamed" : "whole"}`, async () => {
      const upstream = fakeUpstream(answer);
      const app = newApp({ fetch: upstream.fetch });
      const response = await app.post(CHAT, chatBody({ stream }));
      assertEquals(response.headers.get("retry-after"), retryAfter);
      assertEquals((await expectFailure(response, code, word)).message, message);
      const { status, error, upstreamStatus } = app.logs[0]!;
      assertEquals({ status, error, upstreamStatus }, {
        status: STATUS_OF[code],
        error: code,
        upstreamStatus: answer().status,
      });
      assertEquals(upstream.asked.length, 1);
    });
  }
}

// The log

/** An app whose clock goes on by 10 ms with every answer, and by 5 ms with every piece of a stream. */
function timed(answer: () => Response): TestApp {
  let now = NOW;
  const fetch = () => {
    now += 10;
    const response = answer();
    const tick = new TransformStream<Uint8Array, Uint8Array>({
      transform(piece, controller) {
        now += 5;
        controller.enqueue(piece);
      },
    });
    return Promise.resolve(new Response(response.body!.pipeThrough(tick), response));
  };
  return newApp({ config: LOCKED, now: () => now, fetch });
}

const KEYED = { authorization: `Bearer ${ENV.TEAM_KEY}` };
const USAGE = `data: {"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":2}}\n\n`;

Deno.test("the log of a whole answer", async () => {
  const app = timed(() => answerWhole());
  await (await app.post(`${CHAT}?key=in-the-query`, chatBody(), KEYED)).body?.cancel();
  assertEquals(app.logs, [{
    time: "2027-01-15T08:00:00.000Z",
    id: "req_1",
    method: "POST",
    path: CHAT,
    key: "team",
    lane: "oss",
    protocol: "chat",
    model: "model",
    target: "fake/org/model",
    stream: false,
    status: 200,
    usage: { inputTokens: 5, outputTokens: 1 },
    durationMs: 15,
  }]);
});

Deno.test("the log of a stream is written at its end", async () => {
  const app = timed(() =>
    answerStream([word("one"), word("two"), frame({ delta: {}, finish_reason: "stop" }), USAGE, "data: [DONE]\n\n"])
  );
  const response = await app.post(CHAT, chatBody({ stream: true }), KEYED);
  assertEquals(app.logs.length, 0);
  await response.text();
  const [{ stream, status, firstEventMs, durationMs, usage, notes }] = app.logs as [TestApp["logs"][number]];
  assertEquals({ stream, status, firstEventMs, durationMs, usage, notes }, {
    stream: true,
    status: 200,
    firstEventMs: 15,
    durationMs: 35,
    usage: { inputTokens: 9, outputTokens: 2 },
    notes: undefined,
  });
});

Deno.test("the log of a failure names it", async () => {
  const app = newApp({
    config: LOCKED,
    fetch: fakeUpstream(() => new Response("x", { status: 500 })).fetch,
  });
  await (await app.post(CHAT, chatBody({ model: "nope" }), KEYED)).body?.cancel();
  await (await app.post(CHAT, chatBody(), KEYED)).body?.cancel();
  assertEquals(app.logs.map(({ status, error, target, upstreamStatus }) => [status, error, target, upstreamStatus]), [
    [404, "model_not_found", undefined, undefined],
    [502, "upstream_error", "fake/org/model", 500],
  ]);
});

Deno.test("no content and no secret is in the log, whatever happens", async () => {
  const secret = "the-words-of-the-user";
  const answers = [
    () => answerWhole(secret),
    () => answerStream([word(secret), ENDING]),
    () => answerStream([word(secret)], new TypeError("connection reset")),
    () => Response.json({ error: { message: secret } }, { status: 400 }),
    () => new Response(secret, { status: 500 }),
    () => new Response(secret),
    () => answerStream([`data: ${secret}\n\n`]),
  ];
  const upstream = fakeUpstream(...answers);
  const app = newApp({ config: LOCKED, fetch: upstream.fetch });
  const messages = [{ role: "user", content: secret }];
  for (let call = 0; call < answers.length; call++) {
    await (await app.post(CHAT, chatBody({ messages, user: secret, stream: true }), KEYED)).text();
  }
  await (await app.post(CHAT, `{"model": "model", "messages": "${secret}"}`, KEYED)).text();
  await (await app.post(CHAT, `{"messages": "${secret}`, KEYED)).text();
  await (await app.post(CHAT, {}, { authorization: `Bearer ${secret}` })).text();
  assertEquals(app.logs.length, answers.length + 3);
  for (const line of app.logs.map(formatLogLine)) {
    assert(!line.includes(secret) && !line.includes(ENV.TEAM_KEY!) && !line.includes(ENV.UPSTREAM_SECRET!), line);
  }
});

Deno.test("a client cannot write lines of its own into the log", async () => {
  const app = newApp();
  const model = 'm"}\n{"status":200,"id":"forged"}';
  await (await app.post(CHAT, chatBody({ model }))).body?.cancel();
  await (await app.get('/oss/v1/%0a%7B"forged":1%7D')).body?.cancel();
  for (const line of app.logs.map(formatLogLine)) {
    assertEquals(line.split(/[\r\n]/).length, 1);
    assertEquals(JSON.parse(line).id.startsWith("req_"), true);
  }
  assertEquals(JSON.parse(formatLogLine(app.logs[0]!)).model, model);
});

Deno.test("a failure of our own is told without its words, and logged with its place", async () => {
  const broken: Driver = {
    name: "broken",
    wire: "broken",
    operations: {
      generate: {
        local() {
          throw new RangeError("The words of the user");
        },
      },
    },
    parseError: () => {
      throw new Error("It makes no call");
    },
  };
  for (const stream of [false, true]) {
    const app = newApp({
      plugins: { protocols, drivers: [broken], catalogs },
      config: {
        upstreams: { broken: { driver: "broken" } },
        lanes: { oss: { models: { model: { task: "chat", targets: [{ upstream: "broken", model: "m" }] } } } },
      },
    });
    const error = await expectFailure(await app.post(CHAT, chatBody({ stream })), "internal", "internal_error");
    assert(!error.message.includes("user"));
    const line = formatLogLine(app.logs[0]!);
    assertMatch(JSON.parse(line).cause, /^RangeError at .*handle_test\.ts/);
    assert(!line.includes("The words"));
  }
});

Deno.test("a wire that fails amid a stream breaks it off, gives its place back, and is logged", async () => {
  const failing = protocols.map((protocol) =>
    protocol.operation !== "generate" ? protocol : {
      ...protocol,
      stream: {
        framing: "sse" as const,
        writer: () => ({
          write(event: GenerateEvent, emit: Emit<Frame>) {
            if (event.type !== "start") throw new RangeError("The words of the user");
            emit({ data: "{}" });
          },
        }),
      },
    }
  );
  const app = newApp({
    config: { ...CONFIG, limits: { concurrentRequests: 1 } },
    plugins: { protocols: failing },
  });
  for (let time = 1; time <= 2; time++) {
    const response = await app.post(CHAT, chatBody({ model: "sandbox", stream: true }));
    assertEquals(response.status, 200);
    await assertRejects(() => response.text(), Error, "was cut off");
    assertEquals(app.logs.length, time);
    const line = formatLogLine(app.logs.at(-1)!);
    assertEquals(JSON.parse(line).error, "internal");
    assertMatch(JSON.parse(line).cause, /^RangeError at .*handle_test\.ts/);
  }
});
