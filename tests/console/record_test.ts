/** What is recorded of requests, as the console is given it. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import process from "node:process";
import { yieldToEventLoop } from "../../src/util/sliced_work.ts";
import { turnsDuring } from "../support/turns.ts";
import {
  CHAT,
  chatBody,
  CONFIG,
  type ConfigInput,
  ENV,
  newApp,
  type TestApp,
  type TestAppOptions,
  TWO_UPSTREAMS,
} from "../support/app.ts";
import { newHostedRig } from "../support/hosted_rig.ts";
import { ANSWER, answerStream, answerWhole, ENDING, word } from "../support/chat.ts";

const RECORD = { console: { record: {} } } satisfies ConfigInput;
const MESSAGES = "/oss/v1/messages";
const messagesBody = (more: object = {}) => ({
  model: "model",
  max_tokens: 100,
  messages: [{ role: "user", content: "Hello" }],
  ...more,
});

const recorder = (options: TestAppOptions = {}) =>
  newApp({
    fetch: () => Promise.resolve(answerWhole()),
    ...options,
    config: { ...CONFIG, ...RECORD, ...options.config },
  });

// deno-lint-ignore no-explicit-any -- what a page gets is looked into here and there
async function latest(app: TestApp, headers: HeadersInit = {}): Promise<any> {
  const list = await (await app.get("/console/api/records", headers)).json();
  const [{ id }] = list.data;
  return await (await app.get(`/console/api/record?id=${id}`, headers)).json();
}

Deno.test("record: what the client sent, what the upstream got and answered, and what the client got", async () => {
  const app = recorder();
  const body = messagesBody({ top_k: 5 });
  const response = await app.post(MESSAGES, body, { "user-agent": "agent/1.0" });
  const text = await response.text();
  const { client, calls, answer, entry } = await latest(app);
  assertEquals([client.method, client.path, client.body.text], ["POST", MESSAGES, JSON.stringify(body)]);
  assert(client.headers.some(([name, value]: string[]) => name === "user-agent" && value === "agent/1.0"));
  const [call] = calls;
  assertEquals(calls.length, 1);
  assertEquals([call.target, call.reason, call.method, call.status], ["fake/org/model", "first", "POST", 200]);
  assertEquals(call.url, "http://upstream.test/v1/chat/completions");
  assertEquals(JSON.parse(call.body.text).model, "org/model");
  assertEquals(JSON.parse(call.answer.text), ANSWER);
  assertEquals([answer.status, answer.body.text], [200, text]);
  assertEquals(entry.notes, response.headers.get("x-laneway-notes")?.split("; ") ?? undefined);
});

Deno.test("record: an answer is the same, recorded or not", async () => {
  const bodies = [chatBody(), chatBody({ stream: true }), chatBody({ model: "none" }), "{"];
  const stream = () => answerStream([word("one "), word("two"), ENDING]);
  for (const body of bodies) {
    const isStream = typeof body === "object" && body.stream;
    const fetch = () => Promise.resolve(isStream ? stream() : answerWhole());
    const [plain, recorded] = [newApp({ fetch }), recorder({ fetch })];
    const answers = await Promise.all([plain, recorded].map((app) => app.post(CHAT, body)));
    const [one, other] = await Promise.all(answers.map(async (answer) => ({
      status: answer.status,
      headers: [...answer.headers],
      text: await answer.text(),
    })));
    assertEquals(other, one);
    assertEquals((await latest(recorded)).answer.body.text, one!.text);
  }
});

Deno.test("record: the raw bytes of a stream, on both sides", async () => {
  const frames = [word("one "), ": a comment\n\n", word("two"), ENDING];
  const app = recorder({ fetch: () => Promise.resolve(answerStream(frames)) });
  const text = await (await app.post(MESSAGES, messagesBody({ stream: true }))).text();
  const { calls: [call], answer, id } = await latest(app);
  assertEquals(call.answer.text, frames.join(""));
  assertEquals(answer.body.text, text);
  const saved = await app.get(`/console/api/record/text?id=${id}&part=call.0.answer`);
  assertEquals(await saved.text(), frames.join(""));
  assertStringIncludes(saved.headers.get("content-disposition")!, "attachment");
  assertEquals((await app.get(`/console/api/record/text?id=${id}&part=call.7.answer`)).status, 404);
});

Deno.test("record: each target that was asked, why, and what came of it", async () => {
  const fetch = (input: Request | URL | string) =>
    Promise.resolve(
      String(input instanceof Request ? input.url : input).includes("first")
        ? Response.json({ error: { message: "out of order" } }, { status: 500 })
        : answerWhole(),
    );
  const app = recorder({ config: { ...TWO_UPSTREAMS, ...RECORD }, fetch });
  for (let tries = 0; tries < 20; tries++) {
    await (await app.post(CHAT, chatBody({ user: `user ${tries}` }))).text();
    const { calls, events } = await latest(app);
    if (calls.length < 2) continue;
    assertEquals(calls.map(({ target, reason, status }: Record<string, unknown>) => [target, reason, status]), [
      ["first/org/model", "first", 500],
      ["second/org/model", "failover", 200],
    ]);
    assertStringIncludes(calls[0].answer.text, "out of order");
    assertEquals(events.map(({ what, name, detail }: Record<string, unknown>) => [what, name, detail]), [
      ["failed", "first/org/model", "upstream_error"],
      ["served", "second/org/model", undefined],
    ]);
    return;
  }
  throw new Error("The failing upstream was never asked first");
});

Deno.test("record: no secret of the gateway, its callers or their tools is shown", async () => {
  const app = recorder({
    config: {
      ...RECORD,
      keys: [{ name: "ops", secret: { env: "TEAM_KEY" }, operator: true }],
    },
    fetch: () => Promise.resolve(answerWhole(`You sent ${ENV.UPSTREAM_SECRET}`)),
  });
  const ops = { "x-api-key": ENV.TEAM_KEY! };
  const tools = [
    {
      type: "mcp",
      server_label: "s",
      server_url: "http://mcp.test",
      authorization: "tools-own-secret",
      headers: { "x-mine": "another-secret" },
    },
    {
      type: "function",
      name: "f",
      parameters: { type: "object", properties: { token: { description: "stays as it is" } } },
    },
  ];
  const input = `My key is ${ENV.TEAM_KEY}, and yours?`;
  await (await app.post("/oss/v1/responses", { model: "model", input, tools }, ops)).text();
  await (await app.post(MESSAGES, messagesBody({ system: ENV.TEAM_KEY }), { authorization: `Bearer ${ENV.TEAM_KEY}` }))
    .text();
  const { data } = await (await app.get("/console/api/records", ops)).json();
  assertEquals(data.length, 2);
  for (const { id } of data) {
    const pages = [
      "record?id=",
      "record/text?part=request&id=",
      "record/text?part=call.0.request&id=",
      "record/text?part=answer&id=",
    ];
    for (const page of pages) {
      const text = await (await app.get(`/console/api/${page}${id}`, ops)).text();
      for (const secret of [...Object.values(ENV), "tools-own-secret", "another-secret"]) {
        assert(!text.includes(secret), `${page} shows ${secret}`);
      }
    }
  }
  const { client } = await (await app.get(`/console/api/record?id=${data[1].id}`, ops)).json();
  assertStringIncludes(client.body.text, "stays as it is");
  assertEquals((await app.get("/console/api/records")).status, 401);
});

/** Each letter by its number. */
const spelled = (text: string) =>
  text.replaceAll(/./g, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`);

Deno.test("record: a secret is hidden however JSON spells it, where a text is cut off, and in addresses and heads", async () => {
  const text = JSON.stringify(ANSWER).replace(/"content":"[^"]*"/, `"content":"${spelled(ENV.UPSTREAM_SECRET!)}"`);
  const app = recorder({
    config: { ...RECORD, keys: [{ name: "ops", secret: { env: "TEAM_KEY" }, operator: true }] },
    fetch: () => Promise.resolve(new Response(text, { headers: { "content-type": "application/json" } })),
  });
  const ops = { "x-api-key": ENV.TEAM_KEY! };
  await (await app.post(CHAT, chatBody({ user: "\u00e9" }), { ...ops, "cf-access-jwt-assertion": "signed-by-proxy" }))
    .text();
  await (await app.post(CHAT, `{"model":"model","messages":[],"user":"${spelled(ENV.TEAM_KEY!)}"}`, ops)).text();
  const tool = `{"type":"mcp","server_label":"s","server_url":"https://me:in-address@mcp.test/?api_key=in-query"`;
  const before = `{"model":"model","tools":[${tool}}],"input":"`;
  const last = `","text":{},"mcp_servers":[{"authorization":"cut-off-on-the-page`;
  const input = "x".repeat(262_144 - before.length - last.length);
  await (await app.post("/oss/v1/responses", `${before}${input}${last}-and-kept"}]}`, ops)).text();
  const { data } = await (await app.get("/console/api/records", ops)).json();
  assertEquals(data.length, 3);
  const pages = ["record?id=", "record/understood?id=", "record/answer?id=", "record/text?part=request&id="];
  const secrets = [...Object.values(ENV), ...Object.values(ENV).map(spelled)];
  for (const { id } of data) {
    for (const page of [...pages, "record/text?part=call.0.answer&id="]) {
      const shown = await (await app.get(`/console/api/${page}${id}`, ops)).text();
      for (const secret of [...secrets, "cut-off", "in-address", "in-query", "signed-by-proxy"]) {
        assert(!shown.includes(secret), `${page} shows ${secret}`);
      }
    }
  }
});

/** A request with tools of other servers, and as many credentials for each. */
const withServers = (servers: number, credentials: number) => ({
  model: "model",
  input: "Hello",
  tools: Array.from({ length: servers }, (_, server) => ({
    type: "mcp",
    server_label: `s${server}`,
    server_url: `http://mcp.test/${server}`,
    headers: Object.fromEntries(
      Array.from({ length: credentials }, (_, index) => [`x-${index}`, `own-secret-${server}-${index}`]),
    ),
  })),
});

async function withManyServers(servers: number, credentials: number): Promise<{ app: TestApp; id: string }> {
  const app = recorder();
  await (await app.post("/oss/v1/responses", withServers(servers, credentials))).text();
  const { data: [{ id }] } = await (await app.get("/console/api/records")).json();
  return { app, id };
}

const LOOKS = ["record?id=", "record/understood?id=", "record/answer?id=", "record/text?part=request&id="];

Deno.test("record: a request with thousands of credentials costs one pass over its texts to look at or to explain", async () => {
  const { app, id } = await withManyServers(500, 11);
  // Of this thread alone: other files are tested in the same process.
  const before = process.threadCpuUsage();
  const texts = await Promise.all(LOOKS.map(async (page) => await (await app.get(`/console/api/${page}${id}`)).text()));
  const explain = { "x-laneway-explain": "true" };
  texts.push(await (await app.post("/oss/v1/responses", withServers(500, 11), explain)).text());
  const { user, system } = process.threadCpuUsage(before);
  for (const text of texts) assert(!text.includes("own-secret"));
  assert(user + system < 2_000_000, `${user + system} µs of CPU`);
});

Deno.test("record: nobody's thread is held while secrets are hidden, and it ends once the operator has left", async () => {
  const { app, id } = await withManyServers(20, 10);
  for (const page of LOOKS) {
    const look = (signal?: AbortSignal) =>
      app.fetch(new Request(`http://gateway/console/api/${page}${id}`, { signal })).then((one) => one.text());
    const whole = await turnsDuring(() => look());
    assert(whole >= 200, `${page}: ${whole} turns`);
    const left = new AbortController();
    const cut = await turnsDuring(async () => {
      const looked = look(left.signal).catch(() => {});
      for (let turn = 0; turn < 20; turn++) await yieldToEventLoop();
      left.abort();
      await looked;
    });
    assert(cut < whole / 2, `${page}: ${cut} of ${whole} turns`);
  }
});

Deno.test("record: a server that does not list its models keeps nobody from looking at recordings", async () => {
  const listed = Promise.withResolvers<Response>();
  const app = recorder({
    fetch: (url) => url.endsWith("/models") ? listed.promise : Promise.resolve(answerWhole()),
    config: { lanes: { ...CONFIG.lanes, all: { upstreams: { chat: "fake" } } } },
  });
  await (await app.post(MESSAGES, messagesBody())).text();
  const models = app.get("/console/api/models");
  const first = Promise.race([models.then(() => "models"), latest(app).then(() => "record")]);
  assertEquals(await first, "record");
  listed.resolve(Response.json({ data: [{ id: "org/model" }] }));
  const { data } = await (await models).json();
  assert(data.some(({ lane, id }: { lane: string; id: string }) => lane === "all" && id === "org/model"));
});

Deno.test("record: a request with more credentials than can be hidden is not shown", async () => {
  const { app, id } = await withManyServers(40, 1);
  const long = { ...withServers(1, 1), tools: [{ type: "mcp", authorization: "long-secret-".repeat(180_000) }] };
  await (await app.post("/oss/v1/responses", long)).text();
  const { data } = await (await app.get("/console/api/records")).json();
  for (const page of LOOKS) {
    const answers = await Promise.all(
      [data[0].id, id].map(async (one) => await (await app.get(`/console/api/${page}${one}`)).text()),
    );
    assertStringIncludes(answers[0]!, "too many to hide them all");
    assert(!answers.some((one) => one.includes("-secret-")));
  }
});

Deno.test("record: a body that is nested too deep for the gateway can be looked at", async () => {
  const app = recorder();
  await (await app.post(CHAT, `{"model":"model","deep":${"[".repeat(50_000)}${"]".repeat(50_000)}}`)).text();
  const { client, answer } = await latest(app);
  assertEquals([client.body.bytes > 100_000, answer.status], [true, 400]);
});

Deno.test("record: a turn of a WebSocket has its status in the list", async () => {
  const app = recorder({ fetch: () => Promise.resolve(answerStream([word("one"), ENDING])) });
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    (request, info) => app.fetch(request, info),
  );
  const socket = new WebSocket(`ws://127.0.0.1:${server.addr.port}/oss/v1/responses`);
  const { promise: closed, resolve } = Promise.withResolvers<unknown>();
  socket.onopen = () => socket.send(JSON.stringify({ type: "response.create", model: "model", input: "Hello" }));
  socket.onmessage = ({ data }) => JSON.parse(data).type === "response.completed" && socket.close();
  socket.onclose = resolve;
  await closed;
  const { data: [{ path, status }] } = await (await app.get("/console/api/records")).json();
  assertEquals([path, status], ["/oss/v1/responses", 200]);
});

Deno.test("record: how long a call waited for its turn at a busy upstream", async () => {
  let time = 1_000;
  const held = Promise.withResolvers<Response>();
  const asked = Promise.withResolvers<void>();
  let calls = 0;
  const upstreams = {
    fake: { ...CONFIG.upstreams!.fake!, concurrency: { running: 1, waiting: 5 } },
  } as ConfigInput["upstreams"];
  const app = recorder({
    now: () => time,
    config: { ...CONFIG, ...RECORD, upstreams },
    fetch() {
      if (++calls > 1) return Promise.resolve(answerWhole());
      asked.resolve();
      return held.promise;
    },
  });
  const first = app.post(CHAT, chatBody());
  await asked.promise;
  const second = app.post(CHAT, chatBody());
  const waiting = async () => (await (await app.get("/status")).json()).upstreams[0].waiting;
  while (await waiting() !== 1) await yieldToEventLoop();
  time += 250;
  held.resolve(answerWhole());
  for (const response of await Promise.all([first, second])) await response.text();
  const { data } = await (await app.get("/console/api/records")).json();
  const events = await Promise.all(
    data.map(async ({ id }: { id: string }) => (await (await app.get(`/console/api/record?id=${id}`)).json()).events),
  );
  const waited = events.flat().filter(({ what }) => what === "queued");
  assertEquals(waited, [{ at: 250, from: 0, what: "queued", name: "fake/org/model" }]);
});

Deno.test("record: nothing is kept where it is not asked for, and no more than is asked for", async () => {
  const off = newApp({ fetch: () => Promise.resolve(answerWhole()) });
  await (await off.post(CHAT, chatBody())).text();
  assertEquals(await (await off.get("/console/api/records")).json(), { bytes: 0, passed: 0, data: [] });
  assertEquals((await off.get("/console/api/record?id=req_1")).status, 404);
  const two = recorder({ config: { console: { record: { requests: 2, perMinute: 3 } } } });
  for (const user of ["a", "b", "c", "d"]) await (await two.post(CHAT, chatBody({ user }))).text();
  const { data, bounds, passed } = await (await two.get("/console/api/records")).json();
  assertEquals([data.length, bounds, passed], [2, { requests: 2, megabytes: 64, perMinute: 3 }, 1]);
  assertStringIncludes((await latest(two)).client.body.text, '"user":"c"');
  await (await two.post(`/console/call${CHAT}`, chatBody({ user: "e" }))).text();
  assertStringIncludes((await latest(two)).client.body.text, '"user":"e"', "What an operator sends from there");
});

Deno.test("record: what the gateway understood of the request, and of each answer", async () => {
  const frames = [word("one "), word("two"), ENDING];
  const isStreams = [false, true];
  for (const stream of isStreams) {
    const app = recorder({ fetch: () => Promise.resolve(stream ? answerStream(frames) : answerWhole("one two")) });
    const tools = [{ name: "a.b", input_schema: { type: "object" } }];
    const body = messagesBody({ stream, tools, top_k: 5, service_tier: "auto" });
    const sent = await app.post(MESSAGES, body);
    await sent.text();
    const { id, calls: [call] } = await latest(app);
    const { data } = await (await app.get("/console/api/records")).json();
    const { input, explanation, calls, problem } = await (await app.get(`/console/api/record/understood?id=${id}`))
      .json();
    assertEquals(problem, undefined);
    assertEquals([input.topK, input.tools[0].name], [5, "a.b"]);
    const [target] = explanation.value.targets;
    assertEquals(target.requests[0].body, JSON.parse(call.body.text));
    assertEquals(target.steps[0].changes[0].before, "a.b");
    assertEquals(calls[0].isAsExplained, true);
    assertEquals(calls[0].answer.output.content, [{ type: "text", text: "one two" }]);
    assertEquals(
      (await (await app.get("/console/api/records")).json()).data.length,
      data.length,
      "Nothing is recorded anew",
    );
  }
});

Deno.test("record: what an upstream refused is understood as an error, and what was learnt from it shows", async () => {
  let asked = 0;
  const refusal = { error: { message: "Unsupported parameter: 'top_k'", param: "top_k" } };
  const app = recorder({
    fetch: () => Promise.resolve(asked++ === 0 ? Response.json(refusal, { status: 400 }) : answerWhole()),
  });
  await (await app.post(MESSAGES, messagesBody({ top_k: 5 }))).text();
  const { id, calls } = await latest(app);
  assertEquals(calls.map(({ status }: { status: number }) => status), [400, 200]);
  const understood = await (await app.get(`/console/api/record/understood?id=${id}`)).json();
  assertStringIncludes(understood.calls[0].answer.error.message, "top_k");
  assertEquals(understood.calls.map(({ isAsExplained }: { isAsExplained: boolean }) => isAsExplained), [false, true]);
});

Deno.test("record: what a call adds to the request because of an earlier answer is no difference of today", async () => {
  const { app } = newHostedRig({
    rounds: [['web_search{"query":"oslo"}'], ["Rain"]],
    config: { console: { record: {} } },
  });
  const tools = [{ type: "web_search_20250305", name: "web_search" }];
  await (await app.post(MESSAGES, messagesBody({ tools }))).text();
  const { id, calls } = await latest(app);
  assertEquals(calls.map(({ isFollowUp }: { isFollowUp?: boolean }) => isFollowUp), [undefined, true]);
  const understood = await (await app.get(`/console/api/record/understood?id=${id}`)).json();
  assertEquals(understood.calls.map(({ isAsExplained }: { isAsExplained?: boolean }) => isAsExplained), [
    true,
    undefined,
  ]);
});

Deno.test("record: a request of which not all is kept cannot be explained, and says so", async () => {
  const app = recorder({ config: { console: { record: { megabytes: 1 } } } });
  const messages = [{ role: "user", content: "x".repeat(200_000) }];
  await (await app.post(MESSAGES, messagesBody({ messages }))).text();
  const { id, client } = await latest(app);
  assertEquals([client.body.kept, client.body.bytes > 200_000], [125_000, true]);
  const { problem, explanation } = await (await app.get(`/console/api/record/understood?id=${id}`)).json();
  assertEquals([problem, explanation.problem], Array(2).fill("The body was not kept in full"));
});
