/** What the console's pages are given, and who is. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { CHAT, chatBody, CONFIG, type ConfigInput, ENV, newApp, NOW, type TestApp } from "../support/app.ts";
import { createMemoryStore } from "../../src/state/memory_store.ts";
import type { Store } from "../../src/state/store.ts";
import { answerWhole } from "../support/chat.ts";
import { fakeUpstream } from "../support/fake_upstream.ts";

const KEYED: ConfigInput = {
  ...CONFIG,
  keys: [
    { name: "ops", secret: { env: "TEAM_KEY" }, operator: true },
    { name: "anna", secret: { env: "GUEST_KEY" } },
  ],
};
const [OPS, ANNA] = [ENV.TEAM_KEY!, ENV.GUEST_KEY!];
const FILES = [...filesIn("")].map((name) => name === "index.html" ? "" : name);

function* filesIn(folder: string): Generator<string> {
  for (const { name, isFile } of Deno.readDirSync(new URL(`../../src/console/${folder}`, import.meta.url))) {
    if (isFile) yield folder + name;
    else yield* filesIn(`${folder}${name}/`);
  }
}

/** The modules that a module of the console loads, as the browser finds them. */
function importsOf(name: string, text: string): string[] {
  const found = text.matchAll(/(?:\bfrom|\bimport)\s*\(?\s*["']([^"'`]+)["']/g);
  return [...found].map(([, specifier]) => new URL(specifier!, `http://gateway/console/${name}`).pathname);
}

const keyed = () => newApp({ config: KEYED, fetch: () => Promise.resolve(answerWhole()) });

async function logIn(app: TestApp, key: string, headers: HeadersInit = {}): Promise<Response> {
  return await app.fetch(new Request("http://gateway/console/login", { method: "POST", body: key, headers }));
}

async function cookieOf(app: TestApp): Promise<string> {
  const response = await logIn(app, OPS, { origin: "http://gateway" });
  assertEquals(response.status, 204);
  return response.headers.get("set-cookie")!.split(";")[0]!;
}

Deno.test("console: its files load nothing from elsewhere, and let nothing else run", async () => {
  const app = keyed();
  const loaded = new Set<string>();
  for (const name of FILES) {
    const response = await app.get(`/console/${name}`);
    assertEquals(response.status, 200, name);
    const policy = response.headers.get("content-security-policy")!;
    for (const part of ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'"]) {
      assertStringIncludes(policy, part);
    }
    assert(!policy.includes("unsafe"));
    const text = await response.text();
    if (name.endsWith(".js")) importsOf(name, text).forEach((path) => loaded.add(path));
    assert(!/https?:\/\/(?!www\.w3\.org)/.test(text), `${name} names another host`);
    assert(!/innerHTML|insertAdjacentHTML|document\.write|eval\(/i.test(text), name);
  }
  const libraries = [...loaded].filter((path) => path.startsWith("/console/lib/"));
  for (const path of libraries) {
    const text = await (await app.get(path)).text();
    importsOf(path.slice("/console/".length), text).forEach((found) => loaded.add(found));
  }
  for (const path of loaded) {
    const response = await app.get(path);
    assertEquals(response.status, 200, path);
    assert(!/\beval\(|new Function\(|sourceMappingURL/.test(await response.text()), path);
  }
  assertEquals((await app.get("/console")).headers.get("location"), "console/", "Also below a proxy's path");
  for (const path of ["../gateway.default.json", "%2e%2e/gateway.default.json", "__proto__", "constructor"]) {
    assert([401, 404].includes((await app.get(`/console/${path}`)).status), path);
  }
  assertEquals((await app.get("/console/nothing.js")).status, 404);
});

Deno.test("console: the page names all that its first view needs, so that nothing waits for anything else", async () => {
  const app = keyed();
  const page = await (await app.get("/console/")).text();
  const linked = (kind: string) =>
    [...page.matchAll(new RegExp(`<link rel="${kind}" href="([^"]+)">`, "g"))].map(([, to]) => to!);
  const [style, ...others] = linked("stylesheet");
  assertEquals(others, []);
  const css = await (await app.get(`/console/${style}`)).text();
  for (const name of FILES.filter((name) => name.endsWith(".css"))) {
    assertStringIncludes(css, await (await app.get(`/console/${name}`)).text(), name);
  }
  const modules = linked("modulepreload");
  for (const needed of ["app.js", "live.js", "lib/preact.js"]) assert(modules.includes(needed), needed);
  for (const name of modules) {
    const text = await (await app.get(`/console/${name}`)).text();
    // A module that is imported later is loaded by `import()`.
    for (const path of importsOf(name, text.replace(/\bimport\s*\(/g, "later("))) {
      assert(modules.includes(path.slice("/console/".length)), `${name} imports ${path}`);
    }
  }
});

Deno.test("console: comments are not sent, but for licences, and each line keeps its number", async () => {
  const app = keyed();
  for (const name of FILES.filter((name) => name.endsWith(".js"))) {
    const own = (await Deno.readTextFile(new URL(`../../src/console/${name}`, import.meta.url))).split("\n");
    const sent = (await (await app.get(`/console/${name}`)).text()).split("\n");
    assertEquals(sent.length, own.length, name);
    const others = sent.flatMap((line, index) =>
      line === own[index] || /from "|import\("/.test(line) ? [] : [own[index]!.trim()]
    );
    for (const line of others) assertMatch(line, /^(\/\*\*|\*|[^`]*\*\/$)/, `${name} has lost a line`);
    assert(name === "design/icons.js" || !sent.some((line) => /^\s*\/\*\*(?!.*\*\/.)/.test(line)), name);
  }
  assertStringIncludes(await (await app.get("/console/design/icons.js")).text(), "ISC License. Copyright");
});

const AT_ROOT = /^__Host-laneway_console=\w+; Secure; HttpOnly; Max-Age=43200; SameSite=Strict; Path=\/$/;
const OVER_HTTPS = /^laneway_console=\w+; Secure; HttpOnly; Max-Age=43200; SameSite=Strict$/;

/** How a browser says where the console's page is, and the cookie that it gets there. */
const REACHED: readonly [what: string, headers: Record<string, string>, cookie: RegExp][] = [
  ["over plain HTTP", { origin: "http://gateway" }, /^laneway_console=\w+; HttpOnly; Max-Age=43200; SameSite=Strict$/],
  ["behind a proxy that says so", { "x-forwarded-proto": "https" }, OVER_HTTPS],
  ["behind two proxies", { "x-forwarded-proto": "HTTPS, http" }, OVER_HTTPS],
  ["by its origin alone", { origin: "https://gateway" }, OVER_HTTPS],
  [
    "at the root of its host",
    { origin: "https://gateway", referer: "https://gateway/console/" },
    AT_ROOT,
  ],
  [
    "at the root of its host, by what the browser says of the page",
    { "sec-fetch-site": "same-origin", referer: "https://gateway/console" },
    AT_ROOT,
  ],
  [
    "below a path",
    { origin: "https://gateway", referer: "https://gateway/ai/console/" },
    OVER_HTTPS,
  ],
];

for (const [what, headers, expected] of REACHED) {
  Deno.test(`console: the cookie goes over HTTPS alone where the browser has it from there · ${what}`, async () => {
    const app = keyed();
    const cookie = (await logIn(app, OPS, headers)).headers.get("set-cookie")!;
    assertMatch(cookie, expected);
    const mine = { cookie: `other=1; ${cookie.split(";")[0]!}` };
    assertEquals((await app.get("/console/api/status", mine)).status, 200);
    const out = new Request("http://gateway/console/logout", { method: "POST", headers: { ...mine, ...headers } });
    const gone = (await app.fetch(out)).headers.get("set-cookie")!;
    assertEquals(gone.split("=")[0], cookie.split("=")[0]);
    assertEquals((await app.get("/console/api/status", mine)).status, 401);
  });
}

Deno.test("console: of two gateways on one host each finds its own cookie", async () => {
  const app = keyed();
  const cookie = await cookieOf(app);
  const both = `__Host-laneway_console=${"0".repeat(64)}; ${cookie}`;
  assertEquals((await app.get("/console/api/status", { cookie: both })).status, 200);
});

/** What else may stand in the header where the gateway's cookie is `$`. */
const COOKIES: readonly (readonly [what: string, header: string])[] = [
  ["without a space between them", "theme=dark;$;size=2"],
  ["with more space than there should be", "theme=dark ;\t  $ ; size=2"],
  ["in quotes", '$"'],
  ["with an end that is empty", "theme=dark; $;"],
  ["beside what has no name", "=dark; $; ;=1"],
  ["before one of the same name, for a path above", `$; laneway_console=${"0".repeat(64)}`],
  ["beside one that names what objects have", "__proto__=1; constructor=2; $"],
];

for (const [what, header] of COOKIES) {
  Deno.test(`console: its cookie is found · ${what}`, async () => {
    const app = keyed();
    const own = await cookieOf(app);
    const cookie = header.replace("$", what === "in quotes" ? own.replace("=", '="') : own);
    assertEquals((await app.get("/console/api/status", { cookie })).status, 200, cookie);
  });
}

Deno.test("console: what is no cookie of it opens nothing", async () => {
  const app = keyed();
  const own = await cookieOf(app);
  const others = [`x${own}`, `${own}0`, own.toUpperCase(), `other=${own}`, `\xa0${own}`];
  for (const cookie of ["", ";", "=", "laneway_console", ...others]) {
    assertEquals((await app.get("/console/api/status", { cookie })).status, 401, cookie);
  }
});

Deno.test("console: an operator's key opens it, by a cookie that no script reads and no other site sends", async () => {
  const app = keyed();
  for (const path of ["live", "status", "usage", "keys", "nothing", "constructor", "__proto__"]) {
    assertEquals((await app.get(`/console/api/${path}`)).status, 401, path);
    assertEquals((await app.get(`/console/api/${path}`, { "x-api-key": ANNA })).status, 403, path);
  }
  assertEquals((await logIn(app, "wrong")).status, 401);
  assertEquals((await logIn(app, ANNA)).status, 403);
  assertEquals((await logIn(app, "x".repeat(100_000))).status, 401);
  assertEquals((await logIn(app, "line\nbreak")).status, 401);
  const response = await logIn(app, `${OPS}\n`, { origin: "http://gateway" });
  const cookie = response.headers.get("set-cookie")!;
  for (const part of ["HttpOnly", "SameSite=Strict"]) assertStringIncludes(cookie, part);
  assert(!cookie.includes("Path"), "A proxy may serve it below a path: it is for what is beside the page");
  assert(!cookie.includes(OPS) && !cookie.includes("Secure"));
  const behindTls = await logIn(app, OPS, { "x-forwarded-proto": "https" });
  assertStringIncludes(behindTls.headers.get("set-cookie")!, "; Secure");
  const mine = { cookie: cookie.split(";")[0]! };
  assertEquals((await app.get("/console/api/status", mine)).status, 200);
  for (const name of ["nothing", "constructor", "toString", "__proto__"]) {
    assertEquals((await app.get(`/console/api/${name}`, mine)).status, 404, name);
  }
  assertEquals((await app.get("/metrics", mine)).status, 401, "The cookie opens the console alone");
  await app.fetch(new Request("http://gateway/console/logout", { method: "POST", headers: mine }));
  assertEquals((await app.get("/console/api/status", mine)).status, 401);
});

Deno.test("console: orders of other sites are refused, and orders are posted", async () => {
  const app = keyed();
  for (const [name, value] of [["origin", "http://evil.test"], ["origin", "null"], ["sec-fetch-site", "cross-site"]]) {
    assertEquals((await logIn(app, OPS, [[name!, value!]])).status, 403, `${name}: ${value}`);
  }
  const forged = { origin: "http://gateway", "sec-fetch-site": "same-site" };
  assertEquals((await logIn(app, OPS, forged)).status, 403, "The browser knows better");
  const proxied = { origin: "https://public.test", "sec-fetch-site": "same-origin" };
  assertEquals((await logIn(app, OPS, proxied)).status, 204, "A proxy may ask by another name than the browser");
  assertEquals((await app.get("/console/login")).status, 405);
  assertEquals((await app.fetch(new Request("http://gateway/console/api/live", { method: "POST" }))).status, 405);
});

Deno.test("console: a key that never ends holds no connection", async () => {
  const app = keyed();
  const cancelled = Promise.withResolvers<void>();
  const body = new ReadableStream({ cancel: () => cancelled.resolve() });
  const { setTimeout: wait } = globalThis;
  // No test waits as long as the console does.
  globalThis.setTimeout = ((run: () => void) => wait(run, 0)) as typeof wait;
  try {
    const answer = app.fetch(new Request("http://gateway/console/login", { method: "POST", body }));
    assertEquals((await answer).status, 401);
    await cancelled.promise;
  } finally {
    globalThis.setTimeout = wait;
  }
});

Deno.test("console: of a key that is too long no more is read than its limit", async () => {
  const app = keyed();
  let [pieces, isCancelled] = [0, false];
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      pieces++;
      controller.enqueue(new Uint8Array(1_000));
    },
    cancel: () => void (isCancelled = true),
  });
  const request = new Request("http://gateway/console/login", { method: "POST", body });
  assertEquals((await app.fetch(request)).status, 401);
  assertEquals([pieces < 15, isCancelled], [true, true], `${pieces} pieces`);
});

Deno.test("console: a key whose connection is lost is no wrong one", async () => {
  const app = keyed();
  const body = new ReadableStream({ pull: () => Promise.reject(new TypeError("connection reset")) });
  const request = new Request("http://gateway/console/login", { method: "POST", body });
  assertEquals((await app.fetch(request)).status, 500);
});

Deno.test("console: its operator asks any model as any caller does, and pays for it", async () => {
  const app = newApp({
    config: {
      ...KEYED,
      keys: [{ name: "ops", secret: { env: "TEAM_KEY" }, operator: true, quota: { requestsPerMinute: 1 } }],
    },
    fetch: () => Promise.resolve(answerWhole()),
  });
  const own = { cookie: await cookieOf(app), "sec-fetch-site": "same-origin" };
  const models = await (await app.get("/console/api/models", own)).json();
  assertEquals(models.data[0], { lane: "oss", id: "model", task: "chat" });
  const path = `/console/call${CHAT}`;
  for (const site of ["cross-site", "same-site", "none"]) {
    assertEquals((await app.post(path, chatBody(), { ...own, "sec-fetch-site": site })).status, 403, site);
  }
  assertEquals(
    (await app.post(path, chatBody(), { "sec-fetch-site": "same-origin" })).status,
    401,
    "Without a session",
  );
  assertEquals((await app.post(path, chatBody(), { "x-api-key": ANNA })).status, 401, "By no other key");
  for (const inner of ["/console/api/status", "/console", "//evil.test/"]) {
    assertEquals((await app.get(`/console/call${inner}`, own)).status, 404, inner);
  }
  const upgrade = { upgrade: "websocket", connection: "upgrade", "sec-websocket-key": "aGVsbG8gd29ybGQhIQ==" };
  const socket = await app.get("/console/call/oss/v1/responses", { ...own, ...upgrade, "sec-websocket-version": "13" });
  assertEquals(socket.status, 426, "A connection that is upgraded is not the request that stands for it");
  const answer = await app.post(path, chatBody(), own);
  assertEquals([answer.status, answer.headers.get("x-laneway-target")], [200, "fake/org/model"]);
  assertEquals((await answer.json()).object, "chat.completion");
  const { key, path: logged, model } = app.logs.at(-1)!;
  assertEquals([key, logged, model], ["ops", CHAT, "model"]);
  assertEquals((await app.post(path, chatBody(), own)).status, 429, "The key's own limits hold");
  const logout = await app.fetch(new Request("http://gateway/console/logout", { method: "POST", headers: own }));
  assertEquals([logout.status, (await app.post(path, chatBody(), own)).status], [204, 401]);
});

Deno.test("console: a session ends after half a day", async () => {
  let now = 1_800_000_000_000;
  const app = newApp({ config: KEYED, now: () => now });
  const cookie = await cookieOf(app);
  now += 12 * 3_600_000 - 1;
  assertEquals((await app.get("/console/api/status", { cookie })).status, 200);
  now += 1;
  assertEquals((await app.get("/console/api/status", { cookie })).status, 401);
});

Deno.test("console: every process on a store knows a session, also anew, and while the store fails those that it has seen", async () => {
  const kept = createMemoryStore({ now: () => NOW, limitBytes: 1_000_000 });
  let fails = false;
  const failing = (): Promise<never> => Promise.reject(new Error("The store is down"));
  const store: Store = {
    ...kept,
    get: (...args) => fails ? failing() : kept.get(...args),
    add: (...args) => fails ? failing() : kept.add(...args),
    delete: (...args) => fails ? failing() : kept.delete(...args),
  };
  const [one, other] = [newApp({ config: KEYED, store }), newApp({ config: KEYED, store })];
  const cookie = await cookieOf(one);
  const status = async (app: TestApp) => (await app.get("/console/api/status", { cookie })).status;
  assertEquals([await status(one), await status(other)], [200, 200]);
  const without = newApp({ config: { ...KEYED, keys: [KEYED.keys![1]!] }, store });
  assertEquals(await status(without), 401, "A key that is gone opens nothing");
  fails = true;
  assertEquals([await status(one), await status(other), await status(newApp({ config: KEYED, store }))], [
    200,
    200,
    401,
  ]);
  const alone = await cookieOf(one);
  assertEquals((await one.get("/console/api/status", { cookie: alone })).status, 200, "Who logs in meanwhile");
  const logOut = () =>
    other.fetch(new Request("http://gateway/console/logout", { method: "POST", headers: { cookie } }));
  assertEquals((await logOut()).status, 503);
  fails = false;
  assertEquals((await logOut()).status, 204);
  assertEquals([await status(one), await status(other)], [401, 401], "Who logs out does so everywhere");
});

Deno.test("console: what is kept of a session opens nothing, neither the console nor the gateway", async () => {
  const kept = createMemoryStore({ now: () => NOW, limitBytes: 1_000_000 });
  const added: string[] = [];
  const store: Store = {
    ...kept,
    add(entries, expiresAt) {
      added.push(JSON.stringify(entries));
      return kept.add(entries, expiresAt);
    },
  };
  const app = newApp({ config: KEYED, store });
  const cookie = await cookieOf(app);
  const record = added.find((text) => text.includes("session"))!;
  assert(!record.includes(OPS) && !record.includes(cookie.split("=")[1]!));
  for (const word of record.match(/[0-9a-f]{64}/g)!) {
    assertEquals((await app.get("/console/api/status", { cookie: `laneway_console=${word}` })).status, 401);
  }
});

Deno.test("console: without keys this machine needs no session", async () => {
  const app = newApp();
  const response = await logIn(app, "anything");
  assertEquals([response.status, response.headers.get("set-cookie")], [204, null]);
  assertEquals((await app.get("/console/api/status")).status, 200);
});

Deno.test("console: what runs and what ended is shown, without content and without what was seen already", async () => {
  const answer = Promise.withResolvers<Response>();
  const app = newApp({ config: KEYED, fetch: () => answer.promise });
  const headers = { cookie: await cookieOf(app) };
  const secret = "what the client says";
  const running = app.post(CHAT, chatBody({ messages: [{ role: "user", content: secret }] }), {
    "x-api-key": ANNA,
    "user-agent": "agent/1.0",
  });
  const { feed: own } = await (await app.get("/console/api/live", headers)).json();
  const look = async (since = 0, feed = own) =>
    await (await app.get(`/console/api/live?feed=${feed}&since=${since}`, headers)).json();
  let seen = await look();
  while (seen.running[0]?.target === undefined) seen = await look();
  const [one] = seen.running;
  assertEquals([one.key, one.lane, one.model, one.client], ["anna", "oss", chatBody().model, "agent/1.0"]);
  answer.resolve(answerWhole());
  await (await running).text();
  seen = await look();
  assertEquals([seen.running, seen.ended.length, seen.next], [[], 1, 1]);
  assertEquals([seen.ended[0].status, seen.ended[0].client, seen.ended[0].key], [200, "agent/1.0", "anna"]);
  assert(!JSON.stringify(seen).includes(secret));
  assertEquals((await look(seen.next)).ended, []);
  assertEquals((await look(-5)).ended.length, 1);
  assertEquals((await look(seen.next, "another process's")).ended.length, 1, "Its numbers say nothing here");
});

Deno.test("console: a completion, a thread and a request for files are told from conversations", async () => {
  const config = {
    ...KEYED,
    upstreams: { ...CONFIG.upstreams, fake: { ...CONFIG.upstreams.fake, completions: "plain" } },
  };
  const upstream = fakeUpstream(({ url }) =>
    url.pathname.endsWith("/chat/completions")
      ? answerWhole()
      : Response.json({ choices: [{ index: 0, text: "b", finish_reason: "stop" }] })
  );
  const app = newApp({ config: config as ConfigInput, fetch: upstream.fetch });
  const cookie = { cookie: await cookieOf(app) };
  const headers = { "x-api-key": ANNA };
  const turn = { ...chatBody(), max_tokens: 9, thread: { type: "create" } };
  for (
    const ask of [
      () => app.post(CHAT, chatBody(), headers),
      () => app.post("/oss/v1/completions", { model: "model", prompt: "a" }, headers),
      () => app.post("/oss/v1/messages", turn, { ...headers, "anthropic-version": "2023-06-01" }),
      () => app.get("/oss/v1/files", headers),
      () => app.get("/oss/v1/models", headers),
    ]
  ) await (await ask()).text();
  const { ended } = await (await app.get("/console/api/live", cookie)).json();
  const seen = ended.map((
    { status, kind, operation, thread }: Record<string, unknown>,
  ) => [status, kind, operation, thread]);
  assertEquals(seen, [
    [200, undefined, undefined, undefined],
    [200, "complete", undefined, undefined],
    [200, "thread", undefined, undefined],
    [200, "files", "files", undefined],
    [200, "listModels", "listModels", undefined],
  ]);
  assertEquals(app.logs.map(({ thread }) => thread), [undefined, undefined, true, undefined, undefined]);
});

Deno.test("console: a refused request has the client that sent it", async () => {
  const app = newApp({ config: KEYED });
  const headers = { cookie: await cookieOf(app) };
  const refused = await app.post(CHAT, chatBody(), { "x-api-key": "wrong", "user-agent": "agent/1.0" });
  await refused.body?.cancel();
  const { ended, running } = await (await app.get("/console/api/live", headers)).json();
  assertEquals([running, ended[0].status, ended[0].client], [[], 401, "agent/1.0"]);
});

Deno.test("console: with false there is none", async () => {
  const app = newApp({ config: { ...CONFIG, console: false } });
  for (const path of ["/console", "/console/", "/console/api/live"]) {
    assertEquals((await app.get(path)).status, 404, path);
  }
});
