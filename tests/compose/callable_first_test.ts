import { assertEquals } from "@std/assert";
import { createApp, readConfig } from "../../src/app.ts";
import { ENV, newApp } from "../support/app.ts";

async function idsOf(app: { fetch(request: Request): Promise<Response> }): Promise<string[]> {
  const response = await app.fetch(new Request("http://gateway/oss/v1/models"));
  return (await response.json()).data.map(({ id }: { id: string }) => id);
}

Deno.test("lists: a model whose upstream has no secret is not the first one that clients propose", async () => {
  const { UPSTREAM_SECRET: _, ...without } = ENV;
  assertEquals(await idsOf(newApp()), ["model", "sandbox"]);
  assertEquals(await idsOf(newApp({ env: without })), ["sandbox", "model"]);
});

Deno.test("lists: without any secret, the built-in configuration begins with models that answer", async () => {
  const env = () => undefined;
  const app = createApp({ config: readConfig("gateway.default.json", { env }), env, log() {} });
  const [first] = await idsOf(app);
  const response = await app.fetch(
    new Request("http://gateway/oss/v1/chat/completions", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ model: first, messages: [{ role: "user", content: "Hello" }] }),
    }),
  );
  assertEquals(response.status, 200);
  await response.body?.cancel();
  await app.close();
});
