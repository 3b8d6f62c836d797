/** Keys that operators make, limit and revoke at the console. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { CHAT, chatBody, CONFIG, type ConfigInput, ENV, newApp, NOW, type TestApp } from "../support/app.ts";
import { answerWhole } from "../support/chat.ts";

const KEYED: ConfigInput = {
  ...CONFIG,
  usage: {},
  storedKeys: true,
  store: { kind: "kv", path: "kept/in/memory/by/this/test" },
  teams: { blue: { budget: { dollars: 5, period: "month", unpriced: "allow" } } },
  keys: [
    { name: "ops", secret: { env: "TEAM_KEY" }, operator: true },
    { name: "anna", secret: { env: "GUEST_KEY" }, team: "blue" },
  ],
};
const [OPS, ANNA] = [ENV.TEAM_KEY!, ENV.GUEST_KEY!];
const OWN = { "content-type": "application/json", "x-api-key": OPS };

const keyed = (config = KEYED, now = () => NOW) => newApp({ config, now, fetch: () => Promise.resolve(answerWhole()) });

const order = (app: TestApp, what: string, body: unknown, headers: HeadersInit = OWN) =>
  app.post(`/console/api/keys/${what}`, body, headers);

const listed = async (app: TestApp, query = "") =>
  await (await app.get(`/console/api/keys${query}`, { "x-api-key": OPS })).json();

async function made(app: TestApp, facts: object): Promise<string> {
  const response = await order(app, "create", facts);
  assertEquals(response.status, 201);
  return (await response.json()).key;
}

const statusOf = async (app: TestApp, key: string) => {
  const response = await app.post(CHAT, chatBody(), { "x-api-key": key });
  await response.body?.cancel();
  return response.status;
};

Deno.test("console keys: one is made, shown once, used, limited and revoked", async () => {
  let now = NOW;
  const app = keyed(KEYED, () => now);
  const facts = {
    name: "bob",
    lanes: ["oss"],
    models: ["model"],
    expires: "2099-01-31T00:00:00Z",
    quota: { requestsPerMinute: 10 },
    budget: { dollars: 3, period: "day", unpriced: "allow" },
    team: "blue",
  };
  const key = await made(app, facts);
  assertMatch(key, /^laneway_/);
  assertEquals(await statusOf(app, key), 200);
  const list = await listed(app);
  const bob = list.keys.find(({ name }: { name: string }) => name === "bob");
  const { used, created, isStored, ...kept } = bob;
  assertEquals([kept, isStored, created], [facts, true, new Date(NOW).toISOString()]);
  assertEquals([used.requests, list.teams, list.lanes], [1, ["blue"], ["oss"]]);
  assertEquals(list.budgets.map(({ budget }: { budget: string }) => budget).sort(), ["key:bob", "team:blue"]);
  const text = JSON.stringify(list);
  for (const secret of [key, OPS, ANNA]) assert(!text.includes(secret));
  assert(!/[0-9a-f]{64}/.test(text), "No digest of a key");

  assertEquals((await order(app, "limit", { name: "bob", models: ["another"] })).status, 200);
  now += 1_000;
  assertEquals(await statusOf(app, key), 403);
  assertEquals((await order(app, "limit", { name: "bob" })).status, 200);
  now += 1_000;
  assertEquals(await statusOf(app, key), 200);
  assertEquals((await order(app, "revoke", { name: "bob" })).status, 200);
  now += 1_000;
  assertEquals(await statusOf(app, key), 401);
  for (const what of ["revoke", "limit"]) assertEquals((await order(app, what, { name: "bob" })).status, 404, what);
  await app.close();
});

Deno.test("console keys: only an operator gives orders, from the console's own pages", async () => {
  const app = keyed();
  const refused: [headers: HeadersInit, status: number][] = [
    [{ "content-type": "application/json" }, 401],
    [{ ...OWN, "x-api-key": ANNA }, 403],
    [{ ...OWN, origin: "http://evil.test" }, 403],
    [{ ...OWN, origin: "null" }, 403],
    [{ ...OWN, "sec-fetch-site": "cross-site" }, 403],
    [{ ...OWN, origin: "http://gateway", "sec-fetch-site": "same-site" }, 403],
    [{ ...OWN, "content-type": "text/plain" }, 415],
    [{ ...OWN, "content-type": "application/x-www-form-urlencoded" }, 415],
  ];
  for (const what of ["create", "limit", "revoke"]) {
    for (const [headers, status] of refused) {
      assertEquals((await order(app, what, { name: "x" }, headers)).status, status, JSON.stringify([what, headers]));
    }
    assertEquals((await app.get(`/console/api/keys/${what}`, OWN)).status, 405);
  }
  assertEquals((await app.get("/console/api/keys", { "x-api-key": ANNA })).status, 403);
  assertEquals((await listed(app)).keys.length, 2, "None was made");
});

Deno.test("console keys: what cannot be is refused in a sentence", async () => {
  const app = keyed();
  await made(app, { name: "taken" });
  const wrong: [body: unknown, said: string][] = [
    [{ name: "taken" }, "already exists"],
    [{ name: "anna" }, "already exists"],
    [{ name: "" }, "name"],
    [{ name: " x" }, "blanks"],
    [{ name: "x\u0000" }, "characters"],
    [{ name: "x".repeat(201) }, "200 characters"],
    [{ name: "oidc:ann" }, "oidc:"],
    [{ name: "x", lanes: ["nowhere"] }, 'lane "nowhere"'],
    [{ name: "x", lanes: [] }, "lanes"],
    [{ name: "x", team: "constructor" }, 'team "constructor"'],
    [{ name: "x", expires: "tomorrow" }, "expires"],
    [{ name: "x", quota: { tokensPerDay: 0 } }, "quota.tokensPerDay"],
    [{ name: "x", budget: { dollars: -1, period: "day" } }, "budget.dollars"],
    [{ name: "x", budget: { dollars: 1, period: "hour" } }, "budget.period"],
    [{ name: "x", digest: "0" }, "Unknown setting"],
    [{ name: "x", secret: { env: "HOME" } }, "Unknown setting"],
    [["x"], "JSON object"],
    ["{", "JSON"],
    ["", "empty"],
  ];
  for (const [body, said] of wrong) {
    const response = await order(app, "create", body);
    const { error } = await response.json();
    assertEquals(response.status, 400, JSON.stringify(body));
    assertStringIncludes(error.message, said);
  }
  const huge = await order(app, "create", { name: "x".repeat(2 ** 20) });
  assertEquals(huge.status, 413);
  assertEquals((await listed(app)).keys.length, 3);
});

Deno.test("console keys: hostile names stay names", async () => {
  const app = keyed();
  for (const name of ["__proto__", "constructor", `<img src=x onerror="alert(1)">`, "a/b?c#d", "ключ 🔑"]) {
    const key = await made(app, { name });
    assertEquals(await statusOf(app, key), 200, name);
    assertEquals((await order(app, "revoke", { name })).status, 200, name);
  }
  await app.close();
});

Deno.test("console keys: a long list comes in pages", async () => {
  const app = keyed();
  for (let index = 0; index < 203; index++) await made(app, { name: `key ${index}` });
  const first = await listed(app);
  assertEquals(first.keys.length, 202, "Those of the configuration come first");
  // Neither loses the list its place: the last that was read is revoked, and the next one is.
  for (const name of ["key 199", "key 200"]) assertEquals((await order(app, "revoke", { name })).status, 200);
  const second = await listed(app, `?from=${first.next}`);
  assertEquals(second.keys.map(({ name }: { name: string }) => name), ["key 201", "key 202"]);
  assertEquals(second.next, undefined);
  for (const wrong of ["x", "-1", "1.5", ""]) {
    assertEquals((await app.get(`/console/api/keys?from=${wrong}`, { "x-api-key": OPS })).status, 400, wrong);
  }
});

Deno.test("console keys: without a place for them, the page says what to do", async () => {
  const cases: [more: Partial<ConfigInput>, said: string][] = [
    [{ storedKeys: false }, '"storedKeys": true'],
    [{ store: { kind: "memory" } }, 'of kind "kv" or "redis"'],
  ];
  for (const [more, said] of cases) {
    const app = keyed({ ...KEYED, ...more });
    const { why, keys } = await listed(app);
    assertStringIncludes(why, said);
    assertEquals(keys.map(({ name }: { name: string }) => name), ["ops", "anna"]);
    const response = await order(app, "create", { name: "x" });
    assertEquals([response.status, (await response.json()).error.message], [501, why]);
  }
});

Deno.test("console keys: each action is in the audit log, with the operator and without the key", async () => {
  const file = await Deno.makeTempFile();
  const app = keyed({ ...KEYED, observe: { audit: { file } } });
  const key = await made(app, { name: "bob" });
  await order(app, "limit", { name: "bob", lanes: ["oss"] });
  await order(app, "revoke", { name: "bob" });
  await app.close();
  const text = await Deno.readTextFile(file);
  const lines = text.trim().split("\n").map((line) => JSON.parse(line)).filter(({ key }) => key === "bob");
  assertEquals(lines.map(({ event, by }) => [event, by]), [
    ["key made", "ops"],
    ["key limited", "ops"],
    ["key revoked", "ops"],
  ]);
  assert(!text.includes(key));
  await Deno.remove(file);
});

Deno.test("console keys: one is rotated, and its former secret ends when it was said to", async () => {
  let now = NOW;
  const app = keyed(KEYED, () => now);
  const former = await made(app, { name: "bob" });
  const response = await order(app, "rotate", { name: "bob", keepMs: 60_000 });
  const { name, key, formerUntil } = await response.json();
  assertEquals([response.status, name, formerUntil], [200, "bob", new Date(NOW + 60_000).toISOString()]);
  assertEquals([await statusOf(app, key), await statusOf(app, former)], [200, 200]);
  now += 61_000;
  assertEquals([await statusOf(app, key), await statusOf(app, former)], [200, 401]);
  for (const [body, status] of [[{ name: "anna", keepMs: 0 }, 404], [{ name: "bob", keepMs: -1 }, 400]] as const) {
    const refused = await order(app, "rotate", body);
    await refused.body?.cancel();
    assertEquals(refused.status, status);
  }
  await app.close();
});
