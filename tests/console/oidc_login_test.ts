/** Operators who log in to the console at a real OpenID Connect provider. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { exportJWK, exportPKCS8 } from "jose";
import { CONFIG, type ConfigInput, ENV, newApp, type TestApp, type TestAppOptions } from "../support/app.ts";
import { logInAt, startLoginProvider } from "../support/oidc_provider.ts";
import { newKey } from "../support/token_issuer.ts";

const URL_OF_CONSOLE = "http://127.0.0.1/console";
const CALLBACK = `${URL_OF_CONSOLE}/callback`;
const GROUPS: Record<string, string[]> = { olga: ["staff", "operators"], ulf: ["staff"], nora: [] };
const CLIENT = { id: "console", secret: "client-secret:1+2 %", redirect: CALLBACK };

const configFor = (issuer: string, client: typeof CLIENT | { id: string; secret?: undefined }): ConfigInput => ({
  ...CONFIG,
  oidc: {
    issuer,
    audience: ["laneway"],
    groups: [{ name: "operators", operator: true }, { name: "staff" }],
    console: { clientId: client.id, url: URL_OF_CONSOLE, ...client.secret && { secret: { env: "CLIENT_SECRET" } } },
  },
});

const newConsole = (
  config: ConfigInput,
  { env, ...more }: Pick<TestAppOptions, "fetch" | "monotonic" | "env"> = {},
) =>
  newApp({
    config,
    env: { ...ENV, CLIENT_SECRET: CLIENT.secret, ...env },
    fetch,
    now: Date.now,
    monotonic: () => performance.now(),
    ...more,
  });

/** To the provider; with the cookie that the browser keeps meanwhile. */
async function begin(app: TestApp): Promise<{ url: string; cookie: string }> {
  const response = await app.get("/console/oidc");
  assertEquals(response.status, 302, await response.text());
  const cookie = response.headers.get("set-cookie")!;
  for (const part of ["HttpOnly", "SameSite=Lax"]) assertStringIncludes(cookie, part);
  return { url: response.headers.get("location")!, cookie: cookie.split(";")[0]! };
}

/** Back from the provider. */
async function back(app: TestApp, address: string, cookie: string): Promise<Response> {
  return await app.get(`/console/callback${new URL(address).search}`, { cookie });
}

const sessionIn = (response: Response) =>
  response.headers.getSetCookie().find((one) => one.startsWith("laneway_console="))?.split(";")[0];

Deno.test("console login: over HTTPS at the root of its host the cookies are of that host alone", async () => {
  const page = "https://gateway.example/console/";
  const client = { ...CLIENT, redirect: `${page}callback` };
  await using provider = await startLoginProvider(client, (person) => GROUPS[person]!);
  const { oidc, ...config } = configFor(provider.issuer, client);
  const app = newConsole({ ...config, oidc: { ...oidc!, console: { ...oidc!.console!, url: page } } });
  const { url, cookie } = await begin(app);
  assert(cookie.startsWith("__Host-laneway_login="), cookie);
  const foreign = `laneway_login=${Array(3).fill("a".repeat(43)).join(".")}`;
  const response = await back(app, await logInAt(url, "olga", client.redirect), `${foreign}; ${cookie}`);
  const set = response.headers.getSetCookie();
  assertEquals(set.map((one) => one.split("=")[0]), ["__Host-laneway_console", "__Host-laneway_login"]);
  for (const one of set) assertStringIncludes(one, "; Secure");
  const session = { cookie: set[0]!.split(";")[0]! };
  assertEquals((await app.get("/console/api/status", session)).status, 200);
});

Deno.test("console login: an operator logs in at the provider, and out; others are refused", async () => {
  await using provider = await startLoginProvider(CLIENT, (person) => GROUPS[person]!);
  const app = newConsole(configFor(provider.issuer, CLIENT));
  assertEquals(await (await app.get("/console/ways")).json(), { oidc: true, session: false });
  const { url, cookie } = await begin(app);
  const asked = new URL(url).searchParams;
  assertEquals([asked.get("code_challenge_method"), asked.get("redirect_uri"), asked.get("response_type")], [
    "S256",
    CALLBACK,
    "code",
  ]);
  for (const word of cookie.split("=")[1]!.split(".").slice(2)) assert(!url.includes(word), "The verifier stays here");
  const response = await back(app, await logInAt(url, "olga", CALLBACK), cookie);
  assertEquals([response.status, response.headers.get("location")], [302, "./"]);
  const session = sessionIn(response)!;
  const status = async () => (await app.get("/console/api/status", { cookie: session })).status;
  const ways = async () => await (await app.get("/console/ways", { cookie: session })).json();
  assertEquals([await status(), await ways()], [200, { oidc: true, session: true }]);
  assertEquals((await app.get("/metrics", { cookie: session })).status, 401, "It opens the console alone");
  const left = await logOut(app, session);
  assertEquals([left.status, await left.json()], [200, { next: `${provider.issuer}/session/end?client_id=console` }]);
  assertEquals((await logOut(app, session)).status, 204, "Nobody is logged in any more");
  assertEquals([await status(), await ways()], [401, { oidc: true, session: false }]);
  for (const [person, said] of [["ulf", "for operators"], ["nora", "no group"]]) {
    const { url, cookie } = await begin(app);
    const refused = await back(app, await logInAt(url, person!, CALLBACK), cookie);
    assertEquals([refused.status, sessionIn(refused)], [403, undefined], person);
    assertStringIncludes(await refused.text(), said!);
  }
});

const logOut = (app: TestApp, cookie: string) =>
  app.fetch(new Request("http://gateway/console/logout", { method: "POST", headers: { cookie } }));

Deno.test("console login: the provider's addresses are read once for all, and again after ten minutes or a failure", async () => {
  await using provider = await startLoginProvider(CLIENT, () => ["operators"]);
  let [now, reads, isDown] = [0, 0, true];
  const counting = (...[input, init]: Parameters<typeof fetch>) => {
    reads++;
    return isDown ? Promise.resolve(new Response(null, { status: 500 })) : fetch(input, init);
  };
  const app = newConsole(configFor(provider.issuer, CLIENT), { fetch: counting, monotonic: () => now });
  const asked = async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => app.get("/console/oidc")));
    const statuses = new Set(answers.map(({ status }) => status));
    for (const { body } of answers) await body?.cancel();
    return [...statuses, reads];
  };
  assertEquals(await asked(), [503, 1]);
  isDown = false;
  assertEquals(await asked(), [302, 2]);
  now += 599_999;
  assertEquals(await asked(), [302, 2]);
  now += 1;
  assertEquals(await asked(), [302, 3]);
});

Deno.test("console login: logging out ends the session here, whatever the provider says of its own", async () => {
  await using provider = await startLoginProvider(CLIENT, () => ["operators"]);
  let end: unknown;
  let isDown = false;
  const meddling = async (...[input, init]: Parameters<typeof fetch>) => {
    const url = input instanceof Request ? input.url : String(input);
    if (!url.endsWith("/openid-configuration")) return await fetch(input, init);
    return isDown
      ? new Response(null, { status: 500 })
      : Response.json({ ...await (await fetch(input, init)).json(), end_session_endpoint: end });
  };
  const far = "https://login.test/end?tenant=a";
  const cases: [end: unknown, next: string | undefined][] = [
    [undefined, undefined],
    ["javascript:alert(1)", undefined],
    ["http://elsewhere.test/end", undefined],
    ["/session/end", undefined],
    [{}, undefined],
    [far, `${far}&client_id=console`],
  ];
  let now = 0;
  for (const [said, next] of cases) {
    end = said;
    const app = newConsole(configFor(provider.issuer, CLIENT), { fetch: meddling, monotonic: () => now });
    const { url, cookie } = await begin(app);
    const session = sessionIn(await back(app, await logInAt(url, "olga", CALLBACK), cookie))!;
    const left = await logOut(app, session);
    assertEquals([left.status, left.status === 200 ? (await left.json()).next : undefined], [next ? 200 : 204, next]);
    assertEquals((await app.get("/console/api/status", { cookie: session })).status, 401);
  }
  const app = newConsole(configFor(provider.issuer, CLIENT), { fetch: meddling, monotonic: () => now });
  const { url, cookie } = await begin(app);
  const session = sessionIn(await back(app, await logInAt(url, "olga", CALLBACK), cookie))!;
  now += 600_000;
  isDown = true;
  assertEquals((await logOut(app, session)).status, 204);
  assertEquals((await app.get("/console/api/status", { cookie: session })).status, 401);
});

Deno.test("console login: what the configuration says of a group holds at once, and a client that is gone opens nothing", async () => {
  const client = { id: "public" };
  await using provider = await startLoginProvider({ ...client, redirect: CALLBACK }, () => ["operators"]);
  const config = configFor(provider.issuer, client);
  const app = newConsole(config);
  const { url, cookie } = await begin(app);
  const session = sessionIn(await back(app, await logInAt(url, "olga", CALLBACK), cookie))!;
  const statusWith = async (oidc: ConfigInput["oidc"]) => {
    const { createApp } = await import("../../src/app.ts");
    const { configSchema } = await import("../../src/config/schema.ts");
    const next = createApp({
      config: configSchema.parse({ ...config, oidc }),
      env: (name) => ENV[name],
      after: app,
      log() {},
    });
    return (await next.fetch(new Request("http://gateway/console/api/status", { headers: { cookie: session } })))
      .status;
  };
  assertEquals(await statusWith(config.oidc), 200);
  assertEquals(await statusWith({ ...config.oidc!, groups: [{ name: "operators" }] }), 403);
  assertEquals(await statusWith({ ...config.oidc!, groups: [{ name: "others", operator: true }] }), 403);
  assertEquals(await statusWith({ ...config.oidc!, console: { ...config.oidc!.console!, clientId: "another" } }), 401);
});

Deno.test("console login: a client may send its secret in the form", async () => {
  const client = { ...CLIENT, method: "client_secret_post" } as const;
  await using provider = await startLoginProvider(client, () => ["operators"]);
  const { oidc, ...config } = configFor(provider.issuer, client);
  const sent: RequestInit[] = [];
  const listening: typeof fetch = (input, init) => {
    if (String(input).endsWith("/token")) sent.push(init!);
    return fetch(input, init);
  };
  const console = { ...oidc!.console!, authMethod: client.method };
  const app = newConsole({ ...config, oidc: { ...oidc!, console } }, { fetch: listening });
  const { url, cookie } = await begin(app);
  assertEquals((await back(app, await logInAt(url, "olga", CALLBACK), cookie)).status, 302);
  const [{ headers, body }] = sent as [RequestInit];
  assertEquals(new Headers(headers).get("authorization"), null);
  assertEquals(new URLSearchParams(await (body as Blob).text()).get("client_secret"), CLIENT.secret);
});

Deno.test("console login: a client may sign with its private key, as JWK or PEM", async () => {
  for (const alg of ["RS256", "PS256", "ES256", "ES384", "Ed25519"]) {
    const key = await newKey("client", alg);
    const client = { id: "signer", method: "private_key_jwt", keys: [key], redirect: CALLBACK } as const;
    await using provider = await startLoginProvider(client, () => ["operators"]);
    const { oidc, ...config } = configFor(provider.issuer, { id: client.id });
    const console = { ...oidc!.console!, authMethod: client.method, secret: { env: "PRIVATE_KEY" } };
    const answerWith = async (secret: string) => {
      const app = newConsole({ ...config, oidc: { ...oidc!, console } }, { env: { PRIVATE_KEY: secret } });
      const { url, cookie } = await begin(app);
      const response = await back(app, await logInAt(url, "olga", CALLBACK), cookie);
      return [response.status, await response.text()];
    };
    const jwk = JSON.stringify({ ...await exportJWK(key.privateKey), alg, kid: key.kid, use: "sig" });
    assertEquals((await answerWith(jwk))[0], 302, alg);
    // PEM does not say which of its two algorithms an RSA key is for.
    if (alg !== "PS256") assertEquals((await answerWith(await exportPKCS8(key.privateKey)))[0], 302, `${alg}, PEM`);
    const other = await newKey("client", alg);
    assertEquals((await answerWith(await exportPKCS8(other.privateKey)))[0], 503, "Another key");
    const [status, page] = await answerWith("no-key-but-secret");
    assertEquals(status, 503);
    assertStringIncludes(String(page), "is no private key as JWK or PEM");
    assert(!String(page).includes("no-key-but-secret"));
  }
});

Deno.test("console login: answers that were not asked for, are of another login, or come again, open nothing", async () => {
  await using provider = await startLoginProvider(CLIENT, () => ["operators"]);
  const app = newConsole(configFor(provider.issuer, CLIENT));
  const { url, cookie } = await begin(app);
  const address = await logInAt(url, "olga", CALLBACK);
  const other = await begin(app);
  const words = cookie.split("=")[1]!.split(".");
  const unverified = `laneway_login=${[words[0], words[1], other.cookie.split(".")[2]].join(".")}`;
  const evil = `${CALLBACK}?error=${encodeURIComponent("<img src=x>")}&state=${words[0]}`;
  const wrong: [address: string, cookie: string][] = [
    [address, ""],
    [address, other.cookie],
    [address.replace(/state=[^&]*/, "state=x"), cookie],
    [address.replace(/iss=[^&]*/, "iss=https%3A%2F%2Fevil.test"), cookie],
    [evil, cookie],
    [`${CALLBACK}?state=${words[0]}`, cookie],
    [address, unverified],
  ];
  for (const [address, cookie] of wrong) {
    const response = await back(app, address, cookie);
    assert([401, 503].includes(response.status), `${response.status}: ${address}`);
    assertEquals(sessionIn(response), undefined);
    const page = await response.text();
    assert(!page.includes("<img") && !page.includes(words[2]!));
  }
  const second = await begin(app);
  const own = second.cookie.split("=")[1]!.split(".");
  const nonced = `laneway_login=${[own[0], words[1], own[2]].join(".")}`;
  assertEquals((await back(app, await logInAt(second.url, "olga", CALLBACK), nonced)).status, 401, "Another nonce");
  const third = await begin(app);
  const used = await logInAt(third.url, "olga", CALLBACK);
  assertEquals((await back(app, used, third.cookie)).status, 302);
  assertEquals(sessionIn(await back(app, used, third.cookie)), undefined, "A code is good once");
});

Deno.test("console login: more groups than a record of the store can hold are refused", async () => {
  const groups = ["operators", ...Array.from({ length: 5_000 }, (_, index) => `group ${index}`)];
  await using provider = await startLoginProvider(CLIENT, () => groups);
  const app = newConsole(configFor(provider.issuer, CLIENT));
  const { url, cookie } = await begin(app);
  const response = await back(app, await logInAt(url, "olga", CALLBACK), cookie);
  assertEquals([response.status, sessionIn(response)], [401, undefined]);
  assertStringIncludes(await response.text(), "longer than 16384 characters");
});

Deno.test("console login: without a provider, or while it does not answer, the page says so", async () => {
  const plain = newApp();
  assertEquals(await (await plain.get("/console/ways")).json(), { oidc: false, session: false });
  assertEquals((await plain.get("/console/oidc")).status, 404);
  const app = newApp({ config: configFor("http://127.0.0.1:1", CLIENT), env: { ...ENV, CLIENT_SECRET: "x" } });
  const response = await app.get("/console/oidc");
  assertEquals(response.status, 503);
  assertStringIncludes(await response.text(), "try again later");
});
