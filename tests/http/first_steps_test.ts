/** What meets somebody who has just set the gateway up: addresses and names that are nearly right, and its page. */
import { assert, assertEquals, assertFalse, assertMatch, assertStringIncludes } from "@std/assert";
import process from "node:process";
import { protocols } from "../../plugins/mod.ts";
import { similarNames } from "../../src/lanes/similar.ts";
import { runSliced, runUnsliced } from "../../src/util/sliced_work.ts";
import { chatBody, type ConfigInput, ENV, newApp, type TestApp } from "../support/app.ts";
import { turnsDuring } from "../support/turns.ts";

const sandbox = { task: "chat" as const, targets: [{ upstream: "sandbox", model: "sandbox" }] };
const KEYS: ConfigInput["keys"] = [
  { name: "team", secret: { env: "TEAM_KEY" } },
  { name: "guest", secret: { env: "GUEST_KEY" }, lanes: ["small"], models: ["gpt-oss-20b"] },
];
const CONFIG: ConfigInput = {
  upstreams: { sandbox: { driver: "sandbox" }, fake: { driver: "chat", baseUrl: "http://upstream.test/v1" } },
  lanes: {
    oss: { models: { "gpt-oss-120b": sandbox, "gpt-oss-20b": sandbox, "zai-org/GLM-5.3": sandbox } },
    small: { models: { "gpt-oss-20b": sandbox, "gpt-oss-200b": sandbox } },
  },
};

const TEAM = { authorization: `Bearer ${ENV.TEAM_KEY}` };
const GUEST = { authorization: `Bearer ${ENV.GUEST_KEY}` };

async function ask(app: TestApp, path: string, method: string, headers: HeadersInit = {}) {
  const body = method === "POST" ? "{}" : undefined;
  const response = await app.fetch(new Request(`http://gateway${path}`, { method, headers, body }));
  const text = await response.text();
  return { status: response.status, text, message: text.startsWith("{") ? JSON.parse(text).error?.message : undefined };
}

// Paths

/** A path of each endpoint that stands below a lane, and of none that is served without one, too. */
const PATHS = protocols.flatMap(({ method, pattern: { pathname }, name }) => {
  const path = pathname.replace("/:lane", "").replace(/:id(\(.\+\))?/g, "some-id").replace("\\:", ":");
  const isServed = protocols.some(({ pattern }) => pattern.test({ pathname: path }));
  return pathname.startsWith("/:lane/v1") && !isServed ? [{ name, method, path }] : [];
});

for (const { name, method, path } of PATHS) {
  Deno.test(`paths: ${name} without its lane or version, or with two versions, is told the whole path and the lanes`, async () => {
    const app = newApp({ config: CONFIG });
    const [, withoutVersion] = /^\/v1(?:beta)?(\/.*)/.exec(path)!;
    const forms = [
      [path, `/oss${path}`],
      [withoutVersion!, `/oss/v1${withoutVersion}`],
      [`/small${withoutVersion}`, `/small/v1${withoutVersion}`],
      [`/small/v1${path}`, `/small${path}`],
    ] as const;
    for (const [asked, meant] of forms) {
      const { status, message } = await ask(app, asked, method);
      assertEquals(status, 404, asked);
      assertEquals(message, `Cannot find the path "${asked}": use "${meant}". The lanes are "oss", "small"`);
    }
  });
}

Deno.test("paths: the error has the shape of the protocol whose clients ask so, also before they are let in", async () => {
  for (const keys of [[], KEYS]) {
    const app = newApp({ config: { ...CONFIG, keys } });
    assertEquals(JSON.parse((await ask(app, "/v1/messages", "POST")).text).type, "error");
    assertEquals(Object.keys(JSON.parse((await ask(app, "/v1/chat/completions", "POST")).text)), ["error"]);
  }
});

Deno.test("paths: a key is told of the lanes that it opens", async () => {
  const app = newApp({ config: { ...CONFIG, keys: KEYS } });
  for (const path of ["/v1/chat/completions", "/oss/chat/completions"]) {
    const { message } = await ask(app, path, "POST", GUEST);
    assertEquals(message, `Cannot find the path "${path}": use "/small/v1/chat/completions". The lanes are "small"`);
  }
});

Deno.test("paths: what is like no endpoint is not guessed at", async () => {
  const app = newApp({ config: CONFIG });
  for (const path of ["/favicon.ico", "/v2/chat/completions", "/v1", "/oss", "/oss/v1", "//"]) {
    const { status, message } = await ask(app, path, "GET");
    assertEquals([status, message], [404, `Cannot find the path "${path}"`]);
  }
});

// Names

const CHAT = "/oss/v1/chat/completions";

Deno.test("names: one that is nearly right is told what it may have meant, on every protocol", async () => {
  const app = newApp({ config: CONFIG });
  const wrong = "gpt-oss-120";
  const bodies: [path: string, body: object][] = [
    [CHAT, chatBody({ model: wrong })],
    [CHAT, chatBody({ model: wrong, stream: true })],
    ["/oss/v1/messages", { model: wrong, max_tokens: 9, messages: [{ role: "user", content: "Hello" }] }],
    ["/oss/v1/responses", { model: wrong, input: "Hello" }],
  ];
  for (const [path, body] of bodies) {
    const response = await app.post(path, body);
    const { error } = await response.json();
    assertEquals(response.status, 404);
    assertEquals(
      error.message,
      `Cannot find model "${wrong}" in lane "oss". Did you mean "gpt-oss-120b" or "gpt-oss-20b"?`,
    );
  }
  const { message } = await ask(app, "/oss/v1/models/glm-5.3", "GET");
  assertMatch(message, /Did you mean "zai-org\/GLM-5\.3"\?$/);
  const far = await app.post(CHAT, chatBody({ model: "entirely-else" }));
  assertFalse((await far.json()).error.message.includes("Did you mean"));
});

Deno.test("names: a key is told of no model that it may not ask for", async () => {
  const app = newApp({ config: { ...CONFIG, keys: KEYS } });
  const guest = await app.post("/small/v1/chat/completions", chatBody({ model: "gpt-oss-200" }), GUEST);
  const { error } = await guest.json();
  assertEquals([guest.status, error.message], [
    403,
    'This key is not allowed to use model "gpt-oss-200". Did you mean "gpt-oss-20b"?',
  ]);
  const team = await app.post("/small/v1/chat/completions", chatBody({ model: "gpt-oss-200" }), TEAM);
  assertStringIncludes((await team.json()).error.message, '"gpt-oss-200b"');
});

Deno.test("names: an upstream that does not know a model is no reason not to tell which ones there are", async () => {
  const app = newApp({
    config: { ...CONFIG, lanes: { oss: { ...CONFIG.lanes!.oss, upstreams: { chat: "fake" } } } },
    fetch: () =>
      Promise.resolve(
        Response.json({ error: { message: "The model does not exist.", code: "model_not_found" } }, { status: 404 }),
      ),
  });
  const response = await app.post(CHAT, chatBody({ model: "gpt-oss-12b" }));
  assertEquals(
    (await response.json()).error.message,
    'The model does not exist. Did you mean "gpt-oss-120b" or "gpt-oss-20b"?',
  );
});

Deno.test("names: of many that are misspelt at once, each is looked for in turns of its own", async () => {
  const app = newApp({ config: CONFIG });
  const many = Array.from({ length: 20 });
  let turns = 0;
  let timer = setTimeout(function turn() {
    turns++;
    timer = setTimeout(turn);
  });
  await Promise.all(many.map(async () => await (await app.post(CHAT, chatBody({ model: "gpt-oss-12b" }))).text()));
  clearTimeout(timer);
  assert(turns >= many.length / 2, `${turns} turns`);
});

Deno.test("names: the nearest come first, at most three", () => {
  const similar = (wanted: string, names: string[]) => runUnsliced(similarNames(wanted, names));
  assertEquals(similar("GLM-5.3", ["zai-org/GLM-5.2", "zai-org/GLM-5.3", "x/y"]), [
    "zai-org/GLM-5.3",
    "zai-org/GLM-5.2",
  ]);
  assertEquals(similar("org/model:fastest", ["org/model"]), ["org/model"]);
  assertEquals(similar("ab", ["cd", "abcd"]), []);
  assertEquals(similar("x".repeat(100_000), ["x".repeat(100_001)]), []);
});

Deno.test("names: of the longest list and the longest names each costs little, and others have their turns", async () => {
  const body = "some-long-model-name-".repeat(5);
  const many = Array.from({ length: 20_000 }, (_, index) => `organisation/${body}${index}b`);
  // Of this thread alone: other files are tested in the same process.
  const before = process.threadCpuUsage();
  const found = runUnsliced(similarNames(`organisation/${body}1234`, many));
  const { user } = process.threadCpuUsage(before);
  assert(user < 600_000, `${user} µs of CPU`);
  assertEquals(found.length, 3);
  const turns = await turnsDuring(() => runSliced(similarNames("nothing-like-it", many)));
  assert(turns >= 50, `${turns} turns`);
});

// The page

const BROWSER = { accept: "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8" };

Deno.test("page: a browser is shown one, and programs are told the same as ever", async () => {
  const app = newApp({ config: CONFIG });
  const page = await app.get("/", BROWSER);
  assertEquals(page.headers.get("content-type"), "text/html; charset=utf-8");
  const text = await page.text();
  assertStringIncludes(text, "http://gateway/oss/v1");
  for (const accept of ["*/*", "application/json", "text/html;q=0, application/json", ""]) {
    const response = await app.get("/", { accept });
    const { name, lanes } = await response.json();
    assertEquals([name, lanes], ["laneway", ["oss", "small"]], accept);
  }
  const head = await app.fetch(new Request("http://gateway/", { method: "HEAD", headers: BROWSER }));
  assertEquals([head.status, await head.text()], [200, ""]);
});

const [PAGE, JSON_TEXT] = ["text/html; charset=utf-8", "application/json"];
const WANTED: readonly [accept: string, type: string][] = [
  ["application/json, text/html;q=0.5", JSON_TEXT],
  ["text/html;q=0.5, application/json;q=0.4", PAGE],
  ["text/html, */*", PAGE],
  ["text/*", PAGE],
  ["TEXT/HTML", PAGE],
  ["*/*;q=0.8, text/html;q=0.1", JSON_TEXT],
  ["image/png", JSON_TEXT],
  ["text/html;q=many", JSON_TEXT],
  ["a/b,".repeat(16_000), JSON_TEXT],
];

for (const [accept, type] of WANTED) {
  Deno.test(`page: a client is shown what it would rather have · ${accept.slice(0, 60)}`, async () => {
    const response = await newApp({ config: CONFIG }).get("/", { accept });
    assertEquals([response.headers.get("content-type"), response.headers.get("vary")], [type, "accept"]);
    await response.body?.cancel();
  });
}

Deno.test("page: it runs nothing, loads nothing and holds nothing of the request but its address, escaped", async () => {
  const lanes = { 'a<b>"&': CONFIG.lanes!.oss!, oss: CONFIG.lanes!.oss! };
  const config = { ...CONFIG, lanes } as ConfigInput;
  let app: TestApp;
  try {
    app = newApp({ config });
  } catch {
    app = newApp({ config: CONFIG }); // Such a name is refused before it could be shown.
  }
  const response = await app.get("/?x=<script>alert(1)</script>", BROWSER);
  const text = await response.text();
  assertFalse(/<script|<img|<link|javascript:|\son\w+=|https?:\/\/(?!gateway)/i.test(text), text);
  const policy = response.headers.get("content-security-policy") ?? "";
  assertMatch(policy, /^default-src 'none'; style-src 'sha256-[\w+/=]+'; /);
  const style = /<style>([^]*)<\/style>/.exec(text)![1]!;
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(style)));
  assertStringIncludes(policy, btoa(String.fromCharCode(...digest)));
  assertEquals(response.headers.get("x-content-type-options"), "nosniff");
});

// What is left of a day

Deno.test("headers: a key with a daily limit sees what is left of it, in the words of each protocol", async () => {
  const quota = { tokensPerDay: 1_000 };
  const app = newApp({ config: { ...CONFIG, keys: [{ name: "team", secret: { env: "TEAM_KEY" }, quota }] } });
  const left: number[] = [];
  for (let turn = 0; turn < 2; turn++) {
    const response = await app.post(CHAT, chatBody({ model: "gpt-oss-20b" }), TEAM);
    await response.text();
    assertEquals(response.headers.get("x-ratelimit-limit-tokens"), "1000");
    assertMatch(response.headers.get("x-ratelimit-reset-tokens") ?? "", /^\d+m\d+s$/);
    left.push(Number(response.headers.get("x-ratelimit-remaining-tokens")));
  }
  assert(left[0]! < 1_000 && left[1]! < left[0]!, String(left));
  const body = { model: "gpt-oss-20b", max_tokens: 9, messages: [{ role: "user", content: "Hello" }] };
  const response = await app.post("/oss/v1/messages", body, TEAM);
  assertEquals(response.headers.get("anthropic-ratelimit-tokens-limit"), "1000");
  assert(Date.parse(response.headers.get("anthropic-ratelimit-tokens-reset") ?? "") > 1_800_000_000_000);
  await app.close();
});

Deno.test("headers: of a limit a minute and one a day, the one is told that leaves less", async () => {
  for (
    const [quota, limit] of [
      [{ tokensPerMinute: 500, tokensPerDay: 100_000 }, "500"],
      [{ tokensPerMinute: 50_000, tokensPerDay: 1_000 }, "1000"],
    ] as const
  ) {
    const app = newApp({ config: { ...CONFIG, keys: [{ name: "team", secret: { env: "TEAM_KEY" }, quota }] } });
    const response = await app.post(CHAT, chatBody({ model: "gpt-oss-20b" }), TEAM);
    assertEquals(response.headers.get("x-ratelimit-limit-tokens"), limit);
    await app.close();
  }
});
