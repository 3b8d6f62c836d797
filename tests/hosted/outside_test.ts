import { assertEquals } from "@std/assert";
import { createRunner } from "../../src/compose/hosted_runner.ts";
import { createTransports } from "../../src/compose/transports.ts";
import type { World } from "../../src/compose/world.ts";
import { configSchema } from "../../src/config/schema.ts";
import { deno } from "../../src/platform/deno.ts";

Deno.test("a server that a request names is reached at public addresses alone, unless the list has its very address", async () => {
  let calls = 0;
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    calls++;
    const { id } = await request.json();
    return Response.json({ jsonrpc: "2.0", id, result: { tools: [{ name: "add" }] } });
  });
  const { port } = server.addr;
  const [byName, byAddress] = [`http://localhost:${port}`, `http://127.0.0.1:${port}`];
  const transports = createTransports(undefined, deno, (_name, _from, make) => make());
  const config = configSchema.parse({ hostedTools: { mcp: { allow: [byName, byAddress] } } });
  const world = { config, transports, clocks: { monotonic: () => 0 }, env: () => undefined } as unknown as World;
  const runner = createRunner(world);
  const failures: unknown[] = [];
  const list = async (url: string) => {
    const work = { kind: "mcp" as const, server: "docs", url, approval: "never" as const };
    const facts = {
      key: "",
      signal: new AbortController().signal,
      onFailure: (reason: unknown) => failures.push(reason),
      isNamed: () => true,
    };
    const result = await runner.run({ kind: "mcp-list", server: "docs" }, work, facts);
    return result.kind === "error" ? result.code : result.kind;
  };
  assertEquals([await list(`${byName}/mcp`), failures.length, calls], ["unavailable", 1, 0]);
  assertEquals([await list(`http://127.1:${port + 1}/mcp`), calls], ["not_allowed", 0]);
  assertEquals([await list(`${byAddress}/mcp`), calls], ["tools", 1]);
  transports.close();
  await server.shutdown();
});
