/** A store on a real server that fails in each way that servers do. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { parseRedisUrl } from "../../../src/config/redis_url.ts";
import { createLink, type Link, OPEN_MS } from "../../../src/state/redis/link.ts";
import { createRedisStore } from "../../../src/state/redis/store.ts";
import { openWire } from "../../../src/state/redis/wire.ts";
import type { Store } from "../../../src/state/store.ts";
import { freePort, isRedisMissing, type RedisServer, startRedis } from "../../support/redis_server.ts";
import { startTcpProxy } from "../../support/tcp_proxy.ts";
import { delay, until, within } from "../../support/wait.ts";

const LATER = 1_000_000;
const MANY = 200;

interface Setting {
  server: RedisServer;
  store: Store;
  link: Link;
}

function openStore(url: string, ca?: string) {
  const address = parseRedisUrl(url)!;
  const link = createLink(() => openWire({ address, connectMs: OPEN_MS, ca }));
  return { link, store: createRedisStore({ link, now: () => 0 }) };
}

function test(name: string, use: (setting: Setting) => Promise<void>, options: readonly string[] = []): void {
  Deno.test({
    name: `redis: ${name}`,
    ignore: isRedisMissing,
    async fn() {
      const server = await startRedis(options);
      const { store, link } = openStore(server.url);
      try {
        await until(() => works(store)); // a busy machine may take long to open the first connection
        await use({ server, store, link });
      } finally {
        store.close();
        await server.stop();
      }
    },
  });
}

const works = (store: Store) => store.get(["any"]).then(() => true, () => false);

async function assertNobodyWaits(store: Store): Promise<void> {
  await within(assertRejects(() => store.get(["a"])));
  await within((async () => {
    for (let count = 0; count < MANY; count++) await assertRejects(() => store.get(["a"]));
  })());
}

test("nobody waits for a server that is frozen, it is used again once it answers, and what was late is not done", async ({ server, store }) => {
  await store.add([[["before"], 1]], LATER);
  server.kill("SIGSTOP");
  await within(assertRejects(() => store.add([[["late"], 1]], LATER)));
  await assertNobodyWaits(store);
  server.kill("SIGCONT");
  await until(() => works(store));
  assertEquals([await store.get(["before"]), await store.get(["late"])], [1, undefined]);
  assertEquals(await store.add([[["late"], 2]], LATER), true);
});

Deno.test("redis: that this process is busy while a connection is opened is no fault of the server's", async () => {
  const link = createLink(async () => {
    await delay(1);
    for (const since = performance.now(); performance.now() < since + 1.5 * OPEN_MS;);
    await delay(1); // what is overdue comes first
    return { send: () => Promise.resolve(["1", "0"]), lost: new Promise(() => {}), destroy() {} };
  });
  assertEquals(await link.send(["PING"]), ["1", "0"]);
  link.close();
});

test("a server that is killed and comes back is found again", async ({ server, store }) => {
  await store.add([[["a"], 1]], LATER);
  await server.stop();
  await assertNobodyWaits(store);
  const next = await startRedis([], server.port);
  try {
    await until(() => works(store));
    assertEquals(await store.add([[["a"], 2]], LATER), true);
  } finally {
    await next.stop();
  }
});

Deno.test({
  name: "redis: a server that is not there yet is found once it is",
  ignore: isRedisMissing,
  async fn() {
    const port = freePort();
    const { store } = openStore(`redis://127.0.0.1:${port}`);
    await assertNobodyWaits(store);
    const server = await startRedis([], port);
    try {
      await until(() => works(store));
    } finally {
      store.close();
      await server.stop();
    }
  },
});

test("a server that is frozen while nobody asks is known to be by the next who does", async ({ server, store, link }) => {
  await works(store);
  server.kill("SIGSTOP");
  // Short commands give up early, and take no server for lost.
  await until(() => link.send(["PING"], 10).then(() => false, ({ message }) => !message.includes("10 ms")));
  server.kill("SIGCONT");
  await until(() => works(store));
});

test("whoever is in a hurry does not wait for a server that is slow, others do, and nobody is refused once it is quick", async ({ server }) => {
  const proxy = startTcpProxy(server.port);
  const { store, link } = openStore(`redis://127.0.0.1:${proxy.port}`);
  const hurried = () => link.send(["PING"], 50).then(() => "answered", ({ message }) => message as string);
  try {
    await until(() => works(store));
    await store.add([[["a"], 1]], LATER);
    proxy.delayMs = 300;
    assertEquals(await hurried(), "The store did not answer within 50 ms");
    for (let count = 0; count < MANY; count++) {
      assertEquals(await hurried(), "The store takes longer than 50 ms to answer");
    }
    assertEquals(await store.get(["a"]), 1);
    proxy.delayMs = 0;
    await until(async () => await hurried() === "answered");
  } finally {
    store.close();
    await proxy.stop();
  }
});

test("nobody in a hurry waits for a server that goes on being slow, though each answer would come in time", async ({ server }) => {
  const proxy = startTcpProxy(server.port);
  const { store, link } = openStore(`redis://127.0.0.1:${proxy.port}`);
  try {
    await until(() => works(store));
    await until(() => link.isReady(250));
    proxy.delayMs = 150;
    await until(() => !link.isReady(250));
    assertEquals([link.isReady(800), await works(store)], [true, true]);
    proxy.delayMs = 0;
    await until(() => link.isReady(250));
  } finally {
    store.close();
    await proxy.stop();
  }
});

test("a gateway that was busy for long takes no server for slow or lost because of it", async ({ store, link }) => {
  // Whoever is in a hurry has the server looked at, whose reply comes while the gateway is busy.
  await assertRejects(() => link.send(["BLPOP", "none", "0.1"], 20));
  const until = performance.now() + 1_500;
  while (performance.now() < until);
  await delay(50);
  assertEquals([link.isReady(250), await works(store)], [true, true]);
});

test("what is added is added once, though the server's reply is lost, and not at all where it was frozen meanwhile", async ({ server }) => {
  const proxy = startTcpProxy(server.port);
  const { store } = openStore(`redis://127.0.0.1:${proxy.port}`);
  let asked = 0;
  const add = (meanwhile: () => void) =>
    store.update(["sum"], (sum) => {
      if (asked++ === 0) meanwhile();
      return Number(sum ?? 0) + 1;
    });
  try {
    await until(() => works(store));
    await store.update(["other"], () => 1); // the server knows the script now
    const lost = add(() => proxy.delayMs = 600_000);
    await until(async () => (await server.ask("DBSIZE")) === ":2");
    proxy.delayMs = 0;
    proxy.drop();
    await within(lost);
    await until(() => works(store));
    assertEquals([await store.get(["sum"]), asked], [1, 1]);
    asked = 0;
    const late = assertRejects(() => add(() => server.kill("SIGSTOP")));
    await until(() => store.get(["sum"]).then(() => false, () => true));
    server.kill("SIGCONT");
    await within(late);
    assertEquals([await store.get(["sum"]), asked], [1, 1]);
  } finally {
    store.close();
    await proxy.stop();
  }
});

const writes = (store: Store) => store.add([[[crypto.randomUUID()], 1]], LATER).then(() => true, () => false);

test(
  "a server that was demoted, or that a script keeps busy, holds up nobody, and is used again afterwards",
  async ({ server, store }) => {
    await server.ask("CONFIG", "SET", "repl-diskless-sync-delay", "0");
    await server.ask("REPLICAOF", "127.0.0.1", String(freePort()));
    await within((async () => {
      for (let count = 0; count < MANY; count++) assertEquals(await writes(store), false);
    })());
    await server.ask("REPLICAOF", "NO", "ONE");
    await until(() => writes(store));
    const endless = server.ask("EVAL", "while true do end", "0");
    await until(async () => !await works(store));
    await assertNobodyWaits(store);
    await until(async () => (await server.ask("SCRIPT", "KILL")) === "+OK");
    await endless;
    await until(() => writes(store));
  },
  ["--busy-reply-threshold", "50"],
);

test("a full server refuses what is new, keeps what it has, and lets it be read and deleted", async ({ store }) => {
  const text = Array.from({ length: 20_000 }, () => Math.random().toString(36)).join("");
  let count = 0;
  await assertRejects(
    async () => {
      while (count < 100) await store.add([[["large", String(count)], text]], LATER).then(() => count++);
    },
    Error,
    "OOM",
  );
  assert(count > 0);
  assertEquals(await store.get(["large", "0"]) === text, true);
  assertEquals(await store.get(["large", String(count)]), undefined);
  for (let index = 0; index < count; index++) assertEquals(await store.delete(["large", String(index)]), true);
  await until(() => store.add([[["new"], 1]], LATER).catch(() => false));
}, ["--maxmemory", "4mb", "--maxmemory-policy", "noeviction"]);

test("a server that lets nobody name scripts gets them whole", async ({ store }) => {
  assertEquals([await store.add([[["a"], 1]], LATER), await store.add([[["a"], 2]], LATER)], [true, false]);
  await store.update(["b"], () => 3);
  assertEquals([await store.get(["a"]), await store.get(["b"])], [1, 3]);
}, ["--rename-command", "EVALSHA", "", "--rename-command", "SCRIPT", ""]);

test("a server that has forgotten its scripts learns them again", async ({ server, store }) => {
  assertEquals(await store.add([[["a"], 1]], LATER), true);
  assertEquals(await server.ask("SCRIPT", "FLUSH"), "+OK");
  assertEquals(await store.add([[["a"], 1]], LATER), false);
});

test("long values lie compressed, and nothing of a key is readable", async ({ server, store }) => {
  const text = "What is kept of an answer that says the same again and again. ".repeat(10_000);
  await store.add([[["answers", "ada", "resp_1"], { text }]], LATER);
  const [, name] = /(laneway:\S+)/.exec(await server.ask("KEYS", "*"))!;
  const length = Number((await server.ask("STRLEN", name!)).slice(1));
  assert(length < text.length / 10, `${length} bytes`);
  assert(!/ada|resp_1/.test(name!), name);
  assertEquals(await store.get(["answers", "ada", "resp_1"]), { text });
});

Deno.test({
  name: "redis: TLS by an authority of one's own, with a password; a server that another has signed for is refused",
  ignore: isRedisMissing,
  async fn() {
    const file = (name: string) => new URL(`../../platform/tls/${name}`, import.meta.url).pathname;
    const plain = freePort();
    const tls = freePort();
    const server = await startRedis([
      ...["--tls-port", String(tls), "--tls-cert-file", file("server.pem"), "--tls-key-file", file("server.key")],
      ...["--tls-ca-cert-file", file("ca.pem"), "--tls-auth-clients", "no", "--requirepass", "p@ss:word"],
    ], plain);
    const url = `rediss://default:p%40ss%3Aword@localhost:${tls}`;
    const right = openStore(url, await Deno.readTextFile(file("ca.pem")));
    const strange = openStore(url);
    const wrong = openStore(url.replace("word", "other"), await Deno.readTextFile(file("ca.pem")));
    try {
      assertEquals(await right.store.add([[["a"], 1]], LATER), true);
      await assertRejects(() => strange.store.get(["a"]), Error, "certificate");
      await assertRejects(() => wrong.store.get(["a"]), Error, "WRONGPASS");
    } finally {
      for (const { store } of [right, strange, wrong]) store.close();
      await server.stop();
    }
  },
});
