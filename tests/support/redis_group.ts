/** Servers that stand in for each other: under sentinels, or as a cluster. */
import { freePort, type RedisServer, startRedis } from "./redis_server.ts";
import { until, within } from "./wait.ts";

export interface RedisGroup {
  servers: RedisServer[];
  /** The server that has the slot, or all of them, now. */
  primaryOf(slot?: number): Promise<RedisServer>;
  url: string;
  stop(): Promise<void>;
}

/** How long a server is silent before the others take its place, in milliseconds. */
const DOWN_MS = 1_000;
/** One that is frozen never answers. */
const ANSWER_MS = 500;

async function stopAll(servers: readonly RedisServer[]): Promise<void> {
  await Promise.all(servers.map((server) => server.stop()));
}

/** A primary called `main`, a replica, and three sentinels that watch them. */
export async function startSentinels(folder: string): Promise<RedisGroup> {
  const primary = await startRedis(["--dir", folder]);
  const replica = await startRedis(["--dir", folder, "--replicaof", "127.0.0.1", String(primary.port)]);
  const servers = [primary, replica];
  await until(async () => (await primary.ask("INFO", "replication")).includes("state=online"));
  const sentinels: RedisServer[] = [];
  for (let index = 0; index < 3; index++) {
    const port = freePort();
    const file = `${folder}/sentinel-${port}.conf`;
    await Deno.writeTextFile(
      file,
      [
        `port ${port}`,
        "bind 127.0.0.1",
        `sentinel monitor main 127.0.0.1 ${primary.port} 2`,
        `sentinel down-after-milliseconds main ${DOWN_MS}`,
        "sentinel failover-timeout main 5000",
        "",
      ].join("\n"),
    );
    sentinels.push(await startRedis([], port, [file, "--sentinel"]));
  }
  await until(async () => (await Promise.all(sentinels.map(knowsOthers))).every((known) => known));
  return {
    servers,
    async primaryOf() {
      const reply = await sentinels[0]!.ask("SENTINEL", "GET-MASTER-ADDR-BY-NAME", "main");
      return servers.find(({ port }) => reply.includes(String(port)))!;
    },
    url: `redis://${sentinels.map(({ port }) => `127.0.0.1:${port}`).join(",")}`,
    stop: () => stopAll([...servers, ...sentinels]),
  };
}

async function knowsOthers(sentinel: RedisServer): Promise<boolean> {
  const known = await sentinel.ask("INFO", "sentinel");
  return /slaves=1,sentinels=3/.test(known);
}

const PRIMARIES = 3;
const SLOTS = 16_384;

/** Three primaries, each with a third of the slots and with a replica. */
export async function startCluster(folder: string): Promise<RedisGroup> {
  const servers = await Promise.all(
    Array.from({ length: 2 * PRIMARIES }, async (_, index) => {
      const options = ["--cluster-enabled", "yes", "--cluster-node-timeout", String(DOWN_MS), "--dir", folder];
      // Its second port is 10,000 above, where it is not given.
      const bus = () => ["--cluster-port", String(freePort()), "--cluster-config-file", `nodes-${index}.conf`];
      return await startRedis(() => [...options, ...bus()]);
    }),
  );
  const busOf = async ({ ask }: RedisServer) =>
    /cluster-port\r?\n\$\d+\r?\n(\d+)/.exec(await ask("CONFIG", "GET", "cluster-port"))![1]!;
  const idOf = async ({ ask }: RedisServer) => (await ask("CLUSTER", "MYID")).split("\r\n")[1]!;
  const [first, ...others] = servers as [RedisServer, ...RedisServer[]];
  for (const other of others) await first.ask("CLUSTER", "MEET", "127.0.0.1", String(other.port), await busOf(other));
  for (let index = 0; index < PRIMARIES; index++) {
    const [from, to] = [index, index + 1].map((part) => Math.ceil(part * SLOTS / PRIMARIES));
    await servers[index]!.ask("CLUSTER", "ADDSLOTSRANGE", String(from), String(to! - 1));
  }
  await until(async () =>
    (await Promise.all(servers.map(({ ask }) => ask("CLUSTER", "INFO")))).every((info) =>
      info.includes(`cluster_known_nodes:${servers.length}`)
    )
  );
  for (let index = 0; index < PRIMARIES; index++) {
    const id = await idOf(servers[index]!);
    await until(async () => (await servers[PRIMARIES + index]!.ask("CLUSTER", "REPLICATE", id)).startsWith("+OK"));
  }
  const isWhole = async ({ ask }: RedisServer) =>
    (await ask("CLUSTER", "INFO")).includes("cluster_state:ok") &&
    (await ask("CLUSTER", "NODES")).split("\n").filter((line) => line.includes("slave")).length === PRIMARIES;
  await until(async () => (await Promise.all(servers.map(isWhole))).every((whole) => whole));
  await until(async () =>
    (await Promise.all(servers.slice(0, PRIMARIES).map(({ ask }) => ask("INFO", "replication")))).every((info) =>
      info.includes("state=online")
    )
  );
  return {
    servers,
    async primaryOf(slot = 0) {
      for (const { ask } of servers) {
        const nodes = await within(ask("CLUSTER", "NODES"), ANSWER_MS).catch(() => "");
        for (const line of nodes.split("\n")) {
          const has = [...line.matchAll(/ (\d+)-(\d+)/g)].some(([, from, to]) =>
            slot >= Number(from) && slot <= Number(to)
          );
          if (has && !line.includes("fail")) return servers.find(({ port }) => line.includes(`:${port}@`))!;
        }
      }
      throw new Error(`Nobody has slot ${slot}`);
    },
    url: `redis://${servers.slice(0, 2).map(({ port }) => `127.0.0.1:${port}`).join(",")}`,
    stop: () => stopAll(servers),
  };
}
