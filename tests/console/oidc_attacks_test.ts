/** A login at a provider, or in front of one, that does not play by the rules: it opens nothing. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { exportPKCS8, type JWTPayload } from "jose";
import { formatLogLine } from "../../src/observe/log.ts";
import { ENV, newApp, NOW, type TestApp } from "../support/app.ts";
import { withFakeClock } from "../support/fake_clock.ts";
import { configFor, ISSUER, newIssuer, newKey, type TokenIssuer } from "../support/token_issuer.ts";

const CLIENT_ID = "console";
const PAGE = "http://127.0.0.1/console";

interface Login {
  app: TestApp;
  issuer: TokenIssuer;
  /** How the token endpoint answers. The nonce is the login's. */
  answer(nonce: string, init: RequestInit): Response | Promise<Response>;
  /** What its discovery document says besides. */
  metadata: object;
  /** What it was asked, by URL. */
  asked: string[];
}

async function newLogin(
  changes: Partial<Pick<Login, "answer" | "metadata">> = {},
  secret = "client-secret",
  authMethod: "client_secret_basic" | "private_key_jwt" = "client_secret_basic",
): Promise<Login> {
  const issuer = newIssuer([await newKey("first")], () => NOW);
  const login: Omit<Login, "app"> = {
    issuer,
    metadata: {},
    asked: [],
    answer: async (nonce) => tokens(await issuer.token(claimsFor(nonce))),
    ...changes,
  };
  const app = newApp({
    config: configFor({
      groups: [{ name: "operators", operator: true }],
      console: { clientId: CLIENT_ID, url: PAGE, secret: { env: "CLIENT_SECRET" }, authMethod },
    }),
    env: { ...ENV, ...secret && { CLIENT_SECRET: secret } },
    now: () => NOW,
    async fetch(input, init) {
      const url = String(input);
      login.asked.push(url);
      if (url.endsWith("/openid-configuration")) {
        return Response.json({
          issuer: ISSUER,
          jwks_uri: issuer.jwksUrl,
          authorization_endpoint: `${ISSUER}/authorize`,
          token_endpoint: `${ISSUER}/token`,
          ...login.metadata,
        });
      }
      return url === `${ISSUER}/token` ? await login.answer(nonce, init!) : await issuer.fetch(input, init);
    },
  });
  let nonce = "";
  const { get } = app;
  app.get = async (path, headers) => {
    const response = await get(path, headers);
    const next = response.headers.get("location");
    if (path === "/console/oidc" && next) nonce = new URL(next).searchParams.get("nonce")!;
    return response;
  };
  return Object.assign(login, { app });
}

const claimsFor = (nonce: string): JWTPayload => ({ aud: CLIENT_ID, nonce, groups: ["operators"] });

const tokens = (idToken: unknown, more: object = {}) =>
  Response.json({ access_token: "a", token_type: "Bearer", id_token: idToken, ...more });

/** The answer to the browser that comes back from the provider. `query`: how it comes back. */
async function finish(
  { app }: Login,
  query = (state: string) => `code=c&state=${state}`,
): Promise<{ status: number; text: string; session?: string }> {
  const begun = await app.get("/console/oidc");
  const text = await begun.text();
  if (begun.status !== 302) return { status: begun.status, text };
  const cookie = begun.headers.get("set-cookie")!.split(";")[0]!;
  const state = new URL(begun.headers.get("location")!).searchParams.get("state")!;
  const response = await app.get(`/console/callback?${query(state)}`, { cookie });
  const session = response.headers.getSetCookie().find((one) => one.startsWith("laneway_console="));
  return { status: response.status, text: await response.text(), session };
}

Deno.test("login: what keeps to the rules is let in", async () => {
  const login = await newLogin();
  const { status, session } = await finish(login);
  assertEquals([status, session !== undefined], [302, true]);
});

const OTHER_LOGIN = "belongs to another login";
const OTHER_AUDIENCE = 'its audience must be "console"';
const PAST = Math.floor(NOW / 1_000) - 3_600;
const CLAIMS: Record<string, [change: JWTPayload, said: string]> = {
  "another nonce": [{ nonce: "x".repeat(43) }, OTHER_LOGIN],
  "no nonce": [{ nonce: undefined }, OTHER_LOGIN],
  "another issuer": [{ iss: "https://evil.test" }, OTHER_AUDIENCE],
  "an issuer with a slash more": [{ iss: `${ISSUER}/` }, OTHER_AUDIENCE],
  "another audience": [{ aud: "other" }, OTHER_AUDIENCE],
  "two audiences": [{ aud: [CLIENT_ID, "other"] }, OTHER_LOGIN],
  "another authorized party": [{ azp: "other" }, OTHER_LOGIN],
  "two audiences, for another party": [{ aud: [CLIENT_ID, "other"], azp: "other" }, OTHER_LOGIN],
  "an end in the past": [{ iat: PAST, exp: PAST + 60 }, "The token has expired"],
  "a start in the future": [{ nbf: Math.floor(NOW / 1_000) + 3_600 }, "The token is not valid yet"],
  "no time of issue": [{ iat: undefined }, 'no valid claim "iat"'],
  "no subject": [{ sub: undefined }, 'no valid claim "sub"'],
};

for (const [what, [change, said]] of Object.entries(CLAIMS)) {
  Deno.test(`login: a token with ${what} opens nothing`, async () => {
    const login = await newLogin({
      answer: async (nonce) => tokens(await login.issuer.token({ ...claimsFor(nonce), ...change })),
    });
    const { status, text, session } = await finish(login);
    assertEquals([status, session], [401, undefined], text);
    assertStringIncludes(text.replaceAll("&quot;", '"'), said);
  });
}

const TOKENS: Record<string, (login: Login, nonce: string) => unknown> = {
  "that nobody signed": (_, nonce) => `${encode({ alg: "none" })}.${encode(claimsFor(nonce))}.`,
  "of another key": async ({ issuer }, nonce) => issuer.token(claimsFor(nonce), await newKey("first")),
  "with changed claims": async ({ issuer }, nonce) => {
    const [head, , signature] = (await issuer.token({ aud: CLIENT_ID })).split(".");
    return [head, encode({ iss: ISSUER, sub: "x", ...claimsFor(nonce), iat: 0, exp: 1e12 }), signature].join(".");
  },
  "that is encrypted": () => "a.b.c.d.e",
  "that is a number": () => 1,
  "that is a list": () => ["a.b.c"],
};

for (const [what, tokenOf] of Object.entries(TOKENS)) {
  Deno.test(`login: a token ${what} opens nothing`, async () => {
    const login = await newLogin({ answer: async (nonce) => tokens(await tokenOf(login, nonce)) });
    const { status, session } = await finish(login);
    assertEquals([status, session], [401, undefined]);
  });
}

const encode = (value: object) => btoa(JSON.stringify(value)).replaceAll("=", "");

const CALLBACKS: Record<string, (state: string) => string> = {
  "without a state": () => "code=c",
  "with two states": (state) => `code=c&state=${state}&state=x`,
  "with two codes": (state) => `code=c&code=d&state=${state}`,
  "with a code and an empty one": (state) => `code=c&code=&state=${state}`,
  "of another issuer": (state) => `code=c&state=${state}&iss=https%3A%2F%2Fevil.test`,
  "with an error and a code": (state) => `code=c&error=access_denied&state=${state}`,
  "with a token in it": (state) => `code=c&state=${state}&id_token=a.b.c`,
  "as a signed response": (state) => `code=c&state=${state}&response=a.b.c`,
};

for (const [what, query] of Object.entries(CALLBACKS)) {
  Deno.test(`login: to come back ${what} opens nothing, and no code leaves the gateway`, async () => {
    const login = await newLogin();
    const { status, session } = await finish(login, query);
    assertEquals([status, session], [401, undefined]);
    assert(!login.asked.includes(`${ISSUER}/token`));
  });
}

Deno.test("login: a provider that promises to name itself must do so", async () => {
  const login = await newLogin({ metadata: { authorization_response_iss_parameter_supported: true } });
  assertEquals((await finish(login)).status, 401);
  assert(!login.asked.includes(`${ISSUER}/token`));
  const named = await finish(login, (state) => `code=c&state=${state}&iss=${encodeURIComponent(ISSUER)}`);
  assertEquals(named.status, 302);
});

Deno.test("login: a client whose secret is not set does not become a public one", async () => {
  const login = await newLogin({}, "");
  const { status, text, session } = await finish(login);
  assertEquals([status, session], [503, undefined]);
  assertStringIncludes(text, "is not set");
  assert(!login.asked.includes(`${ISSUER}/token`));
});

Deno.test("login: the client's private key is read once, however often somebody comes back", async () => {
  const { subtle } = crypto;
  const { importKey } = subtle;
  let read = 0;
  subtle.importKey = (...args: unknown[]) => {
    if ((args[4] as string[]).includes("sign")) read++;
    return Reflect.apply(importKey, subtle, args);
  };
  try {
    const key = await exportPKCS8((await newKey("client", "ES256")).privateKey);
    read = 0;
    const login = await newLogin({}, key, "private_key_jwt");
    const results = await Promise.all(
      Array.from({ length: 5 }, () => finish(login, (state) => `code=c&state=${state}`)),
    );
    assert(results.some(({ status }) => status === 302));
    assertEquals(read, 1);
  } finally {
    subtle.importKey = importKey;
  }
});

Deno.test("login: of a crowd that comes back at once, twenty at a time reach the token endpoint", async () => {
  const [most, crowd] = [20, 50];
  let [open, atOnce, asked] = [0, 0, 0];
  const opened = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  const login = await newLogin({
    answer: async () => {
      asked++;
      atOnce = Math.max(atOnce, ++open);
      if (asked === most) opened.resolve();
      await release.promise;
      open--;
      return new Response("no", { status: 400 });
    },
  });
  const all = Promise.all(Array.from({ length: crowd }, () => finish(login)));
  await opened.promise;
  release.resolve();
  const statuses = (await all).map(({ status }) => status);
  assertEquals([atOnce, asked, statuses.includes(302)], [most, crowd, false]);
});

const METADATA: Record<string, object> = {
  "of another issuer": { issuer: "https://evil.test" },
  "of an issuer with another spelling": { issuer: ISSUER.replace("login.test", "LOGIN.test") },
  "without an issuer": { issuer: undefined },
  "with a token endpoint elsewhere": { token_endpoint: "https://evil.test/token" },
  "with a token endpoint in the clear": { token_endpoint: `${ISSUER.replace("https", "http")}/token` },
  "without a token endpoint": { token_endpoint: undefined },
  "with a login page that is a script": { authorization_endpoint: "javascript:alert(1)" },
};

for (const [what, metadata] of Object.entries(METADATA)) {
  Deno.test(`login: a discovery document ${what} begins nothing`, async () => {
    const login = await newLogin({ metadata });
    assertEquals((await finish(login)).status, 503);
    assertEquals(login.asked, [`${ISSUER}/.well-known/openid-configuration`]);
  });
}

Deno.test("login: the log says why a login failed, without the code", async () => {
  const misled = await newLogin({ metadata: { token_endpoint: "https://evil.test/token" } });
  await finish(misled);
  const refusing = await newLogin({ answer: () => Response.json({ error: "invalid_client" }, { status: 401 }) });
  await finish(refusing);
  const lines = [...misled.app.logs, ...refusing.app.logs].map(formatLogLine);
  assertEquals(lines.length, 2);
  assertStringIncludes(lines[0]!, "oidc.console.tokenUrl");
  assertStringIncludes(lines[1]!, `${ISSUER}/token answered 401`);
  for (const line of lines) assert(!/state=|code=/.test(line), line);
});

const EVIL_TOKEN_URL = "https://evil.test/token";
const RULES = "not what OpenID Connect requires";
const ANSWERS: Record<string, [answer: (token: string) => Response, status: number, said: string]> = {
  "that is huge": [(token) => tokens(token, { more: "x".repeat(300_000) }), 502, "longer than 262144 bytes"],
  "that is a redirect": [() => Response.redirect(EVIL_TOKEN_URL, 307), 503, "try again later"],
  "that is an error": [() => Response.json({ error: "invalid_grant" }, { status: 400 }), 503, "try again later"],
  "without an access token": [(token) => tokens(token, { access_token: undefined }), 401, RULES],
  "with another kind of token": [(token) => tokens(token, { token_type: "mac" }), 401, RULES],
  "that is no JSON": [() => new Response("<html>"), 401, "no ID token"],
  "that is null": [() => Response.json(null), 401, "no ID token"],
};

for (const [what, [answer, expected, said]] of Object.entries(ANSWERS)) {
  Deno.test(`login: an answer of the token endpoint ${what} opens nothing`, async () => {
    const login = await newLogin({
      answer: async (nonce) => answer(await login.issuer.token(claimsFor(nonce))),
    });
    const { status, text, session } = await finish(login);
    assertEquals([status, session], [expected, undefined], text);
    assertStringIncludes(text, said);
    assert(!login.asked.includes(EVIL_TOKEN_URL));
  });
}

Deno.test("login: a token endpoint that is silent is left after ten seconds", async () => {
  const asked = Promise.withResolvers<AbortSignal>();
  const login = await newLogin({
    answer: (_, { signal }) => {
      asked.resolve(signal!);
      return new Promise((_, reject) => signal!.addEventListener("abort", () => reject(signal!.reason)));
    },
  });
  await withFakeClock(async ({ advance }) => {
    const finished = finish(login);
    const signal = await asked.promise;
    await advance(9_999);
    assert(!signal.aborted);
    await advance(1);
    const { status, text, session } = await finished;
    assertEquals([status, session, signal.aborted], [503, undefined, true]);
    assertStringIncludes(text, "try again later");
  });
});
