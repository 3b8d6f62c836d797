import { assertEquals } from "@std/assert";

const read = (name: string) => Deno.readTextFileSync(new URL(`tls/${name}`, import.meta.url));
const pathOf = (name: string) => new URL(name, import.meta.url).pathname;
const CASES: [env: Record<string, string>, expected: number | string][] = [
  [{ DENO_CERT: pathOf("tls/ca.pem") }, 200],
  [{ DENO_TLS_CA_STORE: "mozilla" }, "not-made"],
];

for (const [env, expected] of CASES) {
  Deno.test(`transports: with TLS each needs nothing but the host, and ends with the process: ${expected}`, async () => {
    const tls = { key: read("server.key"), cert: read("server.pem") };
    const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {}, ...tls }, () => new Response("hello"));
    const { port } = server.addr;
    const config = pathOf("../deno.json");
    const child = new Deno.Command(Deno.execPath(), {
      args: [
        ...["run", "--config", config, "--no-check", "--no-prompt", `--allow-net=localhost:${port}`],
        ...[pathOf("tls_child.ts"), `https://localhost:${port}/`],
      ],
      env,
      stdout: "piped",
      stderr: "piped",
    });
    const { code, stdout, stderr } = await child.output();
    await server.shutdown();
    assertEquals([code, new TextDecoder().decode(stderr)], [0, ""]);
    assertEquals(JSON.parse(new TextDecoder().decode(stdout)), { fetch: expected, node: expected });
  });
}
