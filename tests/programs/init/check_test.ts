/** `init check`: each source is asked without spending anything, and a failure has a reason and a cure. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { providers } from "../../../plugins/mod.ts";
import { deno } from "../../../src/platform/deno.ts";
import type { CheckedSource, Source } from "../../../src/programs/init/answers.ts";
import { checkSource } from "../../../src/programs/init/check_source.ts";
import { fakeHub, TOKEN } from "../../support/fake_hub.ts";
import { withFolder } from "../../support/process.ts";
import { serve, SERVICES } from "../../plugins/providers/services.ts";
import { configFor, load } from "./facts.ts";
import { fakeOllama } from "./servers.ts";

const KEY = "a-key-of-the-user-123";

interface World {
  fetch?: typeof fetch;
  env?: Record<string, string>;
  /** The configuration that is there. */
  text?: string;
}

async function check(source: Source, { fetch = deno.fetch, env = {}, text }: World = {}): Promise<CheckedSource> {
  let checked: CheckedSource | undefined;
  await withFolder(async (folder) => {
    const path = `${folder}/gateway.json`;
    if (text !== undefined) await Deno.writeTextFile(path, text);
    const variable = (name: string) => {
      // Deno refuses it, too.
      if (name === "") throw new TypeError("Key is an empty string");
      return env[name];
    };
    const platform = { ...deno, fetch, env: variable };
    checked = await checkSource(source, { path, program: { platform, plugins: {} } });
  });
  return checked!;
}

function assertFails(checked: CheckedSource, reason: RegExp, cure: RegExp): void {
  assert(!checked.ok, JSON.stringify(checked));
  assertMatch(checked.reason, reason);
  assertMatch(checked.cure ?? "", cure);
}

const withKey = Object.entries(SERVICES).filter(([name]) => providers[name]!.secret?.env !== undefined);

for (const [name, endpoints] of withKey) {
  const driver = Object.keys(providers[name]!.drivers)[0]!;
  const { base, lists } = endpoints[driver]!;
  const form = providers[name]!.drivers[driver]!.baseUrl === undefined;
  const source = (secret?: string): Source => ({
    kind: "provider",
    provider: name,
    ...secret !== undefined && { secret },
    ...form && { baseUrl: base },
  });
  Deno.test(`init check: ${name} lists its models to the right key, and nothing is asked of a model`, async () => {
    const { fetch, calls } = serve(name, driver, KEY);
    const checked = await check(source(` ${KEY}\n`), { fetch });
    assert(checked.ok, JSON.stringify(checked));
    assertEquals([checked.upstream, checked.models], [name, ["its-own-model"]]);
    assert(calls.every(({ body }) => Object.keys(body).length === 0), "it has sent a body");
    const byVariable = await check(source(), { fetch, env: { [providers[name]!.secret!.env!]: KEY } });
    assert(byVariable.ok, JSON.stringify(byVariable));
  });

  Deno.test(`init check: ${name} refuses a wrong key, and an absent one is asked for`, async () => {
    const { fetch } = serve(name, driver, KEY);
    const wrong = await check(source("another-key-456"), { fetch });
    const tells = lists !== "to anybody" || providers[name]!.keyCheck !== undefined;
    if (tells) assertFails(wrong, /refuses the secret \(status 401\)/, /whole key was copied|another key/);
    else assertMatch(wrong.ok ? wrong.remark ?? "" : "", /says nothing about yours/);
    assertFails(
      await check(source(), { fetch }),
      /Enter a key/,
      providers[name]!.keysAt ? /Create a key at http/ : /^$/,
    );
    assert(!JSON.stringify(wrong).includes("another-key-456"));
  });
}

Deno.test("init check: a provider with an address for each user asks for it", async () => {
  const { fetch } = serve("azure", "chat", KEY);
  const source = { kind: "provider" as const, provider: "azure", secret: KEY };
  const whole = await check({ ...source, baseUrl: "mine" }, { fetch });
  assert(whole.ok && whole.source.kind === "provider");
  assertEquals(whole.source.baseUrl, "https://mine.openai.azure.com/openai/v1");
  const left = await check({ ...source, baseUrl: "https://RESOURCE.openai.azure.com/openai/v1" }, { fetch });
  assertFails(left, /Replace RESOURCE/, /^$/);
  assertFails(await check(source, { fetch }), /an address for each user/, /^$/);
  const unknown = await check({ kind: "provider", provider: "gorq", secret: KEY });
  assertFails(unknown, /did you mean "groq"/, /^$/);
});

Deno.test("init check: a key in a file or variable of the configuration is used when none is entered", async () => {
  const { fetch } = serve("groq", "chat", KEY);
  const text = '{ "extends": "default", "upstreams": { "groq": { "provider": "groq", "secret": { "env": "MINE" } } } }';
  assert((await check({ kind: "provider", provider: "groq" }, { fetch, text, env: { MINE: KEY } })).ok);
  assertFails(
    await check({ kind: "provider", provider: "groq", secretEnv: "NONE" }, { fetch }),
    /NONE is not set/,
    /./,
  );
});

Deno.test("init check: a server is found at its root, at /v1 and at an endpoint, and identified", async () => {
  const server = fakeOllama();
  try {
    const port = new URL(server.url).port;
    for (const path of ["", "/", "/v1", "/v1/", "/v1/chat/completions", "/v1/models"]) {
      const checked = await check({ kind: "server", baseUrl: server.url + path });
      assert(checked.ok, JSON.stringify(checked));
      assertEquals([checked.upstream, checked.models], [`ollama-${port}`, ["qwen3-coder:30b"]]);
      const wanted = { kind: "server", baseUrl: `${server.url}/v1`, title: "Ollama 0.14.1", name: `ollama-${port}` };
      assertEquals(JSON.parse(JSON.stringify(checked.source)), wanted);
    }
  } finally {
    await server.stop();
  }
});

Deno.test("init check: a server's key is told to be missing, wrong or right", async () => {
  const server = fakeOllama({ key: KEY });
  try {
    const source = { kind: "server" as const, baseUrl: `${server.url}/v1` };
    assertFails(await check(source), /requires a secret/, /^Enter its key$/);
    assertFails(await check({ ...source, secret: "wrong-key-789" }), /refuses the secret/, /^Enter another key$/);
    assert((await check({ ...source, secret: KEY })).ok);
    assertFails(await check({ ...source, secret: "two words" }), /one line without spaces/, /^$/);
  } finally {
    await server.stop();
  }
});

const throwing = (message: string): typeof fetch => () => Promise.reject(new TypeError(message));

Deno.test("init check: each way of not reaching a server has its reason and cure", async () => {
  const remote = { kind: "server" as const, baseUrl: "https://models.test/v1" };
  for (
    const [message, reason, cure] of [
      ["dns error: failed to lookup address", /models\.test has no DNS entry/, /Correct the host in the address/],
      ["Connection refused (os error 111)", /Nothing is listening at models\.test/, /Start the server, or correct/],
      ["invalid peer certificate: UnknownIssuer", /an issuer that this machine does not trust/, /DENO_CERT/],
      ["invalid peer certificate: Expired", /has expired/, /Renew/],
      ["received corrupt message of type InvalidContentType", /does not speak TLS/, /Use http:\/\/ in the address/],
    ] as const
  ) {
    assertFails(await check(remote, { fetch: throwing(message) }), reason, cure);
  }
  const late: typeof fetch = () => Promise.reject(new DOMException("Signal timed out.", "TimeoutError"));
  assertFails(await check(remote, { fetch: late }), /does not answer in time/, /overloaded, loading a model/);
});

Deno.test("init check: a web page, a redirection and a server without a list are told apart", async () => {
  const remote = { kind: "server" as const, baseUrl: "https://models.test/v1" };
  const always = (answer: () => Response): typeof fetch => () => Promise.resolve(answer());
  const page = always(() => new Response("<!doctype html><p>Sign in", { headers: { "content-type": "text/html" } }));
  assertFails(await check(remote, { fetch: page }), /answers with a web page/, /Correct the address/);
  const moved = always(() => new Response(null, { status: 301, headers: { location: "https://new.test/v1/models" } }));
  assertFails(
    await check(remote, { fetch: moved }),
    /redirects to https:\/\/new\.test/,
    /address that it redirects to/,
  );
  const bare = await check(remote, { fetch: always(() => Response.json({ error: "not found" }, { status: 404 })) });
  assert(bare.ok && bare.models.length === 0);
  assertStringIncludes(bare.remark ?? "", "lists no models");
  const empty = await check(remote, { fetch: always(() => Response.json({ object: "list", data: [] })) });
  assertStringIncludes(empty.ok ? empty.remark ?? "" : "", "It has no models");
  for (const baseUrl of ["nonsense", "ftp://models.test", "http://user:pass@models.test/v1", ""]) {
    assertFails(await check({ kind: "server", baseUrl }), /Expected an http|cannot contain a name/, /^$/);
  }
});

/** The hub, which also says whose a token is. */
function hub(permissions?: string[]): typeof fetch {
  const { fetch } = fakeHub({
    instead({ url, headers }) {
      if (url.pathname !== "/api/whoami-v2") return undefined;
      if (headers.get("authorization") !== `Bearer ${TOKEN}`) {
        return Response.json({ error: "Invalid credentials in Authorization header" }, { status: 401 });
      }
      const fineGrained = { global: [], scoped: [{ entity: { type: "user" }, permissions }] };
      const accessToken = permissions ? { role: "fineGrained", fineGrained } : { role: "read" };
      return Response.json({ type: "user", name: "me", auth: { type: "access_token", accessToken } });
    },
  });
  return fetch;
}

Deno.test("init check: a token for the hub is checked, and what it may not do is told", async () => {
  const right = await check({ kind: "hub", secret: TOKEN }, { fetch: hub() });
  assert(right.ok, JSON.stringify(right));
  assertEquals([right.upstream, right.remark], ["router", undefined]);
  assert(right.models.includes("zai-org/GLM-5.3"), "the models of the built-in lane are offered");
  assertEquals(new Set(right.models).size, right.models.length);
  const narrow = await check({ kind: "hub", secret: TOKEN }, { fetch: hub(["repo.content.read"]) });
  assertStringIncludes(narrow.ok ? narrow.remark ?? "" : "", "lacks the permission");
  const granted = await check({ kind: "hub", secret: TOKEN }, { fetch: hub(["inference.serverless.write"]) });
  assert(granted.ok && granted.remark === undefined);
  assertFails(
    await check({ kind: "hub", secret: "hf_wrong" }, { fetch: hub() }),
    /token is refused/,
    /Create a token at/,
  );
  assertFails(await check({ kind: "hub" }, { fetch: hub() }), /Enter a token/, /Create a token at/);
  assert((await check({ kind: "hub" }, { fetch: hub(), env: { HF_TOKEN: TOKEN } })).ok);
});

Deno.test("init check: the sandbox needs nothing", async () => {
  const checked = await check({ kind: "sandbox" });
  assertEquals([checked.ok, checked.ok && checked.models], [true, ["sandbox"]]);
});

Deno.test("init check: a key that was entered as the name of a variable is repeated nowhere", async () => {
  const fetch: typeof globalThis.fetch = () => Promise.reject(new TypeError("Nothing may be asked"));
  for (const secretEnv of ["sk-proj-abc123def456", "gsk_abcdefghij1234567890", "hf_AbCdEfGh12345678", "a=b"]) {
    for (
      const source of [
        { kind: "hub" as const },
        { kind: "provider" as const, provider: "groq" },
        { kind: "server" as const, baseUrl: "http://127.0.0.1:9/v1" },
      ]
    ) {
      const checked = await check({ ...source, secretEnv }, { fetch });
      assertFails(checked, /^Expected the name of a variable, not the key itself$/, /^$/);
    }
  }
  const named = await check({ kind: "hub", secretEnv: "my_token_number_12" }, {
    fetch: hub(),
    env: { my_token_number_12: TOKEN },
  });
  assert(named.ok, "a variable that is set may have any name");
});

Deno.test("init check: names with control characters are left out", async () => {
  const server = fakeOllama({ models: ["good", "bad\x1b[2J", "also\nbad", "x".repeat(600)] });
  try {
    const checked = await check({ kind: "server", baseUrl: server.url });
    assertEquals(checked.ok && checked.models, ["good"]);
  } finally {
    await server.stop();
  }
});

Deno.test("init check: a configuration that is not valid is told first", async () => {
  for (const text of ["{ nonsense", '{ "extends": "default", "lanes": [] }', "[]"]) {
    const checked = await check({ kind: "sandbox" }, { text });
    assertFails(checked, /The file that is there is not valid/, /^Correct .*gateway\.json$/);
  }
  assert((await check({ kind: "sandbox" }, { text: " \n" })).ok, "an empty file is none");
});

Deno.test("init check: a server with its API at the root, and one at a bare address, are written as they answered", async () => {
  const list = () => Response.json({ object: "list", data: [{ id: "its-model", object: "model" }] });
  const at = (path: string): typeof fetch => (input) => {
    const { pathname } = new URL(input instanceof Request ? input.url : String(input));
    return Promise.resolve(pathname === path ? list() : new Response("Not Found", { status: 404 }));
  };
  const baseUrlOf = (source: Source) => {
    const text = configFor({ sources: [source] });
    return Object.values(load(text).upstreams).map(({ baseUrl }) => baseUrl).find((url) =>
      url?.includes("models.test")
    );
  };
  const source = { kind: "server" as const, baseUrl: "https://models.test" };
  const root = await check(source, { fetch: at("/models") });
  const usual = await check(source, { fetch: at("/v1/models") });
  assert(root.ok && usual.ok, JSON.stringify([root, usual]));
  assertEquals([baseUrlOf(root.source), baseUrlOf(usual.source)], ["https://models.test", "https://models.test/v1"]);
  assertEquals(baseUrlOf(source), "https://models.test/v1", "an address that was not tested has the usual path");
});
