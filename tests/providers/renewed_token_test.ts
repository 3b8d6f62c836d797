/** The recipe of docs/providers.md for a token that ends: a timer writes the next one, and the gateway goes on with it. */
import { assert, assertEquals } from "@std/assert";
import { withFolder, withLaunched } from "../support/process.ts";

const PAGE = Deno.readTextFileSync(new URL("../../docs/providers.md", import.meta.url));
const RECIPE = /^umask 077; .*$/m.exec(PAGE)![0];
const FILE = "/run/secrets/vertex";

/** Runs the recipe where the vendor's program is `script`. */
async function renew(folder: string, script: string): Promise<boolean> {
  assert(RECIPE.includes("gcloud auth print-access-token") && RECIPE.includes(FILE));
  await Deno.writeTextFile(`${folder}/gcloud`, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  const command = RECIPE.replaceAll(FILE, `${folder}/token`);
  const env = { PATH: `${folder}:${Deno.env.get("PATH")}` };
  return (await new Deno.Command("sh", { args: ["-c", command], env, stderr: "null" }).output()).success;
}

Deno.test({
  name: "renewed tokens: the recipe's next token is used without a restart, and a failure leaves the former one",
  ignore: Deno.build.os === "windows",
  async fn() {
    const sent: (string | null)[] = [];
    const service = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, (request) => {
      sent.push(request.headers.get("authorization"));
      return Response.json({
        choices: [{ index: 0, message: { role: "assistant", content: "Hi" }, finish_reason: "stop" }],
      });
    });
    try {
      await withFolder(async (cwd) => {
        const model = { task: "chat", targets: [{ upstream: "vertex", model: "m" }] };
        const baseUrl = `http://127.0.0.1:${service.addr.port}/v1`;
        await Deno.writeTextFile(
          `${cwd}/gateway.json`,
          JSON.stringify({
            upstreams: { vertex: { provider: "vertex", baseUrl, secret: { file: "token" } } },
            lanes: { vertex: { models: { m: model } } },
            store: { kind: "memory" },
          }),
        );
        assert(await renew(cwd, "echo the-first-token"));
        assertEquals((await Deno.stat(`${cwd}/token`)).mode! & 0o777, 0o600);
        await withLaunched([], { cwd }, async ({ url, said, position }) => {
          const ask = async () => {
            const body = JSON.stringify({ model: "m", messages: [{ role: "user", content: "Hello" }] });
            const headers = { "content-type": "application/json" };
            const response = await fetch(`${url}/vertex/v1/chat/completions`, { method: "POST", headers, body });
            await response.body?.cancel();
            return response.status;
          };
          assertEquals(await ask(), 200);
          assertEquals(await renew(cwd, "echo half; exit 1"), false);
          assertEquals(await ask(), 200);
          const from = position();
          assert(await renew(cwd, "echo the-second-token"));
          await said("Serving with the new secrets", from);
          assertEquals(await ask(), 200);
        });
      });
      assertEquals(sent, ["Bearer the-first-token", "Bearer the-first-token", "Bearer the-second-token"]);
    } finally {
      await service.shutdown();
    }
  },
});
