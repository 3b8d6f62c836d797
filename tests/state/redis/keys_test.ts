/** Keys at two gateways on one server, which fails in each way that matters to who is let in. */
import { assertEquals } from "@std/assert";
import { parseRedisUrl } from "../../../src/config/redis_url.ts";
import { createKeyring, type Keyring } from "../../../src/state/keyring.ts";
import { openRedisStore } from "../../../src/state/redis/open.ts";
import { CHAT, chatBody, CONFIG, newApp } from "../../support/app.ts";
import { answerWhole } from "../../support/chat.ts";
import { fakeUpstream } from "../../support/fake_upstream.ts";
import { isRedisMissing, type RedisServer, startRedis } from "../../support/redis_server.ts";
import { until } from "../../support/wait.ts";
import { withFolder } from "../temp_folder.ts";

interface Setting {
  server: RedisServer;
  keyring: Keyring;
  /** What the gateways answer to a request with this key. */
  statuses(secret: string): Promise<number[]>;
  /** Stops the server and starts it again with what it kept. */
  restart(): Promise<void>;
}

function test(name: string, use: (setting: Setting) => Promise<void>): void {
  Deno.test({
    name: `redis keys: ${name}`,
    ignore: isRedisMissing,
    fn: () =>
      withFolder(async (dir) => {
        const options = ["--dir", dir, "--appendonly", "yes", "--appendfsync", "always"];
        let server = await startRedis(options);
        const { port } = server;
        const newStore = () => openRedisStore({ address: parseRedisUrl(server.url)!, now: Date.now });
        const stores = [newStore(), newStore(), newStore()] as const;
        const apps = stores.slice(1).map((store) =>
          newApp({
            config: { ...CONFIG, storedKeys: true },
            fetch: fakeUpstream(() => answerWhole()).fetch,
            store,
            now: Date.now,
            monotonic: () => performance.now(),
          })
        );
        try {
          await use({
            get server() {
              return server;
            },
            keyring: createKeyring(stores[0], Date.now),
            statuses: (secret) =>
              Promise.all(apps.map(async (app) => {
                const response = await app.post(CHAT, chatBody(), { "x-api-key": secret });
                await response.body?.cancel();
                return response.status;
              })),
            async restart() {
              await server.stop();
              server = await startRedis(options, port);
            },
          });
        } finally {
          for (const app of apps) await app.close();
          stores[0].close();
          await server.stop();
        }
      }),
  });
}

const isDone = (statuses: number[], wanted: number) => statuses.every((status) => status === wanted);

test("what is revoked is refused by all, also after the server ended every connection", async ({ server, keyring, statuses }) => {
  const secrets: string[] = [];
  for (const index of [0, 1, 2]) secrets.push((await keyring.create({ name: `key ${index}` }))!);
  const [one, two, stays] = secrets;
  for (const secret of secrets) await until(async () => isDone(await statuses(secret), 200));
  await keyring.revoke("key 0");
  await until(async () => isDone(await statuses(one!), 401));
  for (const type of ["pubsub", "normal"]) await server.ask("CLIENT", "KILL", "TYPE", type, "SKIPME", "yes");
  await until(() => keyring.revoke("key 1").catch(() => false));
  await until(async () => isDone(await statuses(two!), 401));
  assertEquals(await statuses(stays!), [200, 200]);
});

test("while the server is down those who came before are let in, and others are asked to come again; after it, what was revoked is refused", async ({ server, keyring, statuses, restart }) => {
  const known = (await keyring.create({ name: "known" }))!;
  const strange = (await keyring.create({ name: "strange" }))!;
  await until(async () => isDone(await statuses(known), 200));
  server.kill("SIGSTOP");
  for (let count = 0; count < 20; count++) assertEquals(await statuses(known), [200, 200]);
  assertEquals(await statuses(strange), [503, 503]);
  await restart();
  await until(async () => isDone(await statuses(strange), 200));
  await until(() => keyring.revoke("known").catch(() => false));
  await until(async () => isDone(await statuses(known), 401));
  assertEquals(await statuses(strange), [200, 200]);
});
