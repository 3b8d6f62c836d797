/** An issuer whose keys change, and one that is down, slow or lies. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { IssuerKeys } from "../../src/http/issuer_keys.ts";
import { formatLogLine } from "../../src/observe/log.ts";
import { CHAT, chatBody } from "../support/app.ts";
import { withFakeClock } from "../support/fake_clock.ts";
import { ISSUER, newKey, newRig, type OidcRig } from "../support/token_issuer.ts";

/** How long after one attempt to read the keys there is no other, in milliseconds. */
const COOL_DOWN = 10_000;

async function ask({ app }: OidcRig, token: string) {
  const response = await app.post(CHAT, chatBody(), { authorization: `Bearer ${token}` });
  const { error } = await response.json();
  return { status: response.status, message: error?.message, retryAfter: response.headers.get("retry-after") };
}

const statusOf = async (rig: OidcRig, token: string) => (await ask(rig, token)).status;

Deno.test("issuer's keys: a new one is found at once, and one that was taken back ends what it has proved", async () => {
  const rig = await newRig();
  const { issuer, clock } = rig;
  const [old, next] = [issuer.keys[0]!, await newKey("second")];
  const [before, after] = [await issuer.token({ exp: 2e9 }), await issuer.token({ exp: 2e9 }, next)];
  assertEquals(await statusOf(rig, before), 200);
  clock.ms += COOL_DOWN;
  issuer.keys = [old, next];
  assertEquals([await statusOf(rig, after), await statusOf(rig, before)], [200, 200]);
  issuer.keys = [next];
  assertEquals(await statusOf(rig, before), 200);
  // The first request after five minutes has them read again, and does not wait.
  clock.ms += 300_000;
  await statusOf(rig, after);
  while (issuer.asked.keys < 3) await Promise.resolve();
  await new Promise((resolve) => setTimeout(resolve));
  assertEquals([await statusOf(rig, before), await statusOf(rig, after)], [401, 200]);
  assertEquals(issuer.asked, { discovery: 3, keys: 3 });
});

Deno.test("issuer's keys: a flood of keys that nobody knows has them read once in ten seconds", async () => {
  const rig = await newRig();
  const { issuer, clock } = rig;
  const other = await newKey("other");
  const forged = await Promise.all(Array.from({ length: 60 }, (_, at) =>
    issuer.token({ jti: `${at}` }, other, {
      kid: `made up ${at}`,
    })));
  const good = await issuer.token();
  for (const round of [1, 2, 3]) {
    const statuses = await Promise.all(forged.map((token) => statusOf(rig, token)));
    assertEquals(new Set(statuses), new Set([401]));
    assertEquals(await statusOf(rig, good), 200);
    assertEquals(issuer.asked.keys, round);
    clock.ms += COOL_DOWN;
  }
});

Deno.test("issuer's keys: while it is down, those that are known work, and others are answered 503", async () => {
  const rig = await newRig();
  const { issuer, clock } = rig;
  const [known, other] = [await issuer.token({ exp: 2e9 }), await newKey("other")];
  assertEquals(await statusOf(rig, known), 200);
  issuer.answer = () => Promise.resolve(new Response("Broken", { status: 500 }));
  for (let hour = 0; hour < 23; hour++) {
    clock.ms += 3_600_000;
    assertEquals(await statusOf(rig, await issuer.token()), 200);
    await new Promise((resolve) => setTimeout(resolve));
  }
  const refused = await ask(rig, await issuer.token({}, other));
  assertEquals([refused.status, refused.retryAfter], [503, "10"]);
  assertStringIncludes(refused.message, "its issuer's keys cannot be read");
  assertStringIncludes(formatLogLine(rig.app.logs.at(-1)!), "answered 500");
  // After a day without an answer nobody knows whether the issuer still stands by them.
  clock.ms += 3_600_000;
  assertEquals(await statusOf(rig, known), 503);
  issuer.answer = undefined;
  clock.ms += COOL_DOWN;
  assertEquals([await statusOf(rig, known), await statusOf(rig, await issuer.token())], [200, 200]);
});

Deno.test("issuer's keys: where none were known yet, requests fail at once until the next attempt", async () => {
  const rig = await newRig();
  const { issuer, clock } = rig;
  const token = await issuer.token();
  issuer.answer = () => Promise.reject(new TypeError("connection refused"));
  assertEquals([await statusOf(rig, token), await statusOf(rig, token)], [503, 503]);
  assertEquals(issuer.asked.discovery, 1);
  clock.ms += COOL_DOWN - 1_000;
  assertEquals((await ask(rig, token)).retryAfter, "1");
  issuer.answer = undefined;
  clock.ms += 1_000;
  assertEquals(await statusOf(rig, token), 200);
});

Deno.test("issuer's keys: an issuer that does not answer is given up after five seconds, and holds up nobody else", async () => {
  const rig = await newRig();
  const { issuer, clock } = rig;
  const [known, other] = [await issuer.token(), await issuer.token({ sub: "ben" })];
  const unknown = await issuer.token({}, await newKey("other"));
  assertEquals(await statusOf(rig, known), 200);
  clock.ms += 300_000;
  let aborted = 0;
  issuer.answer = (_, signal) =>
    new Promise((_, reject) =>
      signal.addEventListener("abort", () => {
        aborted++;
        reject(signal.reason);
      })
    );
  await withFakeClock(async (timers) => {
    const waiting = statusOf(rig, unknown);
    await timers.advance(4_999);
    let status: number | undefined;
    void statusOf(rig, other).then((got) => status = got);
    while (status === undefined) await timers.advance(0);
    assertEquals([status, aborted], [200, 0]);
    await timers.advance(1);
    assertEquals([await waiting, aborted], [503, 1]);
  });
  assertStringIncludes(formatLogLine(rig.app.logs.at(-1)!), "did not answer within 5000 ms");
});

/** What an issuer may answer, and what the log says of it. */
const ODD: [name: string, url: RegExp, answer: () => Response, reason: string][] = [
  [
    "another issuer's document",
    /openid/,
    () => Response.json({ issuer: "https://evil.test" }),
    "belongs to another issuer",
  ],
  [
    "a place that is not its own",
    /openid/,
    () => Response.json({ issuer: ISSUER, jwks_uri: "https://keys.test/jwks" }),
    "oidc.jwksUrl",
  ],
  ["no place", /openid/, () => Response.json({ issuer: ISSUER }), "oidc.jwksUrl"],
  ["no object", /openid/, () => Response.json(null), "belongs to another issuer"],
  ["a redirect", /openid/, () => Response.redirect("https://evil.test/", 302), "answered 302"],
  ["a page", /keys/, () => new Response("<html>"), "JSON"],
  ["no set of keys", /keys/, () => Response.json({ keys: {} }), "malformed"],
  ["too long a set", /keys/, () => new Response(" ".repeat(300_000)), "longer than"],
];

for (const [name, url, answer, reason] of ODD) {
  Deno.test(`issuer's keys: an issuer that answers with ${name} lets nobody in`, async () => {
    const rig = await newRig();
    const { issuer } = rig;
    const token = await issuer.token();
    issuer.answer = (asked) => {
      if (url.test(asked)) return Promise.resolve(answer());
      return Promise.resolve(Response.json({ issuer: ISSUER, jwks_uri: issuer.jwksUrl }));
    };
    assertEquals(await statusOf(rig, token), 503);
    assertStringIncludes(formatLogLine(rig.app.logs.at(-1)!), reason);
    issuer.answer = undefined;
    rig.clock.ms += COOL_DOWN;
    assertEquals(await statusOf(rig, token), 200);
  });
}

Deno.test("issuer's keys: secrets, private keys and weak ones in the set open nothing", async () => {
  const rig = await newRig();
  const { issuer } = rig;
  const secret = { kty: "oct", kid: "secret", alg: "HS256", k: "c2VjcmV0" };
  const token = await issuer.token();
  issuer.answer = (url) => {
    if (url !== issuer.jwksUrl) return Promise.resolve(Response.json({ issuer: ISSUER, jwks_uri: issuer.jwksUrl }));
    const [{ publicJwk }] = issuer.keys as [typeof issuer.keys[0]];
    return Promise.resolve(Response.json({ keys: [secret, { ...publicJwk, use: "enc" }, null, { kid: "first" }] }));
  };
  assert([401, 503].includes(await statusOf(rig, token)));
});

Deno.test("issuer's keys: a token that names no key is checked by the only one, and refused where there are several", async () => {
  const rig = await newRig();
  const { issuer, clock } = rig;
  const nameless = () => issuer.token({}, undefined, { kid: undefined });
  assertEquals(await statusOf(rig, await nameless()), 200);
  issuer.keys.push(await newKey("second"));
  clock.ms += COOL_DOWN;
  assertEquals(await statusOf(rig, await issuer.token({}, issuer.keys[1])), 200);
  const refused = await ask(rig, await issuer.token({ jti: "other" }, undefined, { kid: undefined }));
  assertEquals(refused.status, 401);
  assertStringIncludes(refused.message, "does not name the key");
});

Deno.test("issuer's keys: a configured place is asked, and no discovery", async () => {
  const asked: string[] = [];
  const { publicJwk } = await newKey("first");
  const keys = new IssuerKeys({
    issuer: ISSUER,
    jwksUrl: "https://keys.test/jwks",
    fetchJson(url) {
      asked.push(url);
      return Promise.resolve({ keys: [publicJwk] });
    },
    now: () => 0,
    signal: new AbortController().signal,
  });
  await keys.find({ alg: "ES256", kid: "first" }, { payload: "", signature: "" });
  assertEquals(asked, ["https://keys.test/jwks"]);
});
