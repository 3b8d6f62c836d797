/** Upstreams to which callers bring a token of their own: it goes there and nowhere else, and opens nothing else. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { TASKS } from "../../src/canonical/models.ts";
import type { Catalog } from "../../src/contract/catalog.ts";
import { formatLogLine } from "../../src/observe/log.ts";
import { chatBody, type ConfigInput, ENV, newApp, type TestApp } from "../support/app.ts";
import { ENDPOINTS, payloadOf, serveAll, TURNS } from "../support/endpoints.ts";
import { type Asked, fakeUpstream } from "../support/fake_upstream.ts";

const TOKEN = "hf_of_the_caller_123";
const BRINGS = { authorization: `Bearer ${TOKEN}` };
const REMOTE: Deno.NetAddr = { transport: "tcp", hostname: "203.0.113.7", port: 50_000 };

/** Models of every task at an upstream that takes tokens (`own-`), and at the gateway's own ones. */
function modelsAt(prefix: string, upstreams: readonly string[]) {
  return Object.fromEntries(
    TASKS.map((task) => [
      `${prefix}-${task}`,
      { task, targets: upstreams.map((upstream) => ({ upstream, model: "org/model" })) },
    ]),
  );
}

const CONFIG = {
  upstreams: {
    own: { driver: "chat", baseUrl: "http://own.test/v1", secret: "client", counter: "input_tokens" },
    house: {
      driver: "chat",
      baseUrl: "http://house.test/v1",
      secret: { env: "UPSTREAM_SECRET" },
      counter: "input_tokens",
    },
    private: { driver: "chat", baseUrl: "http://private.test/v1", counter: "input_tokens" },
    sandbox: { driver: "sandbox" },
  },
  catalogs: { list: { plugin: "list", baseUrl: "http://list.test", secret: { env: "GUEST_KEY" } } },
  lanes: {
    oss: {
      models: {
        ...modelsAt("own", ["own"]),
        ...modelsAt("house", ["house"]),
        ...modelsAt("private", ["private"]),
        ...modelsAt("both", ["own", "house"]),
        sandbox: { task: "chat", targets: [{ upstream: "sandbox", model: "sandbox" }] },
      },
    },
    listed: { catalog: "list", upstreams: { chat: "own" } },
  },
} satisfies ConfigInput;

const LOCKED: ConfigInput = { ...CONFIG, keys: [{ name: "team", secret: { env: "TEAM_KEY" } }] };

const list: Catalog = {
  name: "list",
  listing: () => [{ path: "models" }],
  parseListing: () => [{ id: "org/listed", task: "chat", created: 1, ownedBy: "org" }],
};

const VERSION = { "anthropic-version": "2023-06-01" };

/** Every way to have something run, or counted, at the upstream of a model. */
const REQUESTS: typeof ENDPOINTS = {
  ...ENDPOINTS,
  "counted tokens": (modelFor) => ({
    path: "/oss/v1/messages/count_tokens",
    body: { model: modelFor("chat"), messages: TURNS },
  }),
};

function newUpstreams(answer: (asked: Asked) => Response = serveAll) {
  return fakeUpstream((asked) => asked.url.host === "list.test" ? Response.json([]) : answer(asked));
}

/** From another machine, as all requests here. */
async function send(
  app: TestApp,
  name: string,
  at: string,
  headers: Record<string, string> = BRINGS,
): Promise<{ status: number; text: string; headers: Headers }> {
  const request = REQUESTS[name]!((task) => `${at}-${task}`);
  return await ask(app, request.path, { method: "POST", headers, body: payloadOf(request) });
}

async function ask(app: TestApp, path: string, init: RequestInit) {
  const response = await app.fetch(new Request(`http://gateway${path}`, init), { remoteAddr: REMOTE });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

function assertHidden(app: TestApp, ...answers: { text: string; headers: Headers }[]): void {
  for (const { text, headers } of answers) {
    const all = text + JSON.stringify([...headers]);
    assert(!all.includes(TOKEN) && !all.includes(ENV.UPSTREAM_SECRET!), all);
  }
  for (const line of app.logs.map(formatLogLine)) assert(!line.includes(TOKEN), line);
}

for (const name of Object.keys(REQUESTS)) {
  Deno.test(`${name}: the caller's own token goes to the upstream that takes it`, async () => {
    for (
      const [config, headers] of [
        [CONFIG, BRINGS],
        [CONFIG, { "x-api-key": TOKEN }],
        [LOCKED, { ...BRINGS, "x-api-key": ENV.TEAM_KEY! }],
      ] as const
    ) {
      const upstream = newUpstreams();
      const app = newApp({ config, fetch: upstream.fetch, plugins: { catalogs: [list] } });
      const answer = await send(app, name, "own", headers);
      assertEquals(answer.status, 200, answer.text);
      assertEquals(upstream.asked.map(({ url, headers }) => [url.host, headers.get("authorization")]), [
        ["own.test", `Bearer ${TOKEN}`],
      ]);
      assert(!JSON.stringify([...upstream.asked[0]!.headers]).includes(ENV.TEAM_KEY!));
      assertHidden(app, answer);
    }
  });

  Deno.test(`${name}: a stranger reaches nothing that is the gateway's own`, async () => {
    for (const place of ["house", "private"]) {
      const upstream = newUpstreams();
      const app = newApp({ config: CONFIG, fetch: upstream.fetch, plugins: { catalogs: [list] } });
      for (const more of [{}, { "x-laneway-explain": "true" }] as Record<string, string>[]) {
        const answer = await send(app, name, place, { ...BRINGS, ...more });
        assertEquals(answer.status, 403, answer.text);
        assert(!answer.text.includes(`${place}.test`), answer.text);
      }
      assertEquals(upstream.asked, []);
    }
  });

  Deno.test(`${name}: a token does not follow a request to the next target, and opens none`, async () => {
    const failing = ({ url, ...asked }: Asked) =>
      url.host === "own.test" ? new Response("no", { status: 500 }) : serveAll({ url, ...asked });
    const run = async (config: ConfigInput, headers: Record<string, string>) => {
      const upstream = newUpstreams(failing);
      const app = newApp({ config, fetch: upstream.fetch, plugins: { catalogs: [list] } });
      const answer = await send(app, name, "both", headers);
      assertHidden(app, answer);
      const others = upstream.asked.filter(({ url }) => url.host !== "own.test");
      for (const { headers } of others) assertEquals(headers.get("authorization"), `Bearer ${ENV.UPSTREAM_SECRET}`);
      return { status: answer.status, others: others.length };
    };
    const keyed = await run(LOCKED, { ...BRINGS, "x-api-key": ENV.TEAM_KEY! });
    // A count that cannot be had is estimated.
    assertEquals(keyed, { status: 200, others: name === "counted tokens" ? 0 : 1 });
    const stranger = await run(CONFIG, BRINGS);
    assertEquals(stranger.others, 0);
    assertEquals(stranger.status, name === "counted tokens" ? 200 : 502);
  });
}

Deno.test("a token that the upstream refuses is refused in the caller's protocol", async () => {
  const echo = () => Response.json({ error: { message: `Invalid token ${TOKEN}` } }, { status: 401 });
  const app = newApp({ config: CONFIG, fetch: newUpstreams(echo).fetch, plugins: { catalogs: [list] } });
  for (const name of ["chat", "chat, streamed", "messages", "responses", "embeddings", "speech", "transcription"]) {
    const answer = await send(app, name, "own", { ...BRINGS, ...VERSION });
    const { error } = JSON.parse(answer.text);
    assertEquals([answer.status, error.type], [401, "authentication_error"], name);
    assertStringIncludes(error.message, "The upstream refused your token");
    assertEquals(answer.headers.get("x-should-retry"), "false");
    assertHidden(app, answer);
  }
});

Deno.test("a token that the upstream quotes is told nobody, not even in pieces", async () => {
  for (const name of Object.keys(REQUESTS)) {
    for (const padding of [0, 480]) {
      const quote = ({ headers }: Asked) => `${"a".repeat(padding)} ${headers.get("authorization")} ${"b".repeat(500)}`;
      const upstream = newUpstreams((asked) => Response.json({ error: { message: quote(asked) } }, { status: 422 }));
      const app = newApp({ config: CONFIG, fetch: upstream.fetch, plugins: { catalogs: [list] } });
      const answer = await send(app, name, "own");
      assertHidden(app, answer);
      assert(!answer.text.includes(TOKEN.slice(0, 10)), answer.text);
    }
  }
});

Deno.test("who brings no token to an upstream that takes one is told so", async () => {
  const upstream = newUpstreams();
  const app = newApp({ config: LOCKED, fetch: upstream.fetch, plugins: { catalogs: [list] } });
  const keys: Record<string, string>[] = [{ "x-api-key": ENV.TEAM_KEY! }, { authorization: `Bearer ${ENV.TEAM_KEY}` }];
  for (const headers of keys) {
    const answer = await send(app, "chat", "own", headers);
    assertEquals(answer.status, 401);
    assertStringIncludes(answer.text, "takes the caller's own token");
  }
  assertEquals(upstream.asked, []);
  // Where others may call with a token, a call with nothing is not from this machine.
  const open = newApp({ config: CONFIG, fetch: upstream.fetch, plugins: { catalogs: [list] } });
  assertEquals((await send(open, "chat", "sandbox", {})).status, 401);
});

Deno.test("a token is not sent where a redirect leads, and the catalog gets its own secret", async () => {
  const moved = () => new Response(null, { status: 307, headers: { location: "http://elsewhere.test/" } });
  const upstream = newUpstreams(moved);
  const app = newApp({ config: CONFIG, fetch: upstream.fetch, plugins: { catalogs: [list] } });
  const body = JSON.stringify(chatBody({ model: "org/listed" }));
  await ask(app, "/listed/v1/chat/completions", { method: "POST", headers: BRINGS, body });
  const seen = upstream.asked.map(({ url, headers }) => [url.host, headers.get("authorization")]);
  assertEquals(seen, [["list.test", `Bearer ${ENV.GUEST_KEY}`], ["own.test", `Bearer ${TOKEN}`]]);
});

Deno.test("what would be asked is shown without the token", async () => {
  const app = newApp({ config: CONFIG, plugins: { catalogs: [list] } });
  const answer = await send(app, "chat", "own", { ...BRINGS, "x-laneway-explain": "true" });
  assertEquals(JSON.parse(answer.text).targets[0].requests[0].headers.authorization, "Bearer ***");
  assertHidden(app, answer);
});

Deno.test("what one token stored is nothing to another", async () => {
  const app = newApp({ config: CONFIG, fetch: newUpstreams().fetch, plugins: { catalogs: [list] } });
  const { id } = JSON.parse((await send(app, "responses", "own")).text);
  const other = { authorization: "Bearer hf_of_another" };
  const path = `/oss/v1/responses/${id}`;
  assertEquals((await ask(app, path, { headers: BRINGS })).status, 200);
  assertEquals((await ask(app, path, { headers: other })).status, 404);
  assertEquals((await ask(app, `${path}/input_items`, { headers: other })).status, 404);
  assertEquals((await ask(app, path, { method: "DELETE", headers: other })).status, 404);
  const body = JSON.stringify({ model: "own-chat", input: "More", previous_response_id: id });
  const follow = (headers: Record<string, string>) => ask(app, "/oss/v1/responses", { method: "POST", headers, body });
  assertEquals((await follow(other)).status, 400);
  assertEquals((await follow(BRINGS)).status, 200);
});

Deno.test("what a token sealed opens for no other", async () => {
  const thinking = () =>
    Response.json({
      object: "chat.completion",
      choices: [{
        index: 0,
        message: { role: "assistant", content: "one", reasoning_content: "a thought" },
        finish_reason: "stop",
      }],
    });
  const upstream = newUpstreams(thinking);
  const app = newApp({ config: CONFIG, fetch: upstream.fetch, plugins: { catalogs: [list] } });
  const first = JSON.parse((await send(app, "messages", "own", { ...BRINGS, ...VERSION })).text);
  const messages = [...TURNS, { role: "assistant", content: first.content }, ...TURNS];
  const follow = async (headers: Record<string, string>) => {
    const body = JSON.stringify({ model: "own-chat", max_tokens: 9, messages });
    const { headers: answered } = await ask(app, "/oss/v1/messages", { method: "POST", headers, body });
    return answered.get("x-laneway-notes") ?? "";
  };
  assertEquals(first.content[0].type, "thinking");
  const mine = await follow({ ...BRINGS, ...VERSION });
  const others = await follow({ authorization: "Bearer hf_of_another", ...VERSION });
  assert(mine !== others, `${mine} · ${others}`);
});

Deno.test("one caller's refused token does not put the upstream to rest for the others", async () => {
  const judge = (asked: Asked) =>
    asked.headers.get("authorization") === `Bearer ${TOKEN}` || asked.url.host !== "own.test"
      ? serveAll(asked)
      : new Response("no", { status: 500 });
  const upstream = newUpstreams(judge);
  const app = newApp({ config: LOCKED, fetch: upstream.fetch, plugins: { catalogs: [list] } });
  const guest = newApp({ config: CONFIG, fetch: upstream.fetch, plugins: { catalogs: [list] }, after: app });
  for (let time = 0; time < 6; time++) await send(guest, "chat", "both", { authorization: "Bearer hf_of_another" });
  upstream.asked.length = 0;
  assertEquals((await send(app, "chat", "both", { ...BRINGS, "x-api-key": ENV.TEAM_KEY! })).status, 200);
  assertEquals(upstream.asked.map(({ url }) => url.host), ["own.test"]);
});

Deno.test("one caller's refused token does not keep the others from being told an exact count", async () => {
  const judge = (asked: Asked) =>
    asked.headers.get("authorization") === `Bearer ${TOKEN}` ? serveAll(asked) : new Response("no", { status: 401 });
  const app = newApp({ config: CONFIG, fetch: newUpstreams(judge).fetch, plugins: { catalogs: [list] } });
  const count = async (token: string, content: string) => {
    const body = JSON.stringify({ model: "own-chat", messages: [{ role: "user", content }] });
    const headers = { authorization: `Bearer ${token}` };
    const { text } = await ask(app, "/oss/v1/messages/count_tokens", { method: "POST", headers, body });
    return JSON.parse(text).input_tokens;
  };
  await count("hf_of_another", "One");
  assertEquals(await count(TOKEN, "Two"), 7);
});
