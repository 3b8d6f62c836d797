import { assertEquals } from "@std/assert";
import { CHAT, chatBody, CONFIG, ENV, newApp, NOW, TWO_UPSTREAMS } from "../support/app.ts";
import type { Catalog } from "../../src/contract/catalog.ts";
import { until } from "../support/wait.ts";
import manifest from "../../deno.json" with { type: "json" };
import { PUBLIC_PRICES } from "../../src/lanes/prices.ts";
import { answerWhole } from "../support/chat.ts";

Deno.test("status: who rests, who is slow, and what failed last", async () => {
  const clock = { ms: NOW };
  const upstreams = {
    first: TWO_UPSTREAMS.upstreams.first,
    second: { ...TWO_UPSTREAMS.upstreams.second, concurrency: { running: 3 } },
  };
  const app = newApp({
    config: { ...TWO_UPSTREAMS, upstreams },
    now: () => clock.ms,
    fetch: (input) => {
      clock.ms += 50;
      const isFirst = String(input).includes("first");
      return Promise.resolve(isFirst ? new Response("hunter2", { status: 500 }) : answerWhole());
    },
  });
  try {
    // Conversations of their own, or the second upstream would go on with the first one.
    for (const content of ["a", "b", "c", "d", "e"]) {
      await (await app.post(CHAT, chatBody({ messages: [{ role: "user", content }] }))).text();
    }
    const { upstreams, ...own } = await (await app.get("/status")).json();
    assertEquals({ ...own, memoryBytes: undefined }, {
      object: "status",
      status: "ready",
      requestsRunning: 0,
      streamsOpen: 0,
      webSocketsOpen: 0,
      memoryBytes: undefined,
      prices: PUBLIC_PRICES,
    });
    const time = new Date(NOW + 9 * 50).toISOString();
    assertEquals(upstreams, [
      { name: "first", driver: "chat", resting: ["org/model"], lastError: { code: "upstream_error", time } },
      { name: "second", driver: "chat", resting: [], running: 0, waiting: 0, latencyMs: 50 },
    ]);
    app.drain();
    assertEquals((await (await app.get("/status")).json()).status, "draining");
  } finally {
    await app.close();
  }
});

const LIST: Catalog = {
  name: "list",
  listing: () => [{ path: "models" }],
  parseListing: () => [{ id: "org/listed", task: "chat", created: 1, ownedBy: "org" }],
};

Deno.test("status: each catalog says how old its list is, and the public prices say from when they are", async () => {
  const clock = { ms: NOW };
  let isDown = false;
  const config = {
    ...TWO_UPSTREAMS,
    catalogs: { list: { plugin: "list", baseUrl: "https://hub.test" } },
  };
  const app = newApp({
    plugins: { catalogs: [LIST] },
    config: { ...config, lanes: { oss: { ...TWO_UPSTREAMS.lanes.oss, catalog: "list" } } },
    now: () => clock.ms,
    monotonic: () => clock.ms,
    fetch: () => Promise.resolve(isDown ? new Response("", { status: 500 }) : Response.json({})),
  });
  try {
    const catalogs = async () => (await (await app.get("/status")).json()).catalogs;
    assertEquals(await catalogs(), [{ name: "list" }]);
    await (await app.get("/oss/v1/models")).body?.cancel();
    clock.ms += 700_000;
    assertEquals(await catalogs(), [{ name: "list", models: 1, ageSeconds: 700 }]);
    isDown = true;
    await (await app.get("/oss/v1/models")).body?.cancel();
    await until(async () => (await catalogs())[0].lastError !== undefined);
    assertEquals(await catalogs(), [{ name: "list", models: 1, ageSeconds: 700, lastError: "unavailable" }]);
    const version = manifest.imports["genai-prices"].split("@").at(-1);
    assertEquals(version, PUBLIC_PRICES.version, "its date is that of the package's publication");
  } finally {
    await app.close();
  }
});

Deno.test("status: it is for operators, and names no key and no secret", async () => {
  const keys = [{ name: "ops", secret: { env: "TEAM_KEY" }, operator: true }, {
    name: "g",
    secret: { env: "GUEST_KEY" },
  }];
  const app = newApp({ config: { ...CONFIG, keys } });
  assertEquals((await app.get("/status")).status, 401);
  assertEquals((await app.get("/status", { "x-api-key": ENV.GUEST_KEY! })).status, 403);
  const text = await (await app.get("/status", { "x-api-key": ENV.TEAM_KEY! })).text();
  assertEquals(Object.values(ENV).filter((secret) => text.includes(secret)), []);
});
