/** The command `health`, which containers without a shell ask. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { healthUrl } from "../../src/cli/health_url.ts";
import { runLaunched, withFolder, withLaunched } from "../support/process.ts";

Deno.test("health: it asks where the gateway listens, by an address that can be connected to", () => {
  const of = (config: unknown, listen = {}, isFetcher = false) => healthUrl({ config, listen, isFetcher }).href;
  assertEquals(of({}), "http://127.0.0.1:8000/readyz");
  assertEquals(of(undefined), "http://127.0.0.1:8000/readyz");
  assertEquals(of({ listen: { hostname: "0.0.0.0", port: 9000 } }), "http://127.0.0.1:9000/readyz");
  assertEquals(of({ listen: { hostname: "::" } }), "http://[::1]:8000/readyz");
  assertEquals(of({ listen: { hostname: "10.0.0.7" } }, { port: "81" }), "http://10.0.0.7:81/readyz");
  assertEquals(of({ listen: { hostname: "10.0.0.7" } }, { hostname: "fd00::7" }), "http://[fd00::7]:8000/readyz");
  const fetcher = { listen: { port: 9000 }, hostedTools: { webFetch: { url: "http://pages:8100" } } };
  assertEquals(of(fetcher, {}, true), "http://127.0.0.1:8100/healthz");
  assertEquals(of(fetcher, { hostname: "0.0.0.0", port: 8200 }, true), "http://127.0.0.1:8200/healthz");
});

Deno.test("health: it exits with 0 while the gateway takes requests, and says why with 1", async () => {
  await withFolder(async (cwd) => {
    const config = { extends: "default", store: { kind: "memory" }, stop: { noticeMs: 600_000 } };
    await Deno.writeTextFile(`${cwd}/gateway.json`, JSON.stringify(config));
    await withLaunched([], { cwd }, async ({ url, kill, said, ended }) => {
      // A proxy is no way to this machine, and a file that is broken meanwhile breaks no gateway that runs.
      const env = { HTTP_PROXY: "http://127.0.0.1:1", http_proxy: "http://127.0.0.1:1" };
      const ask = (...args: string[]) => runLaunched(["--port", new URL(url).port, "health", ...args], { cwd, env });
      assertEquals(await ask(), { code: 0, stdout: "", stderr: "" });
      await Deno.writeTextFile(`${cwd}/gateway.json`, "{");
      assertEquals((await ask()).code, 0);
      assertEquals((await ask("nobody")).code, 2);
      kill("SIGTERM");
      await said("finishing running requests");
      const { code, stderr } = await ask();
      assertEquals([code, stderr], [1, `Not ready: ${url}/readyz answers 503\n`]);
      await new Promise((resolve) => setTimeout(resolve, 300)); // signals close to each other are one
      kill("SIGTERM");
      await ended;
      const gone = await ask();
      assertEquals(gone.code, 1);
      assertStringIncludes(gone.stderr, `Not ready: ${url}/readyz `);
    });
  });
});
