/** An upstream's secret goes out as its servers expect it, stays out of everything that is shown, and a base URL may have a query. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { configSchema } from "../../src/config/schema.ts";
import { formatLogLine } from "../../src/observe/log.ts";
import { CHAT, chatBody, type ConfigInput, ENV, newApp } from "../support/app.ts";
import { answerWhole } from "../support/chat.ts";
import { type Asked, fakeUpstream } from "../support/fake_upstream.ts";

const SECRET = ENV.UPSTREAM_SECRET!;
const REFERENCE = { env: "UPSTREAM_SECRET" };

type Upstream = NonNullable<ConfigInput["upstreams"]>[string];

function configOf(upstream: Partial<Upstream>): ConfigInput {
  return {
    upstreams: { own: { driver: "chat", baseUrl: "http://own.test/v1", secret: REFERENCE, ...upstream } },
    lanes: {
      oss: { models: { model: { task: "chat", targets: [{ upstream: "own", model: "org/model" }] } } },
      all: { upstreams: { chat: "own" } },
    },
    console: { record: {} },
  };
}

const credentialsIn = ({ headers }: Asked) =>
  Object.fromEntries([...headers].filter(([name, value]) => value.includes(SECRET) || name === "authorization"));

const answerMessages = () =>
  Response.json({ id: "1", type: "message", role: "assistant", model: "m", content: [{ type: "text", text: "Hi" }] });

const PLACES: [name: string, upstream: Partial<Upstream>, credentials: Record<string, string>][] = [
  ["a chat server", {}, { authorization: `Bearer ${SECRET}` }],
  ["a messages server", { driver: "messages" }, { "x-api-key": SECRET }],
  ["a responses server", { driver: "responses" }, { authorization: `Bearer ${SECRET}` }],
  ["a server with a header of its own", { secret: { ...REFERENCE, header: "API-Key" } }, { "api-key": SECRET }],
  [
    "a messages server that expects a bearer token",
    { driver: "messages", secret: { ...REFERENCE, header: "Authorization" } },
    { authorization: `Bearer ${SECRET}` },
  ],
];

for (const [name, own, credentials] of PLACES) {
  Deno.test(`${name} gets the secret once, in its header, with a request and with the list of models`, async () => {
    const upstream = fakeUpstream(({ url }) =>
      url.pathname.endsWith("/models")
        ? Response.json({ data: [{ id: "org/model" }] })
        : own.driver === "messages"
        ? answerMessages()
        : answerWhole()
    );
    const app = newApp({ config: configOf(own), fetch: upstream.fetch });
    await (await app.post(CHAT, chatBody())).text();
    await (await app.get("/all/v1/models")).text();
    assertEquals(upstream.asked.length, 2);
    for (const asked of upstream.asked) assertEquals(credentialsIn(asked), credentials);
    if (own.driver === "messages") assertEquals(upstream.asked[0]!.headers.get("anthropic-version"), "2023-06-01");
  });
}

Deno.test("a caller's own token goes to a messages server as its secret would", async () => {
  const upstream = fakeUpstream(answerMessages);
  const app = newApp({ config: configOf({ driver: "messages", secret: "client" }), fetch: upstream.fetch });
  await (await app.post(CHAT, chatBody(), { authorization: `Bearer ${SECRET}` })).text();
  assertEquals(credentialsIn(upstream.asked[0]!), { "x-api-key": SECRET });
});

// A short secret is hidden for its place alone, because no text is searched for it.
for (const secret of [SECRET, "s3cret"]) {
  const env = { ...ENV, UPSTREAM_SECRET: secret };
  for (const header of ["api-key", "x-subscription"]) {
    const config = configOf({ secret: { ...REFERENCE, header } });

    Deno.test(`${header}: a secret of ${secret.length} characters is in no explanation and no record`, async () => {
      const app = newApp({ config, env, fetch: fakeUpstream(() => answerWhole()).fetch });
      const explained = await (await app.post(CHAT, chatBody(), { "x-laneway-explain": "true" })).text();
      assertEquals(JSON.parse(explained).targets[0].requests[0].headers[header], "***");
      await (await app.post(CHAT, chatBody())).text();
      const { data } = await (await app.get("/console/api/records")).json();
      const record = await (await app.get(`/console/api/record?id=${data[0].id}`)).text();
      assert(record.includes(`["${header}","***"]`), record);
      for (const text of [explained, record, ...app.logs.map(formatLogLine)]) assert(!text.includes(secret), text);
    });
  }
}

Deno.test("a secret in another header is hidden in what an upstream quotes, and follows no redirect", async () => {
  const config = configOf({ secret: { ...REFERENCE, header: "api-key" } });
  const quote = ({ headers }: Asked) =>
    Response.json({ error: { message: `Wrong key ${headers.get("api-key")}` } }, { status: 422 });
  const app = newApp({ config, fetch: fakeUpstream(quote).fetch });
  const text = await (await app.post(CHAT, chatBody())).text();
  assertStringIncludes(text, "Wrong key ***");
  const moved = fakeUpstream(() =>
    new Response(null, { status: 307, headers: { location: "http://elsewhere.test/" } })
  );
  const other = newApp({ config, fetch: moved.fetch });
  await (await other.post(CHAT, chatBody())).text();
  await (await other.get("/all/v1/models")).text();
  assert(moved.asked.length > 0);
  assertEquals(moved.asked.filter(({ url }) => url.host !== "own.test"), []);
});

Deno.test("a secret that cannot be sent is not in the log, which says why", async () => {
  for (const secret of ["two\nlines-1f2e3d", "no\0header-1f2e3d"]) {
    const config = configOf({ secret: { ...REFERENCE, header: "api-key" }, baseUrl: "http://127.0.0.1:1/v1" });
    const app = newApp({ config, env: { ...ENV, UPSTREAM_SECRET: secret }, fetch });
    await (await app.post(CHAT, chatBody())).text();
    const line = formatLogLine(app.logs[0]!);
    assertEquals([JSON.parse(line).cause, line.includes("1f2e3d")], ["Invalid header value", false]);
  }
});

Deno.test("the query of a base URL follows every path", async () => {
  const upstream = fakeUpstream(({ url }) =>
    url.pathname.endsWith("/models") ? Response.json({ data: [{ id: "org/model" }] }) : answerWhole()
  );
  const baseUrl = "http://own.test/openai/deployments/a%20b/?api-version=2024-10-21&x=";
  const app = newApp({ config: configOf({ baseUrl }), fetch: upstream.fetch });
  await (await app.post(CHAT, chatBody())).text();
  await (await app.get("/all/v1/models")).text();
  assertEquals(upstream.asked.map(({ url }) => url.href), [
    "http://own.test/openai/deployments/a%20b/chat/completions?api-version=2024-10-21&x=",
    "http://own.test/openai/deployments/a%20b/models?api-version=2024-10-21&x=",
  ]);
});

Deno.test("a path's own parameters stay, and a redirect within the service repeats none", async () => {
  const upstream = fakeUpstream(({ url }) =>
    url.searchParams.has("after_id")
      ? Response.json({ data: [{ id: "second" }] })
      : url.searchParams.has("moved")
      ? Response.json({ data: [{ id: "first" }], has_more: true, last_id: "first" })
      : new Response(null, { status: 307, headers: { location: `${url.href}&moved=1` } })
  );
  const app = newApp({ config: configOf({ baseUrl: "http://own.test/v1?v=1" }), fetch: upstream.fetch });
  const { data } = await (await app.get("/all/v1/models")).json();
  assertEquals(data.map(({ id }: { id: string }) => id), ["first", "second"]);
  assertEquals(upstream.asked.map(({ url }) => url.search), ["?v=1", "?v=1&moved=1", "?after_id=first&v=1"]);
});

Deno.test("a credential in the query of a base URL is shown nowhere", async () => {
  const config = configOf({ baseUrl: "http://own.test/v1?code=query-secret-1f2e&api-version=1" });
  const quote = ({ url }: Asked) => Response.json({ error: { message: `No model at ${url.href}` } }, { status: 422 });
  const refused = newApp({ config, fetch: fakeUpstream(quote).fetch });
  const texts = [await (await refused.post(CHAT, chatBody())).text()];
  texts.push(await (await refused.post(CHAT, chatBody(), { "x-laneway-explain": "true" })).text());
  assertEquals(
    JSON.parse(texts[1]!).targets[0].requests[0].url,
    "http://own.test/v1/chat/completions?code=***&api-version=1",
  );
  // The platform names the URL that it could not reach.
  const lost = newApp({
    config,
    fetch: (url) => {
      const cause = new Error(`error sending request for url (${url}): client error (Connect)`);
      return Promise.reject(new TypeError("fetch failed", { cause }));
    },
  });
  texts.push(await (await lost.post(CHAT, chatBody())).text());
  for (const app of [refused, lost]) {
    const { data } = await (await app.get("/console/api/records")).json();
    texts.push(await (await app.get(`/console/api/record?id=${data[0].id}`)).text(), ...app.logs.map(formatLogLine));
  }
  assertStringIncludes(texts.at(-1)!, "error sending request for url (http://own.test/v1/chat/completions)");
  for (const text of texts) assert(!text.includes("query-secret-1f2e"), text);
});

Deno.test("what cannot be a base URL or a header is refused", () => {
  const problemsOf = (upstream: object) =>
    configSchema.safeParse({ upstreams: { own: { driver: "chat", ...upstream } } }).error?.issues
      .map(({ path, message }) => `${path.join(".")}: ${message}`) ?? [];
  assertEquals(problemsOf({ baseUrl: "https://own.test/v1?api-version=1" }), []);
  for (const baseUrl of ["https://user:word@own.test/v1?a=1", "https://own.test/v1?a=1#part"]) {
    assertEquals(problemsOf({ baseUrl }), ["upstreams.own.baseUrl: Expected a URL without credentials and fragment"]);
  }
  assertEquals(problemsOf({ secret: { env: "A", header: "api key" } }).length, 1);
  assertEquals(problemsOf({ secret: { env: "A", header: "api-key" } }), []);
});
