import { assertEquals } from "@std/assert";
import { CHAT, chatBody, CONFIG, ENV, newApp, NOW, TWO_UPSTREAMS } from "../support/app.ts";
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
