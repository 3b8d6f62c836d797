/** Limits of keys on several gateways before one server, as clients see them, whatever becomes of the server. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { CHAT, chatBody, CONFIG, type ConfigInput, ENV, newApp, type TestApp } from "../../support/app.ts";
import { answerWhole, ENDING, word } from "../../support/chat.ts";
import { fakeUpstream } from "../../support/fake_upstream.ts";
import { startGateway } from "../../support/gateway_process.ts";
import { withFolder } from "../../support/process.ts";
import { isRedisMissing, type RedisServer, startRedis } from "../../support/redis_server.ts";
import { startTcpProxy } from "../../support/tcp_proxy.ts";
import { until, within } from "../../support/wait.ts";

const MANY = 300;

const AUTHORIZED = { authorization: `Bearer ${ENV.TEAM_KEY}` };
const GUEST = { authorization: `Bearer ${ENV.GUEST_KEY}` };
const STORE = { kind: "redis", url: { env: "STORE_URL" } } as const;
type Quota = NonNullable<NonNullable<ConfigInput["keys"]>[number]["quota"]>;

const configOf = (quota: Quota): ConfigInput => ({
  ...CONFIG,
  keys: [
    { name: "team", secret: { env: "TEAM_KEY" }, quota },
    { name: "guest", secret: { env: "GUEST_KEY" }, operator: true },
  ],
  store: STORE,
});

interface Setting {
  server: RedisServer;
  apps: TestApp[];
}

interface Options {
  count?: number;
  fetch?: typeof fetch;
  /** The server's, as on its command line. */
  server?(folder: string): readonly string[];
  /** Whether the server can be used as it starts. Then the gateways have their connections before a test begins. */
  isReady?: boolean;
}

function openApps(url: string, quota: Quota, { count = 3, fetch = fakeUpstream(() => answerWhole()).fetch }: Options) {
  return Array.from({ length: count }, () =>
    newApp({
      config: configOf(quota),
      env: { ...ENV, STORE_URL: url },
      fetch,
      store: undefined,
      now: Date.now,
      monotonic: () => performance.now(),
    }));
}

function test(name: string, quota: Quota, use: (setting: Setting) => Promise<void>, options: Options = {}): void {
  Deno.test({
    name: `limits: ${name}`,
    ignore: isRedisMissing,
    fn: () =>
      withFolder(async (folder) => {
        const server = await startRedis(options.server?.(folder));
        const apps = openApps(server.url, quota, options);
        try {
          if (options.isReady ?? true) await knowEachOther(apps);
          await use({ server, apps });
        } finally {
          for (const app of apps) await app.close();
          await server.stop();
        }
      }),
  });
}

async function chat(app: TestApp, headers: Record<string, string> = AUTHORIZED): Promise<Response> {
  const response = await within(app.post(CHAT, chatBody(), headers));
  await response.body?.cancel();
  return response;
}

const statusOf = async (app: TestApp) => (await chat(app)).status;

async function metricsOf(app: TestApp): Promise<Record<string, number>> {
  const page = await (await app.get("/metrics", { authorization: `Bearer ${ENV.GUEST_KEY}` })).text();
  return Object.fromEntries(
    [...page.matchAll(/^(laneway_(?:limits_alone|gateways)) (\d+)$/gm)].map((
      [, name, value],
    ) => [name, Number(value)]),
  );
}

/** Nothing of the limits is used for it. */
async function knowEachOther(apps: readonly TestApp[]): Promise<void> {
  for (const app of apps) await chat(app, GUEST);
  await until(async () =>
    (await Promise.all(apps.map(metricsOf))).every((one) => one.laneway_gateways === apps.length)
  );
}

test(
  "what is left is right on every wire, whichever gateway answered before",
  { requestsPerMinute: 4 },
  async ({ apps }) => {
    const [one, two, three] = apps as [TestApp, TestApp, TestApp];
    const left = ({ headers }: Response) =>
      headers.get("x-ratelimit-remaining-requests") ?? headers.get("anthropic-ratelimit-requests-remaining");
    const messages = [{ role: "user", content: "Hello" }];
    const post = async (app: TestApp, path: string, body: object) => {
      const response = await app.post(path, { model: "model", ...body }, {
        ...AUTHORIZED,
        "anthropic-version": "2023-06-01",
      });
      await response.body?.cancel();
      return [response.status, left(response)];
    };
    assertEquals(await post(one, CHAT, { messages }), [200, "3"]);
    assertEquals(await post(two, "/oss/v1/messages", { messages, max_tokens: 9 }), [200, "2"]);
    assertEquals(await post(three, "/oss/v1/responses", { input: "Hello" }), [200, "1"]);
    assertEquals(await post(one, CHAT, { messages, stream: true }), [200, "0"]);
    for (const path of [CHAT, "/oss/v1/messages"]) {
      assertEquals(await post(two, path, { messages, max_tokens: 9 }), [
        429,
        "0",
      ]);
    }
    const refused = await three.post("/oss/v1/responses", { model: "model", input: "Hello" }, AUTHORIZED);
    assertEquals([refused.status, left(refused)], [429, "0"]);
    assert(Number(refused.headers.get("retry-after")) > 0);
    await refused.body?.cancel();
  },
);

test(
  "two hundred at once on three gateways are as many as there may be",
  { requestsPerMinute: 60 },
  async ({ apps }) => {
    const since = performance.now();
    const answers = await Promise.all(Array.from({ length: 200 }, (_, index) => statusOf(apps[index % 3]!)));
    const isIn = answers.filter((status) => status === 200).length;
    // A minute's worth, and what the time that they took made room for.
    const more = Math.ceil((performance.now() - since) / 1_000);
    assert(isIn >= 60 && isIn <= 60 + more, `${isIn} were let in`);
    assertEquals(answers.length - isIn, answers.filter((status) => status === 429).length);
  },
);

test("one at once is one on all gateways, and the next one is let in as soon as it has its answer", {
  concurrentRequests: 1,
}, async ({ apps }) => {
  for (let count = 0; count < 30; count++) assertEquals(await statusOf(apps[0]!), 200);
  for (let count = 0; count < 30; count++) assertEquals(await statusOf(apps[count % 3]!), 200);
});

for (
  const [what, stop, start] of [
    ["frozen", (server: RedisServer) => server.kill("SIGSTOP"), (server: RedisServer) => server.kill("SIGCONT")],
    ["killed", (server: RedisServer) => server.stop(), (server: RedisServer) => startRedis([], server.port)],
  ] as const
) {
  test(
    `while the server is ${what}, chats are answered as fast as without it, the log says so once, and it is used again afterwards`,
    {
      requestsPerMinute: 1_000_000,
    },
    async ({ server, apps }) => {
      const before = apps.map(({ logs }) => logs.length);
      await stop(server);
      let next: RedisServer | void = undefined;
      try {
        for (const app of apps) await statusOf(app);
        await within((async () => {
          for (let count = 0; count < MANY; count++) assertEquals(await statusOf(apps[count % 3]!), 200);
        })());
        for (const [index, app] of apps.entries()) {
          assertEquals(await metricsOf(app), { laneway_limits_alone: 1, laneway_gateways: 3 });
          const causes = app.logs.slice(before[index]).flatMap(({ cause }) => cause ? [(cause as Error).message] : []);
          assertEquals(causes.length, 1, causes.join("\n"));
          assertMatch(causes[0]!, /^Limits are counted by this gateway alone, as one of 3 gateways: /);
        }
        next = await start(server);
        await until(async () => {
          for (const app of apps) await statusOf(app);
          return (await Promise.all(apps.map(metricsOf))).every((one) => one.laneway_limits_alone === 0);
        });
      } finally {
        for (const app of apps) await app.close();
        await next?.stop();
      }
    },
  );
}

Deno.test({
  name: "limits: nobody waits for a server that is slow, limits hold meanwhile, and are shared again once it is quick",
  ignore: isRedisMissing,
  async fn() {
    const server = await startRedis();
    const proxy = startTcpProxy(server.port);
    const apps = openApps(`redis://127.0.0.1:${proxy.port}`, { requestsPerMinute: 1_000_000 }, {});
    try {
      await knowEachOther(apps);
      proxy.delayMs = 400;
      for (const app of apps) await statusOf(app);
      await within((async () => {
        for (let count = 0; count < MANY; count++) assertEquals(await statusOf(apps[count % 3]!), 200);
      })());
      proxy.delayMs = 0;
      await until(async () => (await metricsOf(apps[0]!)).laneway_limits_alone === 0);
    } finally {
      for (const app of apps) await app.close();
      await proxy.stop();
      await server.stop();
    }
  },
});

test(
  "a server that is frozen refuses whoever had used all before",
  { requestsPerMinute: 5 },
  async ({ server, apps }) => {
    const since = performance.now();
    for (let count = 0; count < 20; count++) await statusOf(apps[count % 3]!);
    server.kill("SIGSTOP");
    const answers = await Promise.all(Array.from({ length: 60 }, (_, index) => statusOf(apps[index % 3]!)));
    server.kill("SIGCONT");
    // The time that all this took may have made room for a few.
    const more = Math.ceil((performance.now() - since) / 12_000);
    assert(answers.filter((status) => status === 200).length <= more, answers.join(" "));
  },
);

test("scripts that the server has forgotten, and all that it knew, are made anew in the middle", {
  requestsPerMinute: 3,
}, async ({ server, apps }) => {
  assertEquals([await statusOf(apps[0]!), await statusOf(apps[1]!)], [200, 200]);
  await server.ask("SCRIPT", "FLUSH");
  assertEquals([await statusOf(apps[2]!), await statusOf(apps[0]!)], [200, 429]);
  await server.ask("FLUSHALL");
  assertEquals([await statusOf(apps[2]!), await statusOf(apps[0]!)], [200, 200]);
});

test("a server that lets nobody name scripts counts all the same", {
  requestsPerMinute: 2,
}, async ({ apps }) => {
  assertEquals([await statusOf(apps[0]!), await statusOf(apps[1]!), await statusOf(apps[2]!)], [200, 200, 429]);
}, { server: () => ["--rename-command", "EVALSHA", "", "--rename-command", "SCRIPT", ""] });

test("on a server of a cluster each script keeps to what is there", {
  requestsPerMinute: 2,
  tokensPerDay: 1_000,
  concurrentRequests: 5,
}, async ({ server, apps }) => {
  await server.ask("CLUSTER", "ADDSLOTSRANGE", "0", "16383");
  await until(async () => (await server.ask("CLUSTER", "INFO")).includes("cluster_state:ok"));
  await knowEachOther(apps);
  assertEquals([await statusOf(apps[0]!), await statusOf(apps[1]!), await statusOf(apps[2]!)], [200, 200, 429]);
  assertEquals((await metricsOf(apps[0]!)).laneway_limits_alone, 0);
}, {
  isReady: false,
  server: (folder) => ["--cluster-enabled", "yes", "--cluster-config-file", `${folder}/nodes.conf`],
});

test("a server that is full goes on counting", {
  requestsPerMinute: 3,
  tokensPerMinute: 1_000,
  concurrentRequests: 1,
}, async ({ server, apps }) => {
  await server.ask("CONFIG", "SET", "maxmemory", "1");
  for (let count = 0; count < 3; count++) assertEquals(await statusOf(apps[count]!), 200);
  assertEquals(await statusOf(apps[0]!), 429);
  assertEquals((await metricsOf(apps[0]!)).laneway_limits_alone, 0);
}, { server: () => ["--maxmemory-policy", "noeviction"] });

Deno.test({
  name: "limits: what a process ran that is killed is over for the others once its leases end",
  ignore: isRedisMissing,
  fn: () =>
    withFolder(async (folder) => {
      const server = await startRedis();
      const upstream = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, endless);
      const path = `${folder}/gateway.json`;
      const { fake } = CONFIG.upstreams;
      const config = configOf({ concurrentRequests: 1 });
      const upstreams = {
        ...CONFIG.upstreams,
        fake: { ...fake, baseUrl: `http://127.0.0.1:${upstream.addr.port}/v1` },
      };
      await Deno.writeTextFile(path, JSON.stringify({ ...config, upstreams }));
      const env = { ...ENV, STORE_URL: server.url };
      const [one, two] = await Promise.all([1, 2].map(() => startGateway(path, [], undefined, env)));
      const ask = (url: string, model: string, stream: boolean) =>
        fetch(`${url}${CHAT}`, {
          method: "POST",
          headers: { ...AUTHORIZED, "content-type": "application/json" },
          body: JSON.stringify(chatBody({ model, stream })),
        });
      const statusOf = async (url: string) => {
        const response = await ask(url, "sandbox", false);
        await response.body?.cancel();
        return response.status;
      };
      let isDead = false;
      try {
        const running = await ask(one!.url, "model", true);
        const reader = running.body!.getReader();
        await reader.read();
        assertEquals(await statusOf(two!.url), 429);
        await one!.kill();
        isDead = true;
        await reader.cancel().catch(() => {});
        assertEquals(await statusOf(two!.url), 429);
        // Time passes for what the server has written down.
        await server.ask("EVAL", AGE, "0", "11000");
        assertEquals(await statusOf(two!.url), 200);
      } finally {
        if (!isDead) await one!.kill();
        await two!.stop();
        await upstream.shutdown();
        await server.stop();
      }
    }),
});

const AGE = `
for _, key in ipairs(redis.call('KEYS', 'laneway:*:leases')) do
  for _, id in ipairs(redis.call('ZRANGE', key, 0, -1)) do redis.call('ZINCRBY', key, -ARGV[1], id) end
end
`;

/** A word, and then nothing until the client has gone. */
function endless({ signal }: Request): Response {
  const body = new ReadableStream({
    start(controller) {
      controller.enqueue(new TextEncoder().encode(word("Hello")));
      signal.addEventListener("abort", () => {
        try {
          controller.enqueue(new TextEncoder().encode(ENDING));
          controller.close();
        } catch {
          // nobody reads it any more
        }
      });
    },
  });
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
}
