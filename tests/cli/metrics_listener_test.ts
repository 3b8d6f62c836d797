/** Metrics at an address of their own, as people start the gateway: with no more permissions than it needs. */
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { metricsAddress } from "../../src/config/permissions.ts";
import { type Launched, runLaunched, withFolder, withLaunched } from "../support/process.ts";
import { until } from "../support/wait.ts";

const KEYED = {
  upstreams: { sandbox: { driver: "sandbox" } },
  lanes: { oss: { upstreams: { chat: "sandbox" } } },
  keys: [{ name: "team", secret: { env: "TEAM_KEY" } }],
  store: { kind: "memory" },
};

async function write(folder: string, listen: string): Promise<void> {
  const config = { ...KEYED, observe: { metrics: { listen } } };
  await Deno.writeTextFile(`${folder}/gateway.json`, JSON.stringify(config));
}

function withGateway(use: (gateway: Launched, metrics: string, folder: string) => Promise<void>): Promise<void> {
  return withFolder(async (folder) => {
    await write(folder, "127.0.0.1:0");
    await withLaunched([], { cwd: folder, env: { TEAM_KEY: "team-key-a1b2c3" } }, async (gateway) => {
      const said = await gateway.said("/metrics");
      await use(gateway, said.match(/Metrics: (http:\S+)/)![1]!, folder);
    });
  });
}

async function statusOf(url: string, init?: RequestInit): Promise<number> {
  const response = await fetch(url, init);
  await response.body?.cancel();
  return response.status;
}

/** The beginning of the answer to a request that names another host, which `fetch` cannot. */
async function rawHead(url: string, host: string): Promise<string> {
  const { hostname, port } = new URL(url);
  using connection = await Deno.connect({ hostname, port: Number(port) });
  await connection.write(
    new TextEncoder().encode(`GET /metrics HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`),
  );
  const piece = new Uint8Array(64);
  const length = await connection.read(piece);
  return new TextDecoder().decode(piece.subarray(0, length ?? 0));
}

Deno.test("metrics listener: it serves the page without a key and nothing else, until the gateway has stopped", async () => {
  await withGateway(async ({ url, kill, ended }, metrics) => {
    const headers = { authorization: "Bearer team-key-a1b2c3", "content-type": "application/json" };
    const body = JSON.stringify({ model: "sandbox", messages: [{ role: "user", content: "Hello" }] });
    assertEquals(await statusOf(`${url}/oss/v1/chat/completions`, { method: "POST", headers, body }), 200);
    const page = await fetch(metrics);
    assertMatch(page.headers.get("content-type") ?? "", /version=0\.0\.4/);
    assertMatch(await page.text(), /^laneway_requests_total\{.*status="200"\} 1$/m);
    assertEquals(await statusOf(metrics, { method: "HEAD" }), 200);
    assertEquals(await statusOf(metrics, { method: "POST" }), 405);
    for (const path of ["/", "/status", "/usage", "/oss/v1/models", "/healthz"]) {
      assertEquals(await statusOf(new URL(path, metrics).href), 404, path);
    }
    // A web page of another host.
    assertEquals(await statusOf(metrics, { headers: { origin: "https://web.example" } }), 403);
    assertMatch(await rawHead(metrics, "web.example"), /^HTTP\/1\.1 403 /);
    assertEquals(await statusOf(`${url}/metrics`), 401);
    kill("SIGTERM");
    assertEquals(await ended, 0);
    await until(() => fetch(metrics).then(() => false, () => true));
  });
});

Deno.test("metrics listener: an address that is taken is one clear line, and another one needs a restart", async () => {
  await withGateway(async ({ said }, metrics, folder) => {
    const { port } = new URL(metrics);
    await withFolder(async (other) => {
      await write(other, `127.0.0.1:${port}`);
      const { code, stderr } = await runLaunched(["--port", "0"], { cwd: other, env: { TEAM_KEY: "team-key-a1b2c3" } });
      assertEquals(code, 1);
      const line = `Cannot serve metrics on 127.0.0.1 port ${port}: the port is in use; choose another under "observe"`;
      assertEquals(stderr.trim(), line);
    });
    await write(folder, "127.0.0.1:9");
    const text = await said("Kept the running configuration");
    assertStringIncludes(text, "Serving metrics at another address needs a restart");
  });
});

Deno.test("metrics listener: its address is a host and a port", () => {
  const read = (listen: unknown) => metricsAddress({ listen });
  assertEquals(read("127.0.0.1:9464"), { hostname: "127.0.0.1", port: 9464 });
  assertEquals(read("[::1]:0"), { hostname: "::1", port: 0 });
  assertEquals(read("0.0.0.0:80"), { hostname: "0.0.0.0", port: 80 });
  for (
    const wrong of ["", "9464", ":9464", "host", "host:", "host:70000", "http://a:1", "::1:9", "a:1 ", "a:1\n", 5, {}]
  ) {
    assertEquals(read(wrong), undefined, String(wrong));
  }
  assertEquals([true, false, undefined, null, "127.0.0.1:1"].map(metricsAddress), new Array(5).fill(undefined));
});
