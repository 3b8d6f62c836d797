/** A gateway whose configuration names providers and files of secrets, as people start it. */
import { assertEquals } from "@std/assert";
import { withFolder, withLaunched } from "../support/process.ts";

const CHAT = "/oss/v1/chat/completions";

Deno.test("launcher: a provider's host and a secret's file are permitted, and the file is read again when it changes", async () => {
  const keys: (string | null)[] = [];
  const service = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, (request) => {
    keys.push(new URL(request.url).searchParams.get("key"));
    return Response.json({
      choices: [{ index: 0, message: { role: "assistant", content: "Hi" }, finish_reason: "stop" }],
    });
  });
  try {
    await withFolder(async (cwd) => {
      const config = {
        upstreams: {
          paid: { provider: "groq" },
          own: {
            provider: "vllm",
            baseUrl: `http://127.0.0.1:${service.addr.port}/v1`,
            secret: { file: "token", query: "key" },
          },
        },
        lanes: { oss: { upstreams: { chat: "own" } } },
        store: { kind: "memory" },
      };
      const save = (more: object) => Deno.writeTextFile(`${cwd}/gateway.json`, JSON.stringify({ ...config, ...more }));
      await save({});
      await Deno.writeTextFile(`${cwd}/token`, "the-first-token\n");
      await withLaunched([], { cwd, env: { GROQ_API_KEY: "a-key-of-the-user" } }, async ({ url, said, position }) => {
        const ask = async () => {
          const body = JSON.stringify({ model: "m", messages: [{ role: "user", content: "Hello" }] });
          const headers = { "content-type": "application/json" };
          const response = await fetch(`${url}${CHAT}`, { method: "POST", headers, body });
          await response.body?.cancel();
          return response.status;
        };
        assertEquals(await ask(), 200);
        const from = position();
        // What the launcher had not permitted would need a restart.
        await save({ retry: { rounds: 1 } });
        await said("Serving with the new configuration", from);
        await Deno.writeTextFile(`${cwd}/token`, "the-second-token\n");
        await said("Serving with the new secrets", from);
        assertEquals(await ask(), 200);
        await Deno.remove(`${cwd}/token`);
        await said("Serving with the new secrets", position());
        assertEquals(await ask(), 503);
      });
    });
    assertEquals(keys, ["the-first-token", "the-second-token"]);
  } finally {
    await service.shutdown();
  }
});
