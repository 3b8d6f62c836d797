import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { digestOf } from "../../src/util/digest.ts";
import { GatewayError, toGatewayError } from "../../src/errors.ts";
import { type Authenticate, type AuthOptions, createAuth } from "../../src/http/auth.ts";
import { assertCheap } from "../support/cost.ts";

const PEER: Deno.NetAddr = { transport: "tcp", hostname: "203.0.113.7", port: 50_000 };
const LOOPBACK: Deno.NetAddr = { transport: "tcp", hostname: "127.0.0.1", port: 50_000 };

const KEYS = [
  { name: "team", digest: digestOf("sk-team-1"), lanes: ["oss"] },
  { name: "ops", digest: digestOf("sk-ops-22") },
];
const clock = { ms: Date.UTC(2026, 10, 21) };

/** What throws at once rejects here. */
function newAuth(options: Partial<AuthOptions> = {}) {
  const authenticate = createAuth({ keys: [], takesTokens: false, now: () => clock.ms, ...options });
  return async (...asked: Parameters<Authenticate>) => await authenticate(...asked);
}

const authenticate = newAuth({ keys: KEYS });

function request(headers: Record<string, string>): Request {
  return new Request("http://gateway/oss/v1/models", { headers });
}

async function refusal(auth: Authenticate, headers: Record<string, string>, peer: Deno.Addr = PEER): Promise<string> {
  const error = await assertRejects(async () => await auth(request(headers), peer), GatewayError);
  assertEquals(error.code, "authentication");
  return error.message;
}

// With keys

Deno.test("a key is accepted as Bearer and as x-api-key, and tells who calls", async () => {
  const team = { name: "team", owner: "key:team", lanes: ["oss"] };
  assertEquals(await authenticate(request({ authorization: "Bearer sk-team-1" }), PEER), team);
  assertEquals(await authenticate(request({ "x-api-key": "sk-team-1" }), PEER), team);
  assertEquals(await authenticate(request({ "x-api-key": "sk-ops-22" }), PEER), { name: "ops", owner: "key:ops" });
});

Deno.test("the scheme may be in any case and blanks may surround the key", async () => {
  for (const header of ["bearer sk-ops-22", "BEARER\tsk-ops-22", "  Bearer   sk-ops-22  "]) {
    assertEquals((await authenticate(request({ authorization: header }), PEER)).name, "ops");
  }
  assertEquals((await authenticate(request({ "x-api-key": "  sk-ops-22 " }), PEER)).name, "ops");
});

Deno.test("of two keys x-api-key wins, and of two credentials the one that is a key", async () => {
  const both = { authorization: "Bearer sk-team-1", "x-api-key": "sk-ops-22" };
  assertEquals((await authenticate(request(both), PEER)).name, "ops");
  assertEquals((await authenticate(request({ ...both, "x-api-key": "wrong" }), PEER)).name, "team");
  assertEquals(
    await refusal(authenticate, { authorization: "Bearer wrong", "x-api-key": "wrong too" }),
    "Invalid API key",
  );
  assertEquals((await authenticate(request({ ...both, "x-api-key": "" }), PEER)).name, "team");
});

const STORED = { name: "made", digest: digestOf("laneway_made") };
const GONE = { name: "gone", digest: digestOf("sk-gone"), expires: "2000-01-01T00:00:00Z" };
/** What each credential comes to alone: the name of its caller, or the reason why it is refused. */
const ALONE = {
  "sk-team-1": "team",
  "sk-ops-22": "ops",
  "laneway_made": "made",
  "sk-gone": "This API key has expired",
  "sk-unsure": "The store does not answer",
  "sk-wrong": "Invalid API key",
} as const;
/** From the one that says least. */
const REASONS = ["Invalid API key", "This API key has expired", "The store does not answer"];

for (const [own, wanted] of Object.entries(ALONE)) {
  for (const [bearer, wantedOfBearer] of Object.entries(ALONE)) {
    Deno.test(`of two credentials the one that admits counts: ${wanted}, ${wantedOfBearer}`, async () => {
      const auth = newAuth({
        keys: [...KEYS, GONE],
        takesTokens: true,
        storedKey(digest) {
          if (digest === digestOf("sk-unsure")) return Promise.reject(new GatewayError("unavailable", REASONS[2]!));
          return Promise.resolve(digest === STORED.digest ? STORED : undefined);
        },
      });
      type Outcome = { name: string; token: string | undefined } | { refused: string };
      const outcome = async (
        headers: Record<string, string>,
        places?: Parameters<Authenticate>[2],
      ): Promise<Outcome> => {
        try {
          const { name, token } = await auth(request(headers), PEER, places);
          return { name, token };
        } catch (error) {
          return { refused: toGatewayError(error).message };
        }
      };
      const names = [wanted, wantedOfBearer].filter((one) => !REASONS.includes(one));
      const [reason] = [wanted, wantedOfBearer].sort((one, other) => REASONS.indexOf(other) - REASONS.indexOf(one));
      // What is no key is the caller's own token, but only where it is sent as one, and it is certain.
      const isToken = wantedOfBearer === "Invalid API key" && names.length > 0;
      const [name] = names;
      const expected: Outcome = name !== undefined
        ? { name, token: isToken ? bearer : undefined }
        : { refused: reason! };
      const authorization = `Bearer ${bearer}`;
      assertEquals(await outcome({ "x-api-key": own, authorization }), expected);
      const places = { header: "x-goog-api-key", parameter: "key" };
      assertEquals(await outcome({ "x-goog-api-key": own, authorization }, places), expected);
      if (name === undefined) return;
      // A token for upstreams is only ever the one of the authorization header.
      const withoutToken: Outcome = { name, token: undefined };
      assertEquals(await outcome({ "x-api-key": own, "x-goog-api-key": bearer }, places), withoutToken);
    });
  }
}

Deno.test("a request without a key is told how to send one", async () => {
  const without = [
    "",
    "Bearer",
    "Bearer  ",
    "Bearersk-ops-22",
    "Forbearer sk-ops-22",
    "sk-ops-22",
    "Basic c2stb3BzLTIy",
  ];
  for (const headers of [{ "x-api-key": "" }, ...without.map((authorization) => ({ authorization }))]) {
    const message = await refusal(authenticate, headers);
    assertEquals(message, 'No API key: send it as "Authorization: Bearer <key>" or "x-api-key: <key>"');
  }
});

Deno.test("a wrong key is refused and not repeated", async () => {
  const wrong = ["sk-team-", "sk-team-11", "SK-TEAM-1", "sk-team-1 sk-ops-22", "sk-team-1,sk-ops-22", "' OR 1=1 --"];
  for (const key of [...wrong, "\u00fc\u00ff\u00a3", "x".repeat(60_000), `x${" ".repeat(60_000)}x`]) {
    for (const [header, value] of [["x-api-key", key], ["authorization", `Bearer ${key}`]] as const) {
      const error = await assertRejects(() => authenticate(request({ [header]: value }), PEER), GatewayError);
      assertEquals(error.message, "Invalid API key");
      assert(!Deno.inspect(error).includes(key));
    }
  }
});

Deno.test("a huge header is cheap to refuse", async () => {
  for (const blank of [" ", "\t", "Bearer "]) {
    await assertCheap(30, () => refusal(authenticate, { authorization: `Bearer ${blank.repeat(60_000)}x` }));
  }
});

Deno.test("of two keys with one secret the first counts", async () => {
  const [team] = KEYS;
  const auth = newAuth({ keys: [team!, { name: "twin", digest: team!.digest }] });
  assertEquals((await auth(request({ "x-api-key": "sk-team-1" }), PEER)).name, "team");
});

Deno.test("among ten thousand keys each is cheap to find, configured or stored", async () => {
  const many = Array.from({ length: 10_000 }, (_, at) => ({ name: `key ${at}`, digest: digestOf(`sk-many-${at}`) }));
  const stored = new Map(many.map((key) => [key.digest, key]));
  const storedKey = (digest: string) => Promise.resolve(stored.get(digest));
  for (const auth of [newAuth({ keys: many }), newAuth({ storedKey })]) {
    await assertCheap(50, async () => {
      for (const at of Array(200).keys()) {
        assertEquals((await auth(request({ "x-api-key": `sk-many-${at}` }), PEER)).name, `key ${at}`);
        await refusal(auth, { "x-api-key": "sk-many-" });
      }
    });
  }
});

Deno.test("where keys are configured, host and origin do not matter, nor does a local peer help", async () => {
  const foreign = { host: "gateway.example", origin: "https://page.example" };
  assertEquals((await authenticate(request({ ...foreign, "x-api-key": "sk-ops-22" }), PEER)).name, "ops");
  assertStringIncludes(await refusal(authenticate, {}, LOOPBACK), "No API key");
  await assertRejects(() => authenticate(request({}), undefined), GatewayError, "No API key");
});

// Without keys

const open = newAuth();
const LOCAL = { name: "local", owner: "local", operator: true };

Deno.test("without keys a call within the process is admitted", async () => {
  assertEquals(await open(request({ origin: "https://page.example" }), undefined), LOCAL);
});

Deno.test("without keys this machine is admitted, over any of its addresses", async () => {
  for (const hostname of ["127.0.0.1", "127.9.8.7", "::1", "::ffff:127.0.0.1"]) {
    assertEquals(await open(request({ host: "localhost:8000" }), { ...LOOPBACK, hostname }), LOCAL);
  }
  assertEquals(
    (await open(request({ host: "localhost" }), { transport: "unix", path: "/run/gateway.sock" })).name,
    "local",
  );
});

Deno.test("without keys a client that has left before it is known is no stranger", async () => {
  const left = { ...LOOPBACK, hostname: "0.0.0.0", port: 0 };
  const error = await assertRejects(() => open(request({ host: "localhost" }), left), GatewayError);
  assertEquals(error.code, "client_closed");
});

Deno.test("without keys another machine is told that a key must be configured", async () => {
  const others = ["10.0.0.1", "0.0.0.0", "::", "::ffff:10.0.0.1", "fe80::1", "128.0.0.1", "1127.0.0.1", "::2"];
  for (const hostname of others) {
    const message = await refusal(open, { host: "localhost" }, { ...LOOPBACK, hostname });
    assertStringIncludes(message, "No keys are configured");
    assertStringIncludes(message, '"keys" in gateway.json');
  }
  assertStringIncludes(await refusal(open, { "x-api-key": "sk-any" }), "No keys are configured");
});

const LOCAL_HOSTS = ["localhost", "LOCALHOST", "app.localhost", "127.0.0.1", "127.1.2.3", "[::1]"];
const FOREIGN_HOSTS = [
  "gateway.example",
  "localhost.page.example",
  "app.localhost.page.example",
  "notlocalhost",
  "127.0.0.1.page.example",
  "128.0.0.1",
  "192.168.0.2",
  "0.0.0.0",
  "[::2]",
  "localhost@page.example",
];

Deno.test("without keys a local host name is admitted, with any port", async () => {
  for (const host of LOCAL_HOSTS.flatMap((name) => [name, `${name}:80`, `${name}:8000`])) {
    assertEquals((await open(request({ host }), LOOPBACK)).name, "local", host);
  }
});

Deno.test("without keys a foreign host name is refused: a page can point its own name at this machine", async () => {
  for (const host of [...FOREIGN_HOSTS.flatMap((name) => [name, `${name}:8000`]), "", "a b", "[", ":8000"]) {
    const message = await refusal(open, { host }, LOOPBACK);
    assertStringIncludes(message, '"localhost" or "127.0.0.1"', host);
    assertStringIncludes(message, '"keys" in gateway.json');
  }
});

Deno.test("without keys and without a host header the URL's host counts", async () => {
  assertEquals((await open(new Request("http://localhost:8000/"), LOOPBACK)).name, "local");
  await assertRejects(() => open(new Request("http://page.example/"), LOOPBACK), GatewayError);
});

Deno.test("without keys a local origin is admitted", async () => {
  for (const origin of LOCAL_HOSTS.flatMap((name) => [`http://${name}:5173`, `https://${name}`])) {
    assertEquals((await open(request({ host: "127.0.0.1:8000", origin }), LOOPBACK)).name, "local", origin);
  }
});

Deno.test("without keys a foreign origin is refused", async () => {
  const others = [
    "null",
    "",
    "https://page.example",
    "file://",
    "chrome-extension://abc",
    "ws://localhost",
    "localhost",
  ];
  for (const origin of [...FOREIGN_HOSTS.map((name) => `http://${name}`), ...others]) {
    const message = await refusal(open, { host: "localhost", origin }, LOOPBACK);
    assertStringIncludes(message, "web pages of other hosts may not call", origin);
    assertStringIncludes(message, '"keys" in gateway.json');
  }
});

Deno.test("without keys what a proxy passes on is refused: who calls it is not known", async () => {
  const sent = {
    "x-forwarded-for": "203.0.113.7",
    "X-Forwarded-Host": "gateway.example",
    "x-forwarded-proto": "https",
    forwarded: "for=203.0.113.7",
    via: "1.1 proxy",
    "x-real-ip": "203.0.113.7",
    "cf-connecting-ip": "203.0.113.7",
    "true-client-ip": "203.0.113.7",
    "fastly-client-ip": "203.0.113.7",
    "cdn-loop": "cdn.example",
  };
  for (const [name, value] of Object.entries({ ...sent, "x-forwarded-port": "" })) {
    for (const peer of [LOOPBACK, { transport: "unix", path: "/run/gateway.sock" } as const]) {
      const message = await refusal(open, { host: "localhost", [name]: value }, peer);
      assertStringIncludes(message, name.toLowerCase());
      assertStringIncludes(message, '"keys": [{ "name": "me", "secret": { "env": "LANEWAY_KEY" } }]');
    }
    // With a key it does not matter, and a token of one's own opens no more than for a stranger.
    assertEquals((await authenticate(request({ [name]: value, "x-api-key": "sk-ops-22" }), LOOPBACK)).name, "ops");
    const token = { host: "localhost", authorization: "Bearer hf_own", [name]: value };
    assertEquals((await newAuth({ takesTokens: true })(request(token), LOOPBACK)).isStranger, true);
  }
});

Deno.test("without keys what a page of another host loads is refused, and a link on it may be followed", async () => {
  const page = { host: "localhost:8000", referer: "https://page.example/" };
  assertStringIncludes(await refusal(open, page, LOOPBACK), "web pages of other hosts may not call");
  assertEquals(await open(request({ ...page, "sec-fetch-mode": "navigate" }), LOOPBACK), LOCAL);
  assertEquals(await open(request({ ...page, referer: "http://localhost:8000/console/" }), LOOPBACK), LOCAL);
});

// Keys that were made apart, that end, that open some models

Deno.test("a stored key is admitted beside the configured ones, until it is revoked", async () => {
  let stored = [{ name: "made", digest: digestOf("laneway_made"), models: ["gpt-*"], quota: { tokensPerDay: 5 } }];
  const storedKey = (digest: string) => Promise.resolve(stored.find((key) => key.digest === digest));
  for (const keys of [KEYS, []]) {
    const auth = newAuth({ keys, storedKey });
    const { name, owner, models, quota } = await auth(request({ "x-api-key": "laneway_made" }), PEER);
    assertEquals([name, owner, models, quota], ["made", "key:made", ["gpt-*"], { tokensPerDay: 5 }]);
    assertStringIncludes(await refusal(auth, {}, LOOPBACK), "No API key");
  }
  stored = [];
  assertEquals(await refusal(newAuth({ storedKey }), { "x-api-key": "laneway_made" }), "Invalid API key");
});

Deno.test("a key is refused from the moment on at which it ends", async () => {
  const keys = [{ ...KEYS[0]!, expires: "2026-11-21T01:00:00+01:00" }];
  clock.ms = Date.UTC(2026, 10, 20, 23, 59, 59);
  assertEquals((await newAuth({ keys })(request({ "x-api-key": "sk-team-1" }), PEER)).name, "team");
  clock.ms = Date.UTC(2026, 10, 21);
  assertEquals(await refusal(newAuth({ keys }), { "x-api-key": "sk-team-1" }), "This API key has expired");
});

// Callers who bring a token of their own

Deno.test("beside a key, the other header may carry the caller's own token", async () => {
  const both = { authorization: "Bearer hf_own", "x-api-key": "sk-ops-22" };
  assertEquals((await authenticate(request(both), PEER)).token, "hf_own");
  assertEquals((await authenticate(request({ "x-api-key": "sk-ops-22" }), PEER)).token, undefined);
  const same = { authorization: "Bearer sk-ops-22", "x-api-key": "sk-ops-22" };
  assertEquals((await authenticate(request(same), PEER)).token, undefined);
});

Deno.test("where upstreams take tokens, whoever brings one is admitted as a stranger, this machine as itself", async () => {
  const auth = newAuth({ takesTokens: true });
  const stranger = await auth(request({ authorization: "Bearer hf_own" }), PEER);
  const owner = `token:${digestOf("hf_own")}`;
  assertEquals(stranger, { name: "token", owner, token: "hf_own", isStranger: true });
  assert(!JSON.stringify(stranger.owner).includes("hf_own"));
  const local = await auth(request({ host: "localhost", authorization: "Bearer hf_own" }), LOOPBACK);
  assertEquals(local, { name: "local", owner, token: "hf_own", operator: true });
  // A page that drives a browser of this machine is a stranger, too.
  const page = { host: "localhost", origin: "https://page.example", authorization: "Bearer hf_own" };
  assertEquals((await auth(request(page), LOOPBACK)).isStranger, true);
  assertStringIncludes(await refusal(auth, {}), "No keys are configured");
  assertEquals(await auth(request({ host: "localhost" }), LOOPBACK), LOCAL);
});

// Over a real socket

async function answerTo(auth: Authenticate, head: string): Promise<string> {
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request, info) => {
    try {
      return new Response(`hello ${(await auth(request, info.remoteAddr)).name}.`);
    } catch (thrown) {
      const error = toGatewayError(thrown);
      return new Response(`${error.message}.`, { status: error.status });
    }
  });
  const client = await Deno.connect({ hostname: "127.0.0.1", port: server.addr.port });
  const bytes = new TextEncoder().encode(head);
  for (let sent = 0; sent < bytes.length;) sent += await client.write(bytes.subarray(sent));
  const buffer = new Uint8Array(4096);
  let answer = "";
  while (!answer.endsWith(".")) {
    const length = await client.read(buffer);
    if (length === null) break;
    answer += new TextDecoder().decode(buffer.subarray(0, length));
  }
  client.close();
  await server.shutdown();
  return answer;
}

Deno.test("over a socket: 30 MB without a key are refused before they are sent", async () => {
  const answer = await answerTo(authenticate, "POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 30000000\r\n\r\n");
  assertStringIncludes(answer, "HTTP/1.1 401");
  assertStringIncludes(answer, "No API key");
});

Deno.test("over a socket: a key is accepted, and one with bytes that are no text is just wrong", async () => {
  const head = "GET / HTTP/1.1\r\nhost: gateway.example\r\nx-api-key: ";
  assertStringIncludes(await answerTo(authenticate, `${head}sk-ops-22\r\n\r\n`), "hello ops.");
  assertStringIncludes(await answerTo(authenticate, `${head}sk-\u4e16\r\n\r\n`), "Invalid API key.");
});

Deno.test("over a socket: without keys a local host is admitted and a foreign one is not", async () => {
  assertStringIncludes(await answerTo(open, "GET / HTTP/1.1\r\nhost: localhost:1\r\n\r\n"), "hello local.");
  assertStringIncludes(await answerTo(open, "GET / HTTP/1.0\r\n\r\n"), "hello local.");
  assertStringIncludes(await answerTo(open, "GET / HTTP/1.1\r\nhost: page.example\r\n\r\n"), " 401 ");
});

Deno.test("auth: a wire may have a header and a parameter of its own for keys, and only that wire", async () => {
  const places = { header: "x-own-key", parameter: "key" };
  const asked = (url: string, headers: HeadersInit = {}) => new Request(`http://gateway/${url}`, { headers });
  const name = async (request: Request) => (await authenticate(request, PEER, places)).name;
  assertEquals(await name(asked("a", { "x-own-key": "sk-ops-22" })), "ops");
  assertEquals(await name(asked("a?alt=sse&key=sk-ops-22")), "ops");
  assertEquals(await name(asked("a?key=sk-team-1", { "x-own-key": "sk-ops-22" })), "ops");
  assertEquals(await name(asked("a?key=sk-team-1", { "x-api-key": "sk-ops-22" })), "ops");
  for (const request of [asked("a?key=sk-ops-22"), asked("a", { "x-own-key": "sk-ops-22" })]) {
    await assertRejects(() => authenticate(request, PEER), GatewayError, "No API key");
  }
  await assertRejects(() => authenticate(asked("a?key=wrong"), PEER, places), GatewayError, "Invalid API key");
  await assertRejects(() => authenticate(asked("a?key="), PEER, places), GatewayError, '"x-own-key: <key>"');
});
