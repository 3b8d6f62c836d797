/** A connection to a real server, while it is opened. */
import { assertRejects } from "@std/assert";
import { parseRedisUrl } from "../../../src/config/redis_url.ts";
import { loadClient, openWire, type Wire } from "../../../src/state/redis/wire.ts";
import { isRedisMissing, type RedisServer, startRedis } from "../../support/redis_server.ts";
import { until, within } from "../../support/wait.ts";

const CONNECT_MS = 300;
const MANY = 5;

const open = ({ url }: RedisServer) => openWire({ address: parseRedisUrl(url)!, connectMs: CONNECT_MS });

async function connections(wire: Wire): Promise<number> {
  return String(await wire.send(["CLIENT", "LIST"])).trim().split("\n").length;
}

function test(name: string, use: (server: RedisServer) => Promise<void>): void {
  Deno.test({
    name: `redis: ${name}`,
    ignore: isRedisMissing,
    async fn() {
      const server = await startRedis();
      await loadClient();
      try {
        await use(server);
      } finally {
        await server.stop();
      }
    },
  });
}

test("that this process is busy while it connects is no fault of the server's", async (server) => {
  const opening = open(server);
  await Promise.resolve(); // the package is loaded, and connects
  for (const since = performance.now(); performance.now() < since + 1.5 * CONNECT_MS;);
  (await opening).destroy();
});

test("no connection is left of attempts to reach a server that was frozen", async (server) => {
  const wire = await open(server);
  server.kill("SIGSTOP");
  for (let count = 0; count < MANY; count++) {
    await assertRejects(() => within(open(server)), Error, "did not answer");
  }
  server.kill("SIGCONT");
  await until(async () => await connections(wire) === 1);
  wire.destroy();
});
