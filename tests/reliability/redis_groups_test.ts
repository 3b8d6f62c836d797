/** The store under sentinels and on a cluster, while servers take each other's places. */
import { assert, assertEquals } from "@std/assert";
import { parseRedisUrl } from "../../src/config/redis_url.ts";
import { openRedisStore, type RedisPlace } from "../../src/state/redis/open.ts";
import { readSlots, slotOf } from "../../src/state/redis/cluster.ts";
import type { Store } from "../../src/state/store.ts";
import { type RedisGroup, startCluster, startSentinels } from "../support/redis_group.ts";
import { freePort, isRedisMissing, type RedisServer, startRedis } from "../support/redis_server.ts";
import { until, within } from "../support/wait.ts";
import { RARELY } from "./scale.ts";
import { withFolder } from "../state/temp_folder.ts";

const LATER = 1_000_000;

const KEYS = ["123456789", "foo", "{user1000}.following", "foo{}{bar}", "foo{{bar}}{zap}", "foo{bar", "", "ключ"];

Deno.test("redis cluster: a key's slot is that of what stands in its first braces", () => {
  assertEquals(slotOf("123456789"), 0x31c3); // out of the specification of clusters
  assertEquals(slotOf("{user1000}.following"), slotOf("user1000"));
  assertEquals(slotOf("foo{{bar}}{zap}"), slotOf("{bar"));
  assertEquals(new Set(["foo{}{bar}", "foo{}", "bar", "{}"].map(slotOf)).size, 4);
});

Deno.test("redis cluster: a node that knows no name of its own is the one that was asked", () => {
  const reply = [[0, 5, ["", 7000, "id"], ["10.0.0.2", 7001]], [6, 9, [null, 7002]], [10, 12, ["10.0.0.3", 7003]]];
  assertEquals(readSlots(reply, { host: "seed", port: 7000 }).map(({ primary }) => primary.host), [
    "seed",
    "seed",
    "10.0.0.3",
  ]);
});

/** Of many owners, so that a cluster has some of them on each of its nodes. */
const OWNERS = Array.from({ length: 12 }, (_, index) => `owner ${index}`);

async function tryAll(store: Store, what: string): Promise<boolean> {
  const all = OWNERS.map((owner) => store.add([[["answers", owner, what], what]], LATER));
  const ends = await within(Promise.allSettled(all));
  return ends.every(({ status }) => status === "fulfilled");
}

async function assertKept(store: Store, what: string): Promise<void> {
  const found = await Promise.all(OWNERS.map((owner) => store.get(["answers", owner, what])));
  assertEquals(new Set(found), new Set([what]));
}

function test(
  name: string,
  start: (folder: string) => Promise<RedisGroup>,
  more: Partial<RedisPlace>,
  use: (group: RedisGroup, store: Store) => Promise<void>,
): void {
  Deno.test({
    name: name + RARELY.why,
    ignore: isRedisMissing || RARELY.ignore,
    fn: () =>
      withFolder(async (folder) => {
        const group = await start(folder);
        const store = openRedisStore({ address: parseRedisUrl(group.url)!, ...more, now: () => 0 });
        try {
          await until(() => tryAll(store, "before"));
          await until(() => isCopied(group)); // what a replica has not got is lost with its primary
          await use(group, store);
        } finally {
          store.close();
          await group.stop();
        }
      }),
  });
}

test(
  "redis sentinels: when the primary is killed, the one that takes its place is found, with what was kept",
  startSentinels,
  { sentinel: { name: "main" } },
  async (group, store) => {
    const primary = await group.primaryOf();
    primary.kill("SIGKILL");
    await tryAll(store, "meanwhile");
    await until(async () => await group.primaryOf() !== primary);
    await until(() => tryAll(store, "after"));
    await assertKept(store, "before");
  },
);

test(
  "redis cluster: a node that freezes holds up what lies on it alone, until another takes its place; a part that moves is found",
  startCluster,
  { isCluster: true },
  async (group, store) => {
    const frozen = await group.primaryOf(0);
    frozen.kill("SIGSTOP");
    const reads = OWNERS.map((owner) => store.get(["answers", owner, "before"]));
    const ends = await within(Promise.allSettled(reads));
    const answered = ends.filter((end) => end.status === "fulfilled").length;
    assert(answered > 0 && answered < OWNERS.length, `${answered} of ${OWNERS.length}`);
    await until(() => tryAll(store, "failed over"));
    await assertKept(store, "before");
    frozen.kill("SIGCONT");
    await until(async () => !await isPrimary(frozen));
    // Now it is given back, by the administrator.
    await until(async () => (await frozen.ask("CLUSTER", "FAILOVER"), await isPrimary(frozen)));
    await until(() => tryAll(store, "moved"));
    await assertKept(store, "failed over");
  },
);

/** Whether each replica has as much as its primary: those come after these, in the same order. */
async function isCopied({ servers }: RedisGroup): Promise<boolean> {
  const sizes = await Promise.all(servers.map(({ ask }) => ask("DBSIZE")));
  return sizes.every((size, index) => size === sizes[(index + sizes.length / 2) % sizes.length]);
}

async function isPrimary({ ask }: RedisServer): Promise<boolean> {
  return (await ask("ROLE")).includes("master");
}

Deno.test({
  name: "redis cluster: the server reckons the slots in the same way",
  ignore: isRedisMissing,
  fn: () =>
    withFolder(async (folder) => {
      const options = ["--cluster-enabled", "yes", "--cluster-port", String(freePort()), "--dir", folder];
      const server = await startRedis(options);
      try {
        for (const key of KEYS) assertEquals(await server.ask("CLUSTER", "KEYSLOT", key), `:${slotOf(key)}`, key);
      } finally {
        await server.stop();
      }
    }),
});
