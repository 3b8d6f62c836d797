/** The same conversation goes where it was answered last, through the whole app. */
import { assertEquals } from "@std/assert";
import defaults from "../../gateway.default.json" with { type: "json" };
import { configSchema } from "../../src/config/schema.ts";
import { PATH, type Wire } from "../regressions/support.ts";
import { type ConfigInput, ENV, newApp, NOW, type TestApp, TWO_UPSTREAMS } from "../support/app.ts";
import { answerStream, answerWhole, ENDING, word } from "../support/chat.ts";
import { fakeHub, HOSTS, REFUSALS, TOKEN } from "../support/fake_hub.ts";
import { answerChat } from "../support/fake_hub/router.ts";
import { type Asked, fakeUpstream } from "../support/fake_upstream.ts";

const CONFIG: ConfigInput = {
  keys: [{ name: "team", secret: { env: "TEAM_KEY" } }, { name: "guest", secret: { env: "GUEST_KEY" } }],
  ...TWO_UPSTREAMS,
};

const PATHS = Object.entries(PATH) as [Wire, string][];
const HELLO = [{ role: "user", content: "Hello" }];
const AUTHORIZATION = { authorization: `Bearer ${ENV.TEAM_KEY}` };

/** Two upstreams, of which `down` names those that fail; and who was asked, in order. */
function newPair() {
  const clock = { now: NOW };
  const down = new Set<string>();
  const upstream = fakeUpstream(({ url, body }: Asked) => {
    const name = url.hostname.split(".")[0]!;
    if (down.has(name)) return Response.json({ error: { message: "Overloaded" } }, { status: 503 });
    return JSON.parse(body).stream ? answerStream([word("whole"), ENDING]) : answerWhole();
  });
  const app = newApp({ config: CONFIG, fetch: upstream.fetch, now: () => clock.now });
  const asked = () => upstream.asked.splice(0).map(({ url }) => url.hostname.split(".")[0]);
  return { app, clock, down, asked };
}

async function say(app: TestApp, path: string, more: object = {}, headers: HeadersInit = {}): Promise<Response> {
  const body = { model: "model", max_tokens: 100, messages: HELLO, input: HELLO, ...more };
  const response = await app.post(path, body, { ...AUTHORIZATION, ...headers });
  const text = await response.text();
  assertEquals(response.status, 200, text);
  return response;
}

for (const [wire, path] of PATHS) {
  for (const stream of [false, true]) {
    const mode = stream ? "streamed" : "whole";
    Deno.test(`affinity: a conversation that fell back stays at its second target while that works · ${wire} · ${mode}`, async () => {
      const { app, down, asked } = newPair();
      down.add("first");
      await say(app, path, { stream });
      assertEquals(asked(), ["first", "second"]);
      down.clear();
      const response = await say(app, path, { stream });
      assertEquals([asked(), response.headers.get("x-laneway-target")], [["second"], "second/org/model"]);
      down.add("second");
      await say(app, path, { stream });
      assertEquals(asked(), ["second", "first"]);
      down.clear();
      await say(app, path, { stream });
      assertEquals(asked(), ["first"]);
    });
  }
}

for (const stream of [false, true]) {
  Deno.test(`affinity: what only the chat wire can ask stays at its second target, too · ${stream ? "streamed" : "whole"}`, async () => {
    const { app, down, asked } = newPair();
    down.add("first");
    await say(app, PATH.chat, { n: 2, stream });
    assertEquals(asked(), ["first", "second"]);
    down.clear();
    await say(app, PATH.chat, { n: 2, stream });
    assertEquals(asked(), ["second"]);
  });
}

Deno.test("affinity: a target that failed when nobody answered is not asked first again", async () => {
  const { app, down, asked } = newPair();
  down.add("first");
  await say(app, PATH.chat);
  down.add("second");
  assertEquals((await app.post(PATH.chat, { model: "model", messages: HELLO }, AUTHORIZATION)).status, 503);
  down.clear();
  asked();
  await say(app, PATH.chat);
  assertEquals(asked(), ["first"]);
});

Deno.test("affinity: a target whose stream broke off is not asked first again", async () => {
  const upstream = fakeUpstream(
    () => Response.json({ error: { message: "Overloaded" } }, { status: 503 }),
    () => answerStream([word("whole")], new TypeError("Broken")),
    ({ url }) => answerWhole(url.hostname),
  );
  const app = newApp({ config: CONFIG, fetch: upstream.fetch });
  await say(app, PATH.chat, { stream: true });
  await say(app, PATH.chat);
  assertEquals(upstream.asked.map(({ url }) => url.hostname), ["first.test", "second.test", "first.test"]);
});

Deno.test("affinity: another conversation, or another caller's, is asked in the configured order", async () => {
  const { app, down, asked } = newPair();
  down.add("first");
  await say(app, PATH.chat);
  down.clear();
  asked();
  await say(app, PATH.chat, { messages: [{ role: "user", content: "Good day" }] });
  await say(app, PATH.chat, {}, { authorization: `Bearer ${ENV.GUEST_KEY}` });
  assertEquals(asked(), ["first", "first"]);
});

for (
  const [title, path, more, headers] of [
    ["its cache key", PATH.chat, { prompt_cache_key: "k" }, {}],
    ["its cache key", PATH.responses, { prompt_cache_key: "k" }, {}],
    ["Claude Code's session", PATH.messages, {}, { "x-claude-code-session-id": "s" }],
    ["Codex's session", PATH.responses, {}, { "session-id": "s" }],
    ["opencode's session", PATH.chat, {}, { "x-session-id": "s", "x-session-affinity": "s" }],
    ["opencode's session", PATH.messages, {}, { "x-session-id": "s", "x-session-affinity": "s" }],
  ] as const
) {
  Deno.test(`affinity: a conversation is known by ${title}, however it begins · ${path}`, async () => {
    const { app, down, asked } = newPair();
    down.add("first");
    await say(app, path, more, headers);
    down.clear();
    asked();
    const other = [{ role: "user", content: "The summary of all that was said" }];
    await say(app, path, { ...more, messages: other, input: other }, headers);
    assertEquals(asked(), ["second"]);
  });
}

Deno.test("affinity: a continued response goes where the one before it was answered", async () => {
  const { app, down, asked } = newPair();
  down.add("first");
  const { id } = await app.post(PATH.responses, { model: "model", input: "Hello" }, AUTHORIZATION)
    .then((one) => one.json());
  down.clear();
  asked();
  await say(app, PATH.responses, { previous_response_id: id, input: "Go on" });
  assertEquals(asked(), ["second"]);
});

Deno.test("affinity: after an hour without an answer the configured order counts again", async () => {
  const { app, clock, down, asked } = newPair();
  down.add("first");
  await say(app, PATH.chat);
  down.clear();
  clock.now += 3_600_000;
  asked();
  await say(app, PATH.chat);
  assertEquals(asked(), ["first"]);
});

Deno.test("affinity: a request that is refused for its own fault leaves the conversation where it is", async () => {
  const { app, asked } = newPair();
  const failing = newApp({
    config: CONFIG,
    fetch: fakeUpstream(
      () => Response.json({ error: { message: "Overloaded" } }, { status: 503 }),
      () => answerWhole(),
      () => Response.json({ error: { message: "temperature is too high" } }, { status: 400 }),
      ({ url }) => answerWhole(url.hostname),
    ).fetch,
  });
  await say(failing, PATH.chat);
  assertEquals((await failing.post(PATH.chat, { model: "model", messages: HELLO }, AUTHORIZATION)).status, 400);
  const response = await say(failing, PATH.chat);
  assertEquals(response.headers.get("x-laneway-target"), "second/org/model");
  await say(app, PATH.chat);
  assertEquals(asked(), ["first"]);
});

// The hub's router

/** The router of the default configuration: it would choose `providers` in turn, and is told here who was asked for. */
function newRouter(providers: string[], refuse: (model: string) => Response | undefined = () => undefined) {
  const models: string[] = [];
  const hub = fakeHub({
    instead({ url, body }) {
      if (url.host !== HOSTS.router || !url.pathname.endsWith("/chat/completions")) return undefined;
      const { model } = JSON.parse(body);
      models.push(model);
      return refuse(model);
    },
    chat(asked) {
      const body = JSON.parse(asked.body);
      const [bare, chosen] = String(body.model).split(":");
      const isPolicy = chosen === undefined || ["fastest", "cheapest", "preferred"].includes(chosen);
      const provider = isPolicy ? providers.shift() : chosen;
      return answerChat({ ...asked, body: JSON.stringify({ ...body, model: `${bare}:${provider}` }) });
    },
  });
  const app = newApp({ config: configSchema.parse(defaults), env: { HF_TOKEN: TOKEN }, fetch: hub.fetch });
  // It may still read the router's list, which no answer waits for.
  return { app, models, [Symbol.asyncDispose]: () => app.close() };
}

const GLM = "zai-org/GLM-5.3";
const HF = "/hf/v1/chat/completions";

for (const stream of [false, true]) {
  Deno.test(`affinity: a conversation stays with the provider that the router chose · ${stream ? "streamed" : "whole"}`, async () => {
    await using router = newRouter(["novita", "zai-org"]);
    const { app, models } = router;
    const first = await say(app, HF, { model: GLM, stream });
    assertEquals(first.headers.get("x-laneway-target"), `router/${GLM}; provider=novita`);
    await say(app, HF, { model: GLM, stream });
    await say(app, HF, { model: GLM, stream, messages: [{ role: "user", content: "Another one" }] });
    assertEquals(models, [GLM, `${GLM}:novita`, GLM]);
    assertEquals(app.logs.map(({ target, provider }) => [target, provider]), [
      [`router/${GLM}`, "novita"],
      [`router/${GLM}`, "novita"],
      [`router/${GLM}`, "zai-org"],
    ]);
  });
}

for (
  const [title, refusal] of [
    ["fails", () => Response.json({ error: "Bad gateway" }, { status: 502 })],
    ["is busy", REFUSALS.tooMany],
    ["has the model no more", () => REFUSALS.unknownModel(`${GLM}:novita`)],
    ["refuses the request", () => REFUSALS.unknownField("top_k")],
  ] as const
) {
  Deno.test(`affinity: where the provider ${title}, the router chooses another one, and the conversation moves`, async () => {
    await using router = newRouter(
      ["novita", "zai-org"],
      (model) => model.endsWith(":novita") ? refusal() : undefined,
    );
    const { app, models } = router;
    for (let turn = 0; turn < 3; turn++) await say(app, HF, { model: GLM });
    assertEquals(models, [GLM, `${GLM}:novita`, GLM, `${GLM}:zai-org`]);
  });
}

Deno.test("affinity: a policy gives way to the provider, the client's own choice of one never", async () => {
  await using router = newRouter(["novita"]);
  const { app, models } = router;
  for (const model of [`${GLM}:cheapest`, `${GLM}:cheapest`, `${GLM}:zai-org`, `${GLM}:zai-org`]) {
    await say(app, HF, { model });
  }
  assertEquals(models, [`${GLM}:cheapest`, `${GLM}:novita`, `${GLM}:zai-org`, `${GLM}:zai-org`]);
});

Deno.test("affinity: what a header calls a provider and no provider can be called is not asked for", async () => {
  const upstream = fakeUpstream(() =>
    Response.json({ choices: [{ message: { content: "Hi" }, finish_reason: "stop" }] }, {
      headers: { "x-served-by": "a b/c:d" },
    })
  );
  const app = newApp({
    config: {
      upstreams: { router: { driver: "chat", baseUrl: "http://r.test/v1", providers: { servedBy: "x-served-by" } } },
      lanes: { oss: { upstreams: { chat: "router" } } },
    },
    fetch: upstream.fetch,
  });
  for (let turn = 0; turn < 2; turn++) await say(app, PATH.chat, { model: "org/model" });
  assertEquals(upstream.asked.map(({ body }) => JSON.parse(body).model), ["org/model", "org/model"]);
});

Deno.test("affinity: what would be asked of the conversation's home is told first", async () => {
  await using router = newRouter(["novita"]);
  const { app, models } = router;
  await say(app, HF, { model: GLM });
  const explained = await say(app, HF, { model: GLM }, { "x-laneway-explain": "true" });
  assertEquals([models.length, explained.headers.get("x-laneway-target")], [1, null]);
});
