/** A server that may lose what it is given: the doctor says so, and the start does. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { parseRedisUrl } from "../../../src/config/redis_url.ts";
import { readRisks } from "../../../src/state/redis/risks.ts";
import { runLaunched, withFolder, withLaunched } from "../../support/process.ts";
import { isRedisMissing, startRedis } from "../../support/redis_server.ts";

const EVICTS = ["--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"];

const SERVERS: [what: string, options: string[], risks: string[]][] = [
  ["keeps nothing", [], ["store-not-persistent"]],
  ["evicts", [...EVICTS, "--appendonly", "yes"], ["store-evicts"]],
  ["evicts what has an end, and keeps nothing", [...EVICTS.slice(0, 3), "volatile-ttl"], [
    "store-evicts",
    "store-not-persistent",
  ]],
  ["would evict, but has no limit", [...EVICTS.slice(2), "--appendonly", "yes"], []],
  ["is full some time, and refuses", ["--maxmemory", "100mb", "--save", "3600 1"], []],
];

for (const [what, options, expected] of SERVERS) {
  Deno.test({
    name: `redis risks: a server that ${what}`,
    ignore: isRedisMissing,
    fn: () =>
      withFolder(async (folder) => {
        const server = await startRedis(["--dir", folder, ...options]);
        try {
          const risks = await readRisks({ address: parseRedisUrl(server.url)! });
          assertEquals(risks.map(({ name }) => name), expected);
        } finally {
          await server.stop();
        }
      }),
  });
}

Deno.test({
  name: "redis risks: the doctor warns, says where it may not ask, and the gateway warns at its start",
  ignore: isRedisMissing,
  fn: () =>
    withFolder(async (cwd) => {
      const server = await startRedis(EVICTS);
      const config = { extends: "default", store: { kind: "redis", url: { env: "STORE_URL" } } };
      await Deno.writeTextFile(`${cwd}/gateway.json`, JSON.stringify(config));
      const options = { cwd, env: { STORE_URL: server.url } };
      try {
        const { stdout } = await runLaunched(["doctor", "--lane", "oss", "--json"], options);
        const found = JSON.parse(stdout).findings as { check: string; level: string; message: string; cure: string }[];
        const levels = found.filter(({ check }) => /^store/.test(check)).map(({ check, level }) => [check, level]);
        assertEquals(levels, [["store", "ok"], ["store-evicts", "warning"], ["store-not-persistent", "warning"]]);
        const evicts = found.find(({ check }) => check === "store-evicts")!;
        assertStringIncludes(evicts.message, "104,857,600 bytes is full, its maxmemory-policy is allkeys-lru");
        assertEquals(evicts.cure, "Set maxmemory-policy noeviction on the server");
        await withLaunched([], options, async ({ said }) => {
          assertStringIncludes(await said("Store: "), "maxmemory-policy is allkeys-lru");
          assertStringIncludes(await said("keeps nothing on disk"), "Set appendonly yes on the server");
        });
        await server.ask("ACL", "SETUSER", "narrow", "on", ">pass", "~*", "+@all", "-info", "-config");
        const narrow = { cwd, env: { STORE_URL: server.url.replace("//", "//narrow:pass@") } };
        const report = (await runLaunched(["doctor", "--lane", "oss"], narrow)).stdout;
        assert(/skipped {2}store: .*unknown: NOPERM/.test(report), report);
      } finally {
        await server.stop();
      }
    }),
});
