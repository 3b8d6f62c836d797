import { assert, assertEquals } from "@std/assert";
import { formatLogLine } from "../../src/observe/log.ts";
import { type ConfigInput, countedBody, ENV, newApp, type TestApp } from "../support/app.ts";
import { fakeUpstream } from "../support/fake_upstream.ts";
import {
  ask,
  bodyFor,
  CONFIG,
  data,
  delta,
  HEADERS,
  HELLO,
  PATH,
  responseOf,
  shortAnswer,
  streamed,
  testEach,
} from "./support.ts";

const LOCKED: ConfigInput = { ...CONFIG, keys: [{ name: "team", secret: { env: "TEAM_KEY" } }] };

testEach("O16", "R79 without a key a body of 30 MB is not read", { modes: ["whole"] }, async (client) => {
  const { init, pulls } = countedBody();
  const response = await newApp({ config: LOCKED }).fetch(new Request(`http://gateway${PATH[client]}`, init));
  assertEquals([response.status, pulls()], [401, 0]);
  await response.body?.cancel();
});

const ODD_KEYS = ["' OR 1=1 --", "%27", "a".repeat(10_000), "(a+)+$", `${ENV.TEAM_KEY}x`, ENV.TEAM_KEY!.slice(0, -1)];

testEach("R79", "a key that is no key is refused, whatever it looks like", { modes: ["whole"] }, async (client) => {
  const app = newApp({ config: LOCKED });
  for (const key of ODD_KEYS) {
    const response = await app.post(PATH[client], bodyFor(client), { authorization: `Bearer ${key}` });
    const text = await response.text();
    assertEquals(response.status, 401);
    assert(!text.includes(key));
  }
});

/** What clients and proxies send that is nobody's business but the gateway's. */
const CREDENTIALS = {
  authorization: `Bearer ${ENV.TEAM_KEY}`,
  "x-api-key": ENV.TEAM_KEY!,
  "api-key": "client-secret",
  "x-goog-api-key": "client-secret",
  "xi-api-key": "client-secret",
  "proxy-authorization": "Basic client-secret",
  cookie: "session=client-secret",
  "x-forwarded-for": "10.1.2.3",
  "x-forwarded-host": "client-secret.example",
  forwarded: "for=10.1.2.3",
  "x-real-ip": "10.1.2.3",
  "x-portkey-custom-host": "http://client-secret.example",
};

testEach("R80", "no credential of the client reaches the upstream", {}, async (client, mode) => {
  const setting = { config: LOCKED, headers: CREDENTIALS };
  const { upstream, status } = await ask(client, bodyFor(client, { stream: mode === "streamed" }), [
    () => responseOf(HELLO, mode),
  ], setting);
  assertEquals(status, 200);
  const { headers } = upstream.asked[0]!;
  assertEquals(headers.get("authorization"), `Bearer ${ENV.UPSTREAM_SECRET}`);
  const sent = [...headers].map((header) => header.join(": ")).join("\n");
  for (const secret of [ENV.TEAM_KEY!, "client-secret", "10.1.2.3"]) assert(!sent.includes(secret), sent);
});

testEach("R80", "no header of the upstream reaches the client", {}, async (client, mode) => {
  const leaks = {
    authorization: "Bearer upstream-leak",
    "x-api-key": "upstream-leak",
    "set-cookie": "session=upstream-leak",
    server: "upstream-leak",
    "x-internal-host": "upstream-leak",
  };
  const { headers, status } = await ask(client, bodyFor(client, { stream: mode === "streamed" }), [() => {
    const response = mode === "streamed" ? streamed(HELLO.frames!, { headers: leaks }) : shortAnswer("chat");
    for (const [name, value] of Object.entries(leaks)) response.headers.set(name, value);
    return response;
  }]);
  assertEquals(status, 200);
  assert(![...headers].some(([, value]) => value.includes("upstream-leak")), JSON.stringify([...headers]));
});

testEach("R80", "a redirect is not followed with the secret", {}, async (client, mode) => {
  const redirects: (string | undefined)[] = [];
  const app: TestApp = newApp({
    config: CONFIG,
    fetch(_url, init) {
      redirects.push(init.redirect);
      return Promise.resolve(new Response(null, { status: 307, headers: { location: "http://elsewhere.test/" } }));
    },
  });
  const response = await app.post(PATH[client], bodyFor(client, { stream: mode === "streamed" }));
  assertEquals([response.status, redirects], [502, ["manual"]]);
  assert(!(await response.text()).includes("elsewhere.test"));
});

testEach("R80", "the upstream's secret is in no answer, even where the upstream tells it", {}, async (client, mode) => {
  const message = `Incorrect API key provided: ${ENV.UPSTREAM_SECRET}`;
  const { status, body } = await ask(client, bodyFor(client, { stream: mode === "streamed" }), [
    () => Response.json({ error: { message } }, { status: 401 }),
  ]);
  assertEquals(status, 502);
  assert(!JSON.stringify(body).includes(ENV.UPSTREAM_SECRET!));
});

const ECHO = `You sent authorization: Bearer ${ENV.UPSTREAM_SECRET}, x-api-key: configured-key-77`;

/** Where an upstream may quote the credential that it was sent. */
const ECHOES: Record<string, () => Response> = {
  "an error": () => Response.json({ error: { message: ECHO } }, { status: 500 }),
  "a refusal, and the field that it names": () =>
    Response.json({ error: { message: ECHO, param: ECHO } }, { status: 400 }),
  "the time to come back": () =>
    Response.json({ error: { message: "Later" } }, { status: 429, headers: { "retry-after": ECHO } }),
  "a page": () => new Response(ECHO, { status: 503, headers: { "content-type": "text/plain" } }),
  "an error in a 200": () => Response.json({ error: { message: ECHO } }),
  "an error in a stream": () => streamed(data({ error: { message: ECHO, code: 500 } })),
  "an error after content": () => streamed(data(delta({ content: "Hi" }), { error: { message: ECHO, code: 500 } })),
};

for (const [where, answer] of Object.entries(ECHOES)) {
  testEach(
    "R80",
    `the secrets that an upstream quotes are in no answer and no log: ${where}`,
    {},
    async (client, mode) => {
      const upstreams = { chat: { ...CONFIG.upstreams.chat, headers: { "x-api-key": "configured-key-77" } } };
      const app = newApp({
        config: { ...CONFIG, upstreams: { ...CONFIG.upstreams, ...upstreams } },
        fetch: fakeUpstream(answer).fetch,
      });
      const response = await app.post(PATH[client], bodyFor(client, { stream: mode === "streamed" }), HEADERS[client]);
      const head = [...response.headers].map((header) => header.join(": ")).join("\n");
      const visible = head + await response.text() + app.logs.map(formatLogLine).join("\n");
      for (const secret of [ENV.UPSTREAM_SECRET!, "configured-key-77"]) assert(!visible.includes(secret), visible);
      assertEquals(app.logs.length, 1);
    },
  );
}

testEach("R81", "no header and no query choose where a request goes", {}, async (client, mode) => {
  const upstream = fakeUpstream(() => responseOf(HELLO, mode));
  const app = newApp({ config: CONFIG, fetch: upstream.fetch });
  const internalUrl = "http://169.254.169.254/latest";
  const headers = {
    "x-portkey-custom-host": internalUrl,
    "x-base-url": internalUrl,
    "x-target-url": internalUrl,
    "helicone-target-url": internalUrl,
  };
  const query = `?base_url=${encodeURIComponent(internalUrl)}`;
  const body = { ...bodyFor(client, { stream: mode === "streamed" }), base_url: internalUrl, api_base: internalUrl };
  const response = await app.post(PATH[client] + query, body, headers);
  await response.body?.cancel();
  assertEquals(upstream.asked.map(({ url }) => url.origin), ["http://upstream.test"]);
});

testEach("R82", "without keys only this machine is served", { modes: ["whole"] }, async (client) => {
  const app = newApp({ config: CONFIG });
  for (const hostname of ["192.0.2.1", "10.0.0.7", "2001:db8::1"]) {
    const request = new Request(`http://localhost${PATH[client]}`, { method: "POST", body: "{}" });
    const response = await app.fetch(request, { remoteAddr: { transport: "tcp", hostname, port: 1 } });
    assertEquals(response.status, 401);
    await response.body?.cancel();
  }
});

Deno.test("R83 what runs is pinned, and needs few packages", async () => {
  const folder = new URL("../../", import.meta.url);
  const program = await readManifest(folder);
  const tests = await readManifest(new URL("tests/", folder));
  for (const { imports, lock } of [program, tests]) {
    for (const [name, from] of Object.entries<string>(imports)) {
      // The examples and the tests import the program itself by its name.
      if (name.startsWith("@laneway/gateway")) continue;
      if (from.startsWith("./")) {
        // A typed facade, which re-exports a package that is pinned itself.
        const facade = await Deno.readTextFile(new URL(from, new URL("tests/", folder)));
        assertEquals([...facade.matchAll(/ from "([^"./][^"/]*)/g)].map(([, one]) => one), ["deno-std"], name);
        assert("deno-std" in imports, `${name} re-exports a package that is pinned`);
        continue;
      }
      const pinned = /^npm:((?:@[\w.-]+\/)?[\w.-]+@\d+\.\d+\.\d+)(\/|$)/.exec(from)?.[1];
      assert(pinned !== undefined, `${name} is pinned: ${from}`);
      assert(lock.includes(`"npm:${pinned}"`), `${pinned} is in the lock file`);
    }
  }
  assertEquals(Object.keys(program.imports), [
    "@clack/prompts",
    "@decimalturn/toml-patch",
    "@opentelemetry/api",
    "deno-std",
    "eventsource-parser",
    "fast-string-truncated-width",
    "fastest-levenshtein",
    "jsonc-parser",
    "node-diff3",
    "oauth4webapi",
    "yaml",
    "redis-client",
    "genai-prices",
    "jose",
    "jinja",
    "tokenizers",
    "@preact/signals",
    "@preact/signals-core",
    "htm",
    "marked",
    "preact",
    "uplot",
    "zod",
  ]);
});

Deno.test("the tests run the program as it is configured", async () => {
  const folder = new URL("../../", import.meta.url);
  const { imports, unstable, compilerOptions, nodeModulesDir } = await readManifest(folder);
  const tests = await readManifest(new URL("tests/", folder));
  const fetcher = await readManifest(new URL("src/fetcher/", folder));
  assertEquals({ ...tests.imports, ...imports, ...fetcher.imports }, tests.imports);
  assertEquals([tests.unstable, tests.compilerOptions, tests.nodeModulesDir], [
    [...unstable, ...fetcher.unstable],
    compilerOptions,
    nodeModulesDir,
  ]);
});

async function readManifest(folder: URL) {
  const lock = await Deno.readTextFile(new URL("deno.lock", folder));
  return { ...JSON.parse(await Deno.readTextFile(new URL("deno.json", folder))), lock };
}
