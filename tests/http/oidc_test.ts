/** Callers with tokens of an issuer: who is let in, as whom, and what is refused. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { base64url, CompactEncrypt, CompactSign, EncryptJWT, exportSPKI, type JWTPayload, SignJWT } from "jose";
import { formatLogLine } from "../../src/observe/log.ts";
import { createApp } from "../../src/app.ts";
import { configSchema } from "../../src/config/schema.ts";
import { CHAT, chatBody, countedBody, ENV } from "../support/app.ts";
import { AUDIENCE, configFor, ISSUER, newKey, newRig, type OidcRig } from "../support/token_issuer.ts";

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

async function statusOf({ app }: Pick<OidcRig, "app">, headers: HeadersInit, model = "model"): Promise<number> {
  const response = await app.post(CHAT, chatBody({ model }), headers);
  await response.body?.cancel();
  return response.status;
}

Deno.test("tokens: a caller is let in by either header, on each API, and is who the token names", async () => {
  const rig = await newRig();
  const token = await rig.issuer.token();
  for (const headers of [bearer(token), { authorization: `bearer  ${token}` }, { "x-api-key": token }]) {
    assertEquals(await statusOf(rig, headers), 200);
  }
  const ask = { model: "model", max_tokens: 9, messages: [{ role: "user", content: "Hello" }] };
  const bodies = { messages: ask, responses: { model: "model", input: "Hello" } };
  for (const [path, body] of Object.entries(bodies)) {
    assertEquals((await rig.app.post(`/oss/v1/${path}`, body, { "x-api-key": token })).status, 200);
  }
  assertEquals(rig.app.logs.map(({ key }) => key), Array(5).fill("oidc:anna"));
  assertEquals(rig.issuer.asked, { discovery: 1, keys: 1 });
  const signature = token.split(".")[2]!;
  assert(!rig.issuer.sent().includes(signature), "The token reached the upstream");
  assert(!rig.app.logs.map(formatLogLine).join("\n").includes(signature), "The token is in the log");
});

Deno.test("tokens: every algorithm of the default list is checked as it is signed", async () => {
  const rig = await newRig();
  for (const alg of ["RS256", "RS512", "PS256", "PS384", "ES256", "ES384", "ES512", "EdDSA", "Ed25519"]) {
    const key = await newKey(alg, alg);
    rig.issuer.keys = [key];
    rig.clock.ms += 10_000;
    assertEquals(await statusOf(rig, bearer(await rig.issuer.token({}, key))), 200, alg);
  }
});

/** Tokens that open nothing: each with what the caller reads. */
const REFUSED: Record<string, [make: (rig: OidcRig) => Promise<string> | string, message: string]> = {
  "of another issuer": [({ issuer }) => issuer.token({ iss: "https://other.test" }), "not from the issuer"],
  "of an issuer with a slash more": [({ issuer }) => issuer.token({ iss: `${ISSUER}/` }), "not from the issuer"],
  "for another audience": [({ issuer }) => issuer.token({ aud: "other" }), 'its audience must be "laneway"'],
  "without an audience": [({ issuer }) => issuer.token({ aud: undefined }), 'no valid claim "aud"'],
  "that has expired": [({ issuer, clock }) => issuer.token({ exp: clock.ms / 1_000 - 30 }), "has expired"],
  "that never expires": [({ issuer }) => issuer.token({ exp: undefined }), 'no valid claim "exp"'],
  "that is not valid yet": [({ issuer, clock }) => issuer.token({ nbf: clock.ms / 1_000 + 31 }), "not valid yet"],
  "without a subject": [({ issuer }) => issuer.token({ sub: undefined }), 'its claim "sub"'],
  "whose subject is a number": [({ issuer }) => issuer.token({ sub: 7 as never }), 'its claim "sub"'],
  "whose subject has a line break": [({ issuer }) => issuer.token({ sub: "anna\nben" }), 'its claim "sub"'],
  "whose subject is half a character": [({ issuer }) => issuer.token({ sub: "\ud800" }), 'its claim "sub"'],
  "whose subject is endless": [({ issuer }) => issuer.token({ sub: "a".repeat(256) }), 'its claim "sub"'],
  "with a key that is not listed": [async ({ issuer }) => await issuer.token({}, await newKey("other")), "not list"],
  "with another key of the same name": [
    async ({ issuer }) => await issuer.token({}, await newKey("first")),
    "signature does not match",
  ],
  "that brings its own key": [async ({ issuer }) => {
    const own = await newKey("first");
    return await issuer.token({}, own, { jwk: own.publicJwk, jku: "https://evil.test/keys" });
  }, "signature does not match"],
  "that is not signed": [async ({ issuer }) => {
    const [, claims] = (await issuer.token()).split(".");
    return `${base64url.encode('{"alg":"none"}')}.${claims}.`;
  }, "algorithm: it must be RS256"],
  "whose signature was cut off": [async ({ issuer }) => (await issuer.token()).replace(/[^.]*$/, ""), "signature"],
  "whose claims were changed": [async ({ issuer }) => {
    const [head, claims, signature] = (await issuer.token()).split(".");
    const changed = { ...JSON.parse(new TextDecoder().decode(base64url.decode(claims!))), sub: "root" };
    return [head, base64url.encode(JSON.stringify(changed)), signature].join(".");
  }, "signature does not match"],
  "that is signed with the public key as a secret": [async ({ issuer }) => {
    const { publicJwk, kid } = issuer.keys[0]!;
    const key = await crypto.subtle.importKey("jwk", publicJwk, { name: "ECDSA", namedCurve: "P-256" }, true, []);
    return await new SignJWT({ iss: ISSUER, aud: AUDIENCE, sub: "root", exp: 2_000_000_000 })
      .setProtectedHeader({ alg: "HS256", kid }).sign(new TextEncoder().encode(await exportSPKI(key)));
  }, "algorithm: it must be RS256"],
  "that asks for an extension that nobody knows": [async ({ issuer, clock }) => {
    const { alg, kid, privateKey } = issuer.keys[0]!;
    const claims = JSON.stringify({ iss: ISSUER, aud: AUDIENCE, sub: "anna", exp: clock.ms / 1_000 + 60 });
    return await new CompactSign(new TextEncoder().encode(claims))
      .setProtectedHeader({ alg, kid, crit: ["urn:bound"], "urn:bound": true })
      .sign(privateKey, { crit: { "urn:bound": true } });
  }, "not a signed JWT"],
  "of a logout": [({ issuer }) => issuer.token({}, undefined, { typ: "logout+jwt" }), "its type is different"],
  "that is too long": [({ issuer }) => issuer.token({ pad: "a".repeat(13_000) }), "longer than 16384 characters"],
  "that is encrypted": [async () => {
    const secret = crypto.getRandomValues(new Uint8Array(32));
    return await new EncryptJWT({ iss: ISSUER }).setProtectedHeader({ alg: "dir", enc: "A256GCM" }).encrypt(secret);
  }, "not from the issuer"],
  "that is no JSON": [() => `${base64url.encode('{"alg":')}.${base64url.encode(`{"iss":"${ISSUER}"}`)}.x`, "JWT"],
  "of nothing but dots": [() => "ey..", "not from the issuer"],
};

for (const [name, [make, message]] of Object.entries(REFUSED)) {
  Deno.test(`tokens: one ${name} is refused before the body is read, and not repeated`, async () => {
    const rig = await newRig();
    const token = await make(rig);
    for (const path of ["chat/completions", "messages", "responses"]) {
      const { init, pulls } = countedBody();
      const headers = { ...init.headers, ...bearer(token) };
      const response = await rig.app.fetch(new Request(`http://gateway/oss/v1/${path}`, { ...init, headers }));
      const body = await response.json();
      assertEquals([response.status, pulls()], [401, 0]);
      assertStringIncludes(body.error.message, message);
      assertEquals(body.type, path === "messages" ? "error" : undefined);
      const shown = JSON.stringify(body) + rig.app.logs.map(formatLogLine).join("\n");
      const parts = token.split(".").filter(({ length }) => length > 8);
      assertEquals(parts.filter((part) => shown.includes(part)), []);
    }
    assertEquals(rig.issuer.sent(), "");
  });
}

Deno.test("tokens: only the configured algorithms count, and encrypted content is nothing to read", async () => {
  const rig = await newRig({ algorithms: ["RS256"] });
  assertEquals(await statusOf(rig, bearer(await rig.issuer.token())), 401);
  const secret = crypto.getRandomValues(new Uint8Array(32));
  const sealed = await new CompactEncrypt(new Uint8Array(9))
    .setProtectedHeader({ alg: "dir", enc: "A256GCM" }).encrypt(secret);
  assertEquals(await statusOf(rig, bearer(sealed)), 401);
});

Deno.test("tokens: clocks may differ by the tolerance, and a token that is known ends when it expires", async () => {
  const rig = await newRig({ clockToleranceMs: 5_000 });
  const at = rig.clock.ms / 1_000;
  const token = await rig.issuer.token({ nbf: at + 5, exp: at + 60 });
  for (const [seconds, status] of [[0, 200], [59, 200], [64, 200], [65, 401], [900, 401]] as const) {
    rig.clock.ms = (at + seconds) * 1_000;
    assertEquals(await statusOf(rig, bearer(token)), status, `after ${seconds} s`);
  }
  const early = await rig.issuer.token({ nbf: at + 906 });
  assertEquals(await statusOf(rig, bearer(early)), 401);
});

const GROUPS = [
  { name: "ops", operator: true },
  { name: "guests", models: ["sandbox"], quota: { requestsPerMinute: 2 } },
  { name: "other", lanes: ["none"] },
];

Deno.test("tokens: the first group that the caller is in says what it may do", async () => {
  const rig = await newRig({ groups: GROUPS });
  const admitted = async (claims: JWTPayload, model: string) =>
    await statusOf(rig, bearer(await rig.issuer.token(claims)), model);
  assertEquals(await admitted({ groups: ["guests"] }, "sandbox"), 200);
  assertEquals(await admitted({ groups: ["guests"] }, "model"), 403);
  assertEquals(await admitted({ groups: ["other", "ops"] }, "model"), 200);
  assertEquals(await admitted({ groups: ["other"] }, "model"), 403);
  for (const groups of [undefined, [], ["none"], {}, 7, [["ops"]], "ops guests", ["*"], null]) {
    assertEquals(await admitted({ groups }, "model"), 403, JSON.stringify(groups));
  }
  assertEquals(await admitted({ groups: "ops" }, "model"), 200);
  const status = async (claims: JWTPayload) =>
    (await rig.app.get("/status", bearer(await rig.issuer.token(claims)))).status;
  assertEquals([await status({ groups: ["ops"] }), await status({ groups: ["guests"] })], [200, 403]);
});

Deno.test("tokens: each caller of a group has its limits for itself, apart from a key of the same name", async () => {
  const keys = [{ name: "anna", secret: { env: "TEAM_KEY" }, quota: { requestsPerMinute: 1 } }];
  const rig = await newRig({ groups: GROUPS }, { config: { keys } });
  const [anna, ben] = await Promise.all(
    ["anna", "ben"].map((sub) => rig.issuer.token({ sub, groups: ["guests"] })),
  );
  const ask = (token: string) => statusOf(rig, bearer(token), "sandbox");
  assertEquals([await ask(anna!), await ask(anna!), await ask(anna!)], [200, 200, 429]);
  assertEquals(await ask(await rig.issuer.token({ groups: ["guests"], iat: 1 })), 429);
  assertEquals([await ask(ben!), await ask(ENV.TEAM_KEY!)], [200, 200]);
});

Deno.test("tokens: each caller of a group has its budget for itself, and spends that of the group's team", async () => {
  const groups = [{ name: "staff", budget: { dollars: 0.000_01, period: "day" as const }, team: "all" }];
  const teams = { all: { budget: { dollars: 0.000_05, period: "day" as const } } };
  const model = {
    task: "chat" as const,
    targets: [{ upstream: "fake", model: "org/model" }],
    price: { request: 0.000_01 },
  };
  const rig = await newRig({ groups }, { config: { teams, lanes: { oss: { models: { model } } } } });
  const ask = async (sub: string) => await statusOf(rig, bearer(await rig.issuer.token({ sub, groups: ["staff"] })));
  assertEquals([await ask("anna"), await ask("anna"), await ask("ben"), await ask("ben")], [200, 402, 200, 402]);
  assertEquals([await ask("carl"), await ask("dora"), await ask("emil"), await ask("fred")], [200, 200, 200, 402]);
  await rig.app.close();
});

Deno.test("tokens: groups and subjects are found under a claim's own name, at a path, and as words of a scope", async () => {
  const cases: [Partial<Parameters<typeof newRig>[0]>, JWTPayload, number][] = [
    [{ groupsClaim: "realm_access.roles" }, { realm_access: { roles: ["guests"] } }, 200],
    [{ groupsClaim: "https://acme.test/roles" }, { "https://acme.test/roles": ["guests"] }, 200],
    [{ groupsClaim: "scope" }, { scope: "openid guests" }, 200],
    [{ groupsClaim: "scp" }, { scp: "openid guests" }, 200],
    [{ groupsClaim: "constructor.name" }, {}, 403],
    [{ groupsClaim: "groups.length" }, { groups: ["guests"] }, 403],
    [{ groups: [{ name: "*", models: ["sandbox"] }] }, {}, 200],
  ];
  for (const [oidc, claims, status] of cases) {
    const rig = await newRig({ groups: GROUPS, ...oidc });
    assertEquals(await statusOf(rig, bearer(await rig.issuer.token(claims)), "sandbox"), status, JSON.stringify(oidc));
  }
  const rig = await newRig({ subjectClaim: "client.id" });
  assertEquals(await statusOf(rig, bearer(await rig.issuer.token({ client: { id: "robot" } }))), 200);
  assertEquals(rig.app.logs.at(-1)?.key, "oidc:robot");
});

Deno.test("tokens: what one caller stored, another does not find", async () => {
  const keys = [{ name: "anna", secret: { env: "TEAM_KEY" } }];
  const rig = await newRig({}, { config: { keys } });
  const anna = bearer(await rig.issuer.token());
  const made = await rig.app.post("/oss/v1/responses", { model: "sandbox", input: "Hello" }, anna);
  const { id } = await made.json();
  const read = async (headers: HeadersInit) => (await rig.app.get(`/oss/v1/responses/${id}`, headers)).status;
  assertEquals(await read(bearer(await rig.issuer.token({ iat: 1 }))), 200);
  assertEquals(await read(bearer(await rig.issuer.token({ sub: "ben" }))), 404);
  assertEquals(await read(bearer(ENV.TEAM_KEY!)), 404);
});

Deno.test("tokens: beside a key or another token, those of the issuer are not for upstreams", async () => {
  const upstreams = { fake: { driver: "chat", baseUrl: "http://upstream.test/v1", secret: "client" as const } };
  const lanes = { oss: { upstreams: { chat: "fake" } } };
  const keys = [{ name: "team", secret: { env: "TEAM_KEY" } }];
  const rig = await newRig({}, { config: { upstreams, lanes, keys } });
  const [anna, ben] = [await rig.issuer.token(), await rig.issuer.token({ sub: "ben" })];
  const forged = await rig.issuer.token({}, await newKey("first"));
  for (const own of [ENV.TEAM_KEY!, ben]) {
    for (const token of [anna, forged]) assertEquals(await statusOf(rig, { ...bearer(token), "x-api-key": own }), 401);
    assertEquals(await statusOf(rig, { ...bearer("hf_upstream-token-1"), "x-api-key": own }), 200);
  }
  assertEquals(await statusOf(rig, bearer(anna)), 401);
  assertStringIncludes(rig.issuer.sent(), "Bearer hf_upstream-token-1");
  for (const token of [anna, ben, forged]) assert(!rig.issuer.sent().includes(token.split(".")[2]!));
});

Deno.test("tokens: keys go on working beside them, and nobody else is let in, this machine neither", async () => {
  const rig = await newRig({}, { config: { keys: [{ name: "team", secret: { env: "TEAM_KEY" } }] } });
  rig.issuer.answer = () => Promise.reject(new Error("It is down"));
  assertEquals(await statusOf(rig, bearer(ENV.TEAM_KEY!)), 200);
  assertEquals(await statusOf(rig, bearer("wrong-key")), 401);
  const alone = await newRig();
  assertEquals([await statusOf(alone, {}), await statusOf(alone, bearer("wrong-key"))], [401, 401]);
});

Deno.test("tokens: another configuration decides from its first request on", async () => {
  const rig = await newRig({ groups: [{ name: "*" }] });
  const token = await rig.issuer.token();
  assertEquals(await statusOf(rig, bearer(token)), 200);
  const after = async (oidc: Parameters<typeof configFor>[0]) => {
    const app = createApp({
      config: configSchema.parse(configFor(oidc)),
      env: (name) => ENV[name],
      fetch: rig.issuer.fetch,
      now: () => rig.clock.ms,
      monotonic: () => rig.clock.ms,
      log: () => {},
      after: rig.app,
    });
    const headers = bearer(token);
    const body = JSON.stringify(chatBody());
    const response = await app.fetch(new Request(`http://gateway${CHAT}`, { method: "POST", headers, body }));
    await response.body?.cancel();
    return response.status;
  };
  assertEquals(await after({ groups: [{ name: "*" }] }), 200);
  assertEquals(rig.issuer.asked.keys, 1, "The keys are kept where nothing has changed");
  assertEquals(await after({ groups: [{ name: "staff" }] }), 403);
  assertEquals(await after({ audience: ["other"] }), 401);
  assertEquals(await after({ algorithms: ["RS256"] }), 401);
  assertEquals(await after({ issuer: "https://login.test" }), 401);
});
