/** What upstreams were found to refuse, as operators see it and have it forgotten. */
import { assertEquals } from "@std/assert";
import { createMemoryStore } from "../../src/state/memory_store.ts";
import type { Store } from "../../src/state/store.ts";
import { CHAT, chatBody, CONFIG, type ConfigInput, ENV, newApp, NOW, type TestApp } from "../support/app.ts";
import { answerWhole } from "../support/chat.ts";
import type { OtherWorker, Workers } from "../../src/context/workers.ts";

const OPS = "ops-key-0a1b2c";
const CONFIGURED: ConfigInput = {
  ...CONFIG,
  keys: [
    { name: "team", secret: { env: "TEAM_KEY" } },
    { name: "guest", secret: { env: "GUEST_KEY" } },
    { name: "ops", secret: { env: "OPS_KEY" }, operator: true },
  ],
};
const TOMORROW = new Date(NOW + 86_400_000).toISOString();

interface Rig {
  clock: { ms: number };
  store: Store;
  /** What the host was asked. */
  bodies: Record<string, unknown>[];
  gateway(config?: ConfigInput, workers?: Workers): TestApp;
}

/** A host that refuses `top_k` and patterns in schemas. */
function rig(): Rig {
  const clock = { ms: NOW };
  const store = createMemoryStore({ now: () => clock.ms, limitBytes: 2 ** 20 });
  const bodies: Record<string, unknown>[] = [];
  const refuse = (message: string) => Response.json({ error: { message } }, { status: 400 });
  const fetch: typeof globalThis.fetch = async (input, init) => {
    const body = await new Request(input, init).json();
    bodies.push(body);
    if ("top_k" in body) return refuse("Unrecognized request argument supplied: top_k");
    return JSON.stringify(body).includes('"pattern"') ? refuse("Unknown keyword 'pattern'") : answerWhole();
  };
  const gateway = (config = CONFIGURED, workers?: Workers) =>
    newApp({ config, env: { ...ENV, OPS_KEY: OPS }, store, fetch, now: () => clock.ms, workers });
  return { clock, store, bodies, gateway };
}

const PROPERTIES = { id: { type: "string", pattern: "^a" } };
const TOOL = { type: "function", function: { name: "f", parameters: { type: "object", properties: PROPERTIES } } };

async function ask(app: TestApp, key = ENV.TEAM_KEY!) {
  const response = await app.post(CHAT, chatBody({ top_k: 3, tools: [TOOL] }), { "x-api-key": key });
  await response.text();
  assertEquals(response.status, 200);
}

// deno-lint-ignore no-explicit-any -- the answer as anybody gets it
async function refusedIn(app: TestApp, path = "/status"): Promise<any> {
  const { upstreams } = await (await app.get(path, { "x-api-key": OPS })).json();
  return upstreams.find(({ name }: { name: string }) => name === "fake").refused;
}

async function forget(app: TestApp, body: object, key = OPS) {
  const response = await app.post("/console/api/upstreams/forget", body, {
    "x-api-key": key,
    "content-type": "application/json",
  });
  return { status: response.status, body: await response.json() };
}

const PATTERN = { model: "org/model", kind: "left out", part: "pattern in schemas", until: TOMORROW };
const TOP_K = { model: "org/model", kind: "left out", part: "top_k", until: TOMORROW };
const settings = { refuses: ["top_k"] };

Deno.test("status: what a model refuses is listed with whom it holds for, until when, and the settings that say the same", async () => {
  const { gateway } = rig();
  const app = gateway();
  assertEquals(await refusedIn(app), undefined);
  await ask(app);
  const one = { holdsFor: "one key" };
  assertEquals(await refusedIn(app), [{ ...TOP_K, ...one, settings }, { ...PATTERN, ...one }]);
  await ask(app, ENV.GUEST_KEY);
  const all = { holdsFor: "all keys" };
  assertEquals(await refusedIn(app), [{ ...TOP_K, ...all, settings }, { ...PATTERN, ...all }]);
  assertEquals(await refusedIn(app, "/console/api/status"), await refusedIn(app));
});

Deno.test("status: a gateway that was just started lists what others on its store have found", async () => {
  const { gateway } = rig();
  await ask(gateway());
  assertEquals((await refusedIn(gateway())).length, 2);
});

Deno.test("status: with several processes, each part is listed once, as it was found last, and for all keys if one knows that", async () => {
  const later = new Date(NOW + 90_000_000).toISOString();
  const part = { model: "org/model", kind: "left out" as const, holdsFor: "one key" as const };
  const refused = [{ ...part, part: "top_k", until: later }, { ...part, part: "min_p", until: TOMORROW }];
  const sums = { requestsRunning: 0, streamsOpen: 0, webSocketsOpen: 0, memoryBytes: 0 };
  const upstreams = [{ name: "fake", driver: "chat", resting: [], refused }];
  const other: OtherWorker = {
    worker: 2,
    pid: 2,
    isFresh: true,
    metrics: "",
    status: { status: "ready", ...sums, upstreams },
  };
  const workers: Workers = {
    worker: 1,
    pid: 1,
    count: 2,
    inherited: "",
    publish: () => Promise.resolve(),
    others: () => Promise.resolve([other]),
  };
  const app = rig().gateway(CONFIGURED, workers);
  await ask(app);
  await ask(app, ENV.GUEST_KEY);
  const found = await refusedIn(app);
  await app.close();
  assertEquals(
    found.map(({ part, holdsFor, until }: Record<string, string>) => [part, holdsFor, until]).sort(),
    [["min_p", "one key", TOMORROW], ["pattern in schemas", "all keys", TOMORROW], ["top_k", "all keys", later]],
  );
});

Deno.test("status: what a trusted host refuses holds for all keys at once", async () => {
  const { gateway } = rig();
  const fake = { ...CONFIG.upstreams.fake, relax: "trusted" as const };
  const app = gateway({ ...CONFIGURED, upstreams: { ...CONFIG.upstreams, fake } });
  await ask(app);
  assertEquals((await refusedIn(app)).map(({ holdsFor }: { holdsFor: string }) => holdsFor), ["all keys", "all keys"]);
});

Deno.test("status: the setting that it names says the same", async () => {
  const { gateway, bodies } = rig();
  const app = gateway();
  await ask(app);
  const [{ settings }] = await refusedIn(app);
  const fake = { ...CONFIG.upstreams.fake, relax: "off" as const, ...settings };
  const response = await gateway({ ...CONFIGURED, upstreams: { ...CONFIG.upstreams, fake } })
    .post(CHAT, chatBody({ top_k: 3 }), { "x-api-key": ENV.TEAM_KEY! });
  await response.text();
  assertEquals([response.status, bodies.at(-1)!.top_k], [200, undefined]);
});

for (const model of ["org/model", undefined]) {
  Deno.test(`forgetting: the next request has its full form again, also at other gateways (${model ?? "all models"})`, async () => {
    const { gateway, clock, bodies } = rig();
    const [app, other] = [gateway(), gateway()];
    await ask(app);
    await ask(other);
    assertEquals(await forget(app, { upstream: "fake", model: "org/other" }), {
      status: 200,
      body: { upstream: "fake", model: "org/other" },
    });
    assertEquals((await refusedIn(app)).length, 2);
    assertEquals((await forget(app, { upstream: "fake", model })).status, 200);
    assertEquals(await refusedIn(app), undefined);
    // The others look once in ten seconds.
    clock.ms += 10_000;
    assertEquals(await refusedIn(other), undefined);
    for (const one of [app, other]) {
      const before = bodies.length;
      await ask(one);
      assertEquals(bodies[before]!.top_k, 3);
    }
  });
}

Deno.test("forgetting: a gateway that writes requests with what another forgot stops to, without a look at its status", async () => {
  const { gateway, clock, bodies } = rig();
  const [app, other] = [gateway(), gateway()];
  await ask(app);
  await ask(other);
  clock.ms += 1;
  await forget(app, { upstream: "fake" });
  clock.ms += 10_000;
  await ask(other);
  const before = bodies.length;
  await ask(other);
  assertEquals(bodies[before]!.top_k, 3);
});

Deno.test("forgetting: it is for operators, and for upstreams that there are", async () => {
  const { gateway } = rig();
  const app = gateway();
  await ask(app);
  assertEquals((await forget(app, { upstream: "fake" }, ENV.TEAM_KEY)).status, 403);
  assertEquals((await forget(app, { upstream: "nowhere" })).status, 404);
  assertEquals((await forget(app, {})).status, 400);
  assertEquals((await refusedIn(app)).length, 2);
});

Deno.test("forgetting: if the store does not answer, the operator learns that others may remember", async () => {
  const { gateway, store } = rig();
  const app = gateway();
  await ask(app);
  store.update = () => Promise.reject(new Error("down"));
  const { status, body } = await forget(app, { upstream: "fake" });
  assertEquals([status, await refusedIn(app)], [503, undefined]);
  assertEquals(
    body.error.message,
    'This gateway has forgotten what "fake" refuses. The store did not answer: others may remember it',
  );
});

Deno.test("forgetting: it is in the audit log, with the operator", async () => {
  const file = await Deno.makeTempFile();
  const app = rig().gateway({ ...CONFIGURED, observe: { audit: { file } } });
  await forget(app, { upstream: "fake", model: "org/model" });
  await app.close();
  const lines = (await Deno.readTextFile(file)).trim().split("\n").map((line) => JSON.parse(line));
  const { time: _, ...line } = lines.find(({ event }) => event === "refusals forgotten");
  assertEquals(line, { event: "refusals forgotten", upstream: "fake", model: "org/model", by: "ops" });
  await Deno.remove(file);
});

Deno.test("explain: each target shows what it was found to refuse of the caller's requests, and the call without it", async () => {
  const { gateway, bodies } = rig();
  await ask(gateway());
  const app = gateway();
  const asked = bodies.length;
  const explained = async (key: string) => {
    const headers = { "x-api-key": key, "x-laneway-explain": "true" };
    const { targets } = await (await app.post(CHAT, chatBody({ top_k: 3, tools: [TOOL] }), headers)).json();
    return targets[0];
  };
  const own = await explained(ENV.TEAM_KEY!);
  const { model: _, ...topK } = { ...TOP_K, holdsFor: "one key", settings };
  const { model: __, ...pattern } = { ...PATTERN, holdsFor: "one key" };
  assertEquals(own.refused, [topK, pattern]);
  assertEquals([own.requests[0].body.top_k, JSON.stringify(own).includes('"^a"')], [undefined, false]);
  const others = await explained(ENV.GUEST_KEY!);
  assertEquals([others.refused, others.requests[0].body.top_k], [undefined, 3]);
  assertEquals(bodies.length, asked);
});
